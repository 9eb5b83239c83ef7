"""The time that a search may take is kept wherever it spends it; a steady clock is given."""

from typing import Any

import numpy as np
import pytest

from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Landing
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.plan.result import Outline
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.planning.search.strategy import Proposal
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from tests.cluster import node, snapshot
from tests.planning import gang_worlds as ganged
from tests.planning.search import chains as chained
from tests.planning.search import gang_placements as roomy
from tests.planning.search.stuck_clusters import CHAINS, stuck

LATE = 1
"""Seconds that what is under way may take when the time is up."""


class Ticking(WorkingCopy):
    """A working copy where it takes a second to ask where a pod would land, or where it could."""

    now = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        ask = self.scheduler.open_to

        def open_to(pod: int) -> BoolArray:
            self.now += 1
            return ask(pod)

        self.scheduler.open_to = open_to  # type: ignore[method-assign]

    def landing(self, pod: int) -> Landing:
        self.now += 1
        return super().landing(pod)


def searched(
    world: Snapshot, policy: Policy, limits: Limits, seconds: float = np.inf
) -> tuple[SearchResult, int]:
    """What is found in that time, and how long it took."""
    enforced = policy.model_copy(update={"mode": "Enforce"})
    copy = Ticking(world, [enforced], limits, History())
    found = search(Evaluator(copy), effort=Effort(expired=lambda: copy.now >= seconds))
    return found, copy.now


def spread_out() -> Snapshot:
    """A gang of eight over full racks, and a rack with room for all of it."""
    small = [node(f"r{n}-1", labels={"rack": f"r{n}"}, allocatable={"cpu": "2"}) for n in range(4)]
    large = [node("r9-1", labels={"rack": "r9"}, allocatable={"cpu": "16"})]
    where = [f"r{n}-1" for n in range(4) for _ in range(2)]
    return ganged.cluster([*small, *large], ganged.ring(where, least=8, likes="r9"))


ROOMS = Limits.model_validate(roomy.FREE)
GANGS = Limits.model_validate(ganged.FREE | {"gangs": "Whole"})
WORLDS = {
    "chains": (stuck(8), chained.RULES, CHAINS),
    "rooms": (roomy.world([1, 2, 5, 3, 4], [7, 7]), roomy.ROOM, ROOMS),
    "a whole gang": (spread_out(), ganged.in_one_rack(), GANGS),
}


@pytest.mark.parametrize("name", WORLDS)
def test_a_search_ends_soon_after_its_time_is_up(name: str) -> None:
    world, policy, limits = WORLDS[name]
    unhurried, long = searched(world, policy, limits)
    assert unhurried.moves
    for seconds in range(1, long):
        found, took = searched(world, policy, limits, seconds)
        assert found.summary is not None
        assert took <= seconds + LATE, (seconds, long)
        if took > seconds:
            assert found.summary.stopped == "time"


def test_a_search_that_begins_with_a_plan_ends_soon_after_its_time_is_up() -> None:
    chains, rooms = stuck(6), roomy.world([4] * 5, [0, 0], gang=4)
    world = snapshot(
        [*chains.nodes, *rooms.nodes],
        [*chains.pods, *rooms.pods],
        controllers=[*chains.controllers, *rooms.controllers],
        budgets=[*chains.budgets, *rooms.budgets],
    )
    many = {"movesPerCycle": 60, "movesPerNamespace": 60, "movesPerHour": 60}
    limits = Limits.model_validate(chained.FREE | chained.STEERED | many)
    policies = [
        conformity.model_copy(update={"mode": "Enforce"})
        for conformity in (chained.RULES, roomy.ROOM)
    ]

    def resumed(seconds: float, planned: tuple[tuple[int, ...], ...]) -> tuple[SearchResult, int]:
        copy = Ticking(world, policies, limits, History())
        effort = Effort(expired=lambda: copy.now >= seconds)
        found = search(Evaluator(copy), effort=effort, proposal=Proposal({}, planned=planned))
        return found, copy.now

    whole, _ = resumed(np.inf, ())
    planned = tuple(evaluation.pods for evaluation in whole.accepted)
    assert len(planned) > 3
    for seconds in range(1, 15):
        found, took = resumed(seconds, planned)
        assert found.summary is not None
        assert found.summary.stopped == "time"
        assert took <= seconds + LATE, seconds


def test_the_time_of_a_search_begins_when_the_model_stands() -> None:
    """However long that takes: what is left over must be enough for moves."""
    built: list[WorkingCopy] = []
    real = WorkingCopy.__init__

    def slow(copy: WorkingCopy, *given: Any, **named: Any) -> None:
        real(copy, *given, **named)
        built.append(copy)

    def effort() -> Effort:
        assert built, "the clock runs while the model is built"
        return Effort()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkingCopy, "__init__", slow)
        outline = Outline(mode="Enforce", seed=0, tool="", recorded=False)
        policies = policy_set([chained.RULES], CHAINS)
        made, _ = plan_and_observations(
            stuck(1), policies, History(), FindingHistory(), outline, effort
        )
    assert made.moves


def test_a_search_without_any_time_says_so_of_every_candidate() -> None:
    found, took = searched(stuck(2), chained.RULES, CHAINS, 0)
    assert found.summary is not None
    assert (took, found.moves, found.summary.stopped) == (0, [], "time")
    assert {refusal.code for refusal in found.refusals.values()} == {"FEA013"}
    assert len(found.refusals) == 2
