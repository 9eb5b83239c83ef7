"""A gang that is spread over zones."""

from rescheduler.model.cluster.snapshot import Snapshot
from tests.cluster import node
from tests.planning.gang_worlds import (
    cluster,
    ring,
)


def scattered() -> Snapshot:
    """A gang of three over two racks that are full, and a rack with room for all of it."""
    small = [node(f"r{n}-1", labels={"rack": f"r{n}"}, allocatable={"cpu": "2"}) for n in (1, 2)]
    large = [node("r3-1", labels={"rack": "r3"}, allocatable={"cpu": "8"})]
    return cluster([*small, *large], ring(["r1-1", "r1-1", "r2-1"], least=3, likes="r3"))
