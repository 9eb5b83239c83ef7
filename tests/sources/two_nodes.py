"""Two nodes."""

from rescheduler.model.cluster.snapshot import Snapshot
from tests import cluster

NAMES = ("n1", "n2")


def two_nodes() -> Snapshot:
    return cluster.snapshot([cluster.node(name) for name in NAMES], [])
