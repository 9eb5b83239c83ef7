"""Which policies the state has as demoted."""

from tests.e2e.builders.cluster import Cluster
from tests.e2e.loop import NAMESPACE


def demotions(cluster: Cluster) -> list[str]:
    """The notes of the Events that say so."""
    events = cluster.api.items("events.k8s.io/v1", "Event", NAMESPACE)
    return [event["note"] for event in events if event["reason"] == "PolicyDemoted"]
