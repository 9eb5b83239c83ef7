"""Steering by a scheduler extender, which `rescheduler extender` serves."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.past_steering import PastSteering
from rescheduler.model.moves.steering_entry import ExtenderStatus, Strength
from rescheduler.model.problem import Problem
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import Verb, schedulers_of
from rescheduler.steering.means_base import Means, SteeredMove
from rescheduler.steering.table_writer import TableWriter, no_table
from rescheduler.steering.waiting import PATIENCE, PENDING, seen_in_time

SHOWN = timedelta(seconds=30)
"""An extender that has not shown itself for so long is not there."""
MAX_IDLE = timedelta(hours=1)
"""A scheduler that has not called the extender for so long may not do so any more."""
WEIGHT = 2
"""With it the extender's 10 points count as much as preferred node affinity of weight 100, which
landings are predicted with: 10 x 10 x 2 points, as 100 x 2 are by the default weight of the plugin.

Source: pkg/scheduler/schedule_one.go, prioritizeNodes.
"""


class Extender(Means):
    """A scheduler asks the extender, which goes by the table of replacements, as it places a pod.

    It shows in a Lease that it runs, that a scheduler asks it, and which table it has.
    """

    name = "Extender"
    writer = TableWriter
    about = (
        "a scheduler of your own asks `rescheduler extender`, as that shows; Require only where "
        "the scheduler looks at all nodes."
    )
    extends = True

    @classmethod
    def impossible(
        cls, snapshot: Snapshot, declared: Sequence[Scheduler], strengths: Sequence[Strength]
    ) -> Iterator[str]:
        """Why no scheduler asks an extender for what these strengths need."""
        nodes, schedulers = len(snapshot.nodes), schedulers_of(snapshot, declared)
        for strength in strengths:
            verb: Verb = "filterVerb" if strength == "Require" else "prioritizeVerb"
            if not any(schedulers.calls_extender(name, verb) for name in schedulers.by_name):
                why = f"no configuration that is declared has a harmless extender with {verb}"
                yield f"{why}, which {strength} needs"
        if "Require" not in strengths:
            return
        sampling = [
            name for name in sorted(schedulers.by_name) if schedulers.samples_nodes(name, nodes)
        ]
        if sampling:
            yield (
                f"of {nodes} nodes {', '.join(sampling)} asks it about a sample, so that Require "
                "cannot be kept; use Prefer, unless percentageOfNodesToScore is 100, which a "
                "document of kind Scheduler says"
            )

    def ready(self, declared: Sequence[Scheduler]) -> Problem | None:
        """As declared it must weigh what is predicted; there must be a table, and an extender."""
        return (
            _weight_problem(declared)
            or no_table(self._port)
            or self._out_of_use(self._port.extender.read())
        )

    def confirm(self) -> Problem | None:
        """It must be there, a scheduler ask it, and it have the table: in this order."""
        return seen_in_time(self._port, self._table_problem)

    def _table_problem(self) -> Problem | None:
        followed = self._port.extender.read()
        idle = self._out_of_use(followed)
        if idle is not None:
            return idle
        # It shows "" where it has no table, or no data to go by it with.
        stored = self._port.table.version()
        if followed is None or not followed.version or followed.version != stored:
            said = f"the extender did not show within {PATIENCE:.0f} s that it has read the table"
            said += ", and knows the nodes of the cluster; its log says why"
            return Problem(code="STR002", message=said)
        return None

    def _out_of_use(self, followed: ExtenderStatus | None) -> Problem | None:
        """Why no extender steers, whichever table it has; None if one runs and is called."""
        now: datetime = self._port.clock()
        if followed is None or not -SHOWN <= now - followed.renewed <= SHOWN:
            last = None if followed is None else followed.renewed
            ago = "never" if last is None else f"last at {last:%Y-%m-%d %H:%M:%S} UTC"
            said = f"Lease rescheduler-extender was renewed {ago}, so no extender runs"
            return Problem(code="STR001", message=said)
        if followed.lastRequest is None or now - followed.lastRequest > MAX_IDLE:
            said = "no scheduler has called the extender within the last hour"
            return Problem(code="STR001", message=said)
        return None

    def lingering_problem(self) -> Problem | None:
        """If no extender is called, nothing steers."""
        problem = self.confirm()
        return None if problem is None or problem.code == "STR001" else problem

    def was_steered(self, move: PastMove) -> bool:
        """Once it is placed."""
        return bool(move.landedOn)

    def inspect_replacement(
        self, _move: PastMove, steering: PastSteering, _replacement: Pod
    ) -> None:
        """The extender obeys the deadline in the table, which is not put off."""
        steering.put_off(min(steering.until, self._port.clock() + PENDING))

    def finished_moves(self, moves: Sequence[SteeredMove]) -> list[SteeredMove]:
        """Which pod took which entry only the extender knows: a controller's go with the last."""
        waiting = {
            move.controller
            for move, steering in moves
            if not (self.was_steered(move) or self.is_over(move, steering))
        }
        return [
            (move, steering)
            for move, steering in moves
            if self.is_over(move, steering)
            or (self.was_steered(move) and move.controller not in waiting)
        ]


def _weight_problem(declared: Sequence[Scheduler]) -> Problem | None:
    """Why a declared scheduler does not steer as predicted, if that can be known."""
    for scheduler in declared:
        for extender in scheduler.extenders:
            harmless = extender.urlPrefix in scheduler.harmlessExtenders
            if extender.prioritizeVerb and harmless and extender.weight != WEIGHT:
                said = f"its extender {extender.urlPrefix} has weight {extender.weight}"
                text = f"Scheduler {scheduler.name}: {said}, not {WEIGHT}"
                return Problem(code="STR001", message=text)
    return None
