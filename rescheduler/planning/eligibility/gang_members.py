"""How many members a gang can spare: its Ready ones above its minimum."""

from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History


class SpareMembers:
    """How many members each gang can spare, as of one snapshot and one history."""

    def __init__(self, snapshot: Snapshot, history: History) -> None:
        self._snapshot = snapshot
        self._going = frozenset(move.podUid for move in history.moves if move.in_flight)
        self._spare: dict[Gang, int] = {}

    def ready(self, gang: Gang) -> int:
        """Its Ready members; none that is being deleted, or whose eviction we requested."""
        snapshot = self._snapshot
        return sum(
            snapshot.pods[pod].ready
            and not snapshot.leaving[pod]
            and snapshot.pods[pod].metadata.uid not in self._going
            for pod in snapshot.gangs.facts(gang).members.tolist()
        )

    def spare_count(self, gang: Gang) -> int:
        """How many of them may go one by one; 0 where it is not known what the gang needs."""
        if gang not in self._spare:
            facts = self._snapshot.gangs.facts(gang)
            least = None if facts.entangled else facts.minimum
            self._spare[gang] = 0 if least is None else max(self.ready(gang) - least, 0)
        return self._spare[gang]
