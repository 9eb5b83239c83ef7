"""Which nodes of a cluster a metric source knows, to tell the cluster's own from another one."""

import time
from collections.abc import Iterable

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.own_readings.definition import NODE_LABELS
from rescheduler.sources.prometheus.http.http_api import Prometheus, Sample
from rescheduler.sources.prometheus.identity import Identity

SECONDS = 5.0
"""Time for the answer: a source that is slower with this question is too slow for a cycle."""

_LABELS = ", ".join((*NODE_LABELS, "instance"))


def query_of_nodes(match: str) -> str:
    """What asks for the nodes that a source knows. match: label matchers with a comma, or ""."""
    names = "kube_node_info|node_uname_info|up"
    matchers = f",{match.rstrip(',')}" if match else ""
    return f'count by ({_LABELS}) ({{__name__=~"{names}"{matchers}}})'


def count_nodes(samples: Iterable[Sample], identity: Identity) -> int:
    """The number of nodes of the cluster among these rows."""
    return len({identity.node(sample.metric) for sample in samples} - {-1})


def count_known_nodes(prometheus: Prometheus, snapshot: Snapshot) -> int:
    """The number of the snapshot's nodes of which the source has series.

    Raises:
        MetricsUnavailable: it does not answer.
    """
    promql = query_of_nodes(prometheus.match)
    answer = prometheus.query(promql, None, time.monotonic() + SECONDS)
    return count_nodes(answer.samples, Identity(snapshot))
