"""The node affinity that steering adds to a pod, merged into the affinity that it has."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rescheduler.kube.objects import Affinity, Labels, PodSpec

HOSTNAME = "kubernetes.io/hostname"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEIGHT = 100
"""The highest that Kubernetes allows for a preferred term."""
TEMPLATES = ("pod-template-hash", "controller-revision-hash")
"""Labels whose value a controller changes with the pods' template."""


def template_hash(labels: Labels | None) -> str:
    """What tells pods of one template of a controller from those of another; "" without one."""
    return next(((labels or {})[key] for key in TEMPLATES if (labels or {}).get(key)), "")


def count_preferred(nodes: int, *, require: bool) -> int:
    """How many of the nodes that a replacement is steered to are preferred: the first ones.

    Where no other is allowed the better half of them, else all.
    """
    return max(1, nodes // 2) if require else nodes


def steered_affinity(
    affinity: dict[str, Any] | None, hostnames: Sequence[str], *, require: bool
) -> dict[str, Any]:
    """`spec.affinity` as JSON with one more node affinity; what is there stays as it is.

    One more preferred term, of weight 100, with those that `count_preferred` counts. require: all
    of them are ANDed into every term of `nodeSelectorTerms`, too, since one term is enough; an
    empty term matches no node, and stays so
    (k8s.io/component-helpers/scheduling/corev1/nodeaffinity `isEmptyNodeSelectorTerm`). By label,
    as `matchFields` takes a single node name.
    """
    required_term, preferred = (
        {"key": HOSTNAME, "operator": "In", "values": list(hostnames[:count])}
        for count in (len(hostnames), count_preferred(len(hostnames), require=require))
    )
    result = dict(affinity or {})
    node = dict(result.get("nodeAffinity") or {})
    if require:
        selector = dict(node.get(REQUIRED) or {"nodeSelectorTerms": [{"matchExpressions": []}]})
        first = not node.get(REQUIRED)
        selector["nodeSelectorTerms"] = [
            {**term, "matchExpressions": [*(term.get("matchExpressions") or []), required_term]}
            if first or term.get("matchExpressions") or term.get("matchFields")
            else term
            for term in selector.get("nodeSelectorTerms") or []
        ]
        node[REQUIRED] = selector
    term = {"weight": WEIGHT, "preference": {"matchExpressions": [preferred]}}
    node[PREFERRED] = [*(node.get(PREFERRED) or []), term]
    return {**result, "nodeAffinity": node}


def steer_spec(spec: PodSpec, hostnames: Sequence[str], *, require: bool) -> PodSpec:
    """The spec of a replacement that is steered to one of these nodes; see `steered_affinity`."""
    before = None if spec.affinity is None else msgspec.to_builtins(spec.affinity)
    after = steered_affinity(before, hostnames, require=require)
    return msgspec.structs.replace(spec, affinity=msgspec.convert(after, Affinity))
