"""Would the pods fit? KWOK admits anything, so a builder that binds pods itself has to ask."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

Manifest = dict[str, Any]
_SUFFIXES = {"m": Decimal("0.001"), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9)}
_SUFFIXES |= {f"{c}i": Decimal(1 << (10 * n)) for n, c in enumerate("KMGT", start=1)}


def quantity(text: str) -> Decimal:
    """A Kubernetes quantity as a number: `250m` is 0.25, `1Gi` is 1073741824."""
    for suffix in sorted(_SUFFIXES, key=len, reverse=True):
        if text.endswith(suffix):
            return Decimal(text.removesuffix(suffix)) * _SUFFIXES[suffix]
    return Decimal(text)


def requests(pod: Manifest) -> dict[str, Decimal]:
    """What one pod asks for, `pods: 1` included; init containers are ignored."""
    total: dict[str, Decimal] = defaultdict(Decimal, {"pods": Decimal(1)})
    for container in pod["spec"]["containers"]:
        for name, text in container.get("resources", {}).get("requests", {}).items():
            total[name] += quantity(text)
    return total


def overfull(nodes: Iterable[Manifest], bound: Iterable[tuple[str, Manifest]]) -> Mapping[str, str]:
    """node name -> the resource that its pods ask too much of.

    bound: (node name, pod) of every pod that is bound or about to be.
    """
    used: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for name, pod in bound:
        for resource, amount in requests(pod).items():
            used[name][resource] += amount
    found = {}
    for node in nodes:
        name = node["metadata"]["name"]
        free = {key: quantity(text) for key, text in node["status"]["allocatable"].items()}
        for resource, amount in used[name].items():
            if amount > free.get(resource, Decimal(0)):
                found[name] = f"{resource}: {amount} of {free.get(resource, 0)}"
    return found
