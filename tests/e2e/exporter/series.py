"""What the four kinds of series have in common: a sample, its labels, and who exports it."""

from typing import NamedTuple

from tests.e2e.exporter.world import RunningNode

MONITORING = "monitoring"
GPU_OPERATOR = "gpu-operator"


class Sample(NamedTuple):
    """family, labels as they stand between the braces, value."""

    family: str
    labels: str
    value: float


class View(NamedTuple):
    """How one pass over the nodes is rendered.

    now: Unix seconds. copy: 0, or 1 for the second copy of a duplicated series. factor: what the
    values of that copy are multiplied by. hostname_label: as in Faults.
    """

    now: float
    copy: int
    factor: float
    hostname_label: str


def labels(**pairs: str) -> str:
    """Label pairs in the text format; an empty value is no label, as in Prometheus itself."""
    return ",".join(f'{key}="{value}"' for key, value in pairs.items() if value)


def exporter_pod(node: RunningNode, app: str, copy: int) -> str:
    """The exporter's pod on this node: the real one where a DaemonSet of that app runs there."""
    suffix = "-copy" if copy else ""
    for pod in node.pods.values():
        if pod.pod.metadata.labels.get("app") == app:
            return pod.pod.metadata.name + suffix
    return f"{app}-{node.node.metadata.name}{suffix}"
