"""Writes the entries of moves into the table of replacements, and removes them.

An entry is made once the intent is stored in the ledger, and before the eviction is sent; from the
ledger the next process after a crash knows that something may be left in the table. It is removed
when:
- its replacement was steered: it is seen, or where the means works while it is placed, it is;
- its deadline has come, or nothing was evicted;
- the run ends.
"""

from collections.abc import Sequence
from itertools import zip_longest

from rescheduler.kube.pods.steered_affinity import HOSTNAME
from rescheduler.model.errors import ActionError
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.past_steering import PastSteering
from rescheduler.model.moves.steering_entry import MOST_NODES, SteeringEntry
from rescheduler.model.problem import Problem
from rescheduler.steering.means_base import SteeredMove, Writer, steered_moves
from rescheduler.steering.missed_steering import missed_before
from rescheduler.steering.port import Port


def no_table(port: Port) -> Problem | None:
    """Why nothing can be steered by the table, or None.

    Raises:
        ActionError: the API server does not answer, or refuses.
    """
    if not port.table.exists():
        return Problem(code="STR001", message="the ConfigMap of the table does not exist")
    return None


class TableWriter(Writer):
    """Writes the table of replacements."""

    code = "STR004"

    def enter(self, history: History, moves: Sequence[SteeredMove]) -> Problem | None:
        """Put entries for these in. Raises: as `Writer`."""
        _join(moves)
        problem = missed_before(history, moves) or _unfit(history, moves)
        if problem is not None:
            return problem
        return self._port.table.add([_entry(*move) for move in moves], self._port.fence())

    def close(self, moves: Sequence[SteeredMove]) -> None:
        """Take their entries out. Raises: as `Writer`."""
        self._port.table.remove({move.podUid for move, _ in moves}, self._port.fence())

    def sweep(self, moves: Sequence[SteeredMove]) -> None:
        """Take every entry out. Raises: as `Writer`."""
        try:
            swept = self._port.table.sweep(self._port.fence(), surely=bool(moves))
        except ActionError:
            if moves:
                raise
            # Nothing of ours is in there; that it cannot be written is said before the cycle plans.
            return
        for entry in swept:
            self._port.warn("swept an entry that steered replacements", entry=entry)


def _join(moves: Sequence[SteeredMove]) -> None:
    """Give those of one controller that are entered together the same nodes: pods are fungible.

    The best of each come first, as these are preferred.
    """
    alike: dict[tuple[str, ...], list[PastSteering]] = {}
    for move, steering in moves:
        key = (move.controller, steering.template, steering.name, steering.strength)
        alike.setdefault(key, []).append(steering)
    for same in alike.values():
        ranks = zip_longest(*(steering.hostnames for steering in same))
        names = list(dict.fromkeys(name for rank in ranks for name in rank if name is not None))
        for steering in same:
            steering.name_nodes(names)


def _unfit(history: History, moves: Sequence[SteeredMove]) -> Problem | None:
    """Why these must not be entered, beside what the table itself says."""
    own = {move.podUid for move, _ in moves}
    sets = {move.controller: steering.hostnames for move, steering in moves}
    for move, steering in steered_moves(history.moves):
        if not steering.open or move.podUid in own:
            continue
        if sets.get(move.controller, steering.hostnames) != steering.hostnames:
            said = f"the replacement of {move.namespace}/{move.pod}, of the same controller"
            return Problem(
                code="STR004", message=f"{said}, shall go elsewhere and is not there yet"
            )
    for move, steering in moves:
        names = steering.hostnames
        if not all(names):
            said = f"a node for {move.namespace}/{move.pod} has no label {HOSTNAME} any more"
            return Problem(code="STR004", message=said)
        if len(names) > MOST_NODES or (steering.strength == "Require" and len(names) < 2):
            said = f"{len(names)} nodes are named for {move.namespace}/{move.pod}"
            return Problem(
                code="STR003",
                message=f"{said}: Require takes 2 to {MOST_NODES}, Prefer 1 to {MOST_NODES}",
            )
    return None


def _entry(move: PastMove, steering: PastSteering) -> SteeringEntry:
    return SteeringEntry(
        owner=move.controller,
        namespace=move.namespace,
        template=steering.template,
        name=steering.name,
        hostnames=tuple(steering.hostnames),
        strength=steering.strength,
        deadline=steering.until,
        plan=move.plan,
        pod=move.podUid,
    )
