"""Whether a source answers for one cluster only.

Fleets keep the series of all clusters in one Thanos, Mimir or VictoriaMetrics. Nodes and pods of
two clusters may have the same names, and their values would be taken for ours.
"""

from collections.abc import Iterable

from rescheduler.model.problem import Problem
from rescheduler.sources.prometheus.http.http_api import Sample, Vector

LABELS = (
    "cluster", "cluster_id", "cluster_name", "clusterName", "k8s_cluster", "k8s_cluster_name",
    "kubernetes_cluster",
)  # fmt: skip
"""What agents and operators call the label with a cluster's name."""
_METRICS = (
    "node_time_seconds", "kube_node_info", "kubelet_node_name", "machine_cpu_cores",
    "DCGM_FI_DEV_FB_FREE", "gpu_nodes_total",
)  # fmt: skip
"""Series that each node has once or a few times, and that no other sort of cluster labels."""
_SHOWN = 5

QUESTION = " or ".join(
    (
        *(
            f"label_replace(count by ({','.join(LABELS)}) ({metric}{{$match}}), "
            f'"metric", "{metric}", "", "")'
            for metric in _METRICS
        ),
        "vector(1)",
    )
)
"""The template for which clusters there are.

`or` takes rows that differ in `__name__` alone for the same (prometheus#7215), so that a label of
its own holds the metric. The row of `vector(1)` shows that the engine answers, not that it queried
all its stores: if a Thanos querier has dropped a store, or could never reach it, there may be
neither rows nor a warning (thanos#6621, thanos#7882). Where clusters share a source, only matchers
of the own one in every query (`--prometheus-selector`) keep the others' series out.
"""


def several_in(samples: Iterable[Sample]) -> Problem | None:
    """RDG020 where the answer to QUESTION is about several clusters.

    Of one metric, series without the label are those of one more cluster.
    """
    values: dict[tuple[str, str], set[str]] = {}
    for sample in samples:
        for label in LABELS:
            of_metric = values.setdefault((label, sample.metric.get("metric", "")), set())
            of_metric.add(sample.metric.get(label, ""))
    for (label, _), clusters in values.items():
        if len(clusters) > 1:
            return _problem(label, clusters)
    return None


def unsure_in(answer: Vector) -> Problem | None:
    """RDG002 where the answer to QUESTION is not whole, so that a cluster may be missing in it."""
    if not answer.samples and not answer.warnings:
        return Problem("RDG002", "whether the source has series of several clusters is not known")
    return partial(answer.warnings)


def partial(warnings: Iterable[str]) -> Problem | None:
    """RDG002 where a source warns that its answer is not whole."""
    said = "; ".join(dict.fromkeys(warnings))
    return Problem("RDG002", f"the source warns: {said}") if said else None


def several_of(samples: Iterable[Sample]) -> Problem | None:
    """RDG020 where the rows of an answer are about several clusters by the commonest label."""
    clusters = {sample.metric.get("cluster", "") for sample in samples}
    return _problem("cluster", clusters) if len(clusters) > 1 else None


def _problem(label: str, values: set[str]) -> Problem:
    shown = ", ".join(f'{label}="{value}"' for value in sorted(values)[:_SHOWN])
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return Problem("RDG020", f"the source has series of several clusters: {shown}{more}")
