"""A snapshot with what is looked up in it for each series."""

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.prometheus.expected_subjects import ExpectedSubjects
from rescheduler.sources.prometheus.identity import Identity


class IndexedCluster:
    """A snapshot with the indexes that are read again and again."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.identity = Identity(snapshot)
        self.expectation = ExpectedSubjects(snapshot)
        self.pod_node: list[int] = snapshot.pod_node.tolist()
