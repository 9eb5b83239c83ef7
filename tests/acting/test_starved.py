"""However many workloads break off runs, and however seldom runs are, the others are reached."""

import pytest

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.policies.limits import Limits
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Process, Stage, warm

DAY, HOUR, MINUTE = 86_400.0, 3_600.0, 60.0


def web(stage: Stage, name: str) -> PlannedMove:
    made = [
        stage.world.add_pod(f"{name}-{n}", node, owner=("ReplicaSet", name), app=name)
        for n, node in enumerate(("n1", "n2"))
    ]
    return planned(made[0])


def fail(_: int, __: str, path: str) -> int | None:
    return 500 if "/bad" in path and "eviction" in path else None


@pytest.mark.parametrize(("bad", "period"), [(3, DAY), (8, HOUR), (20, 5 * MINUTE)])
def test_those_that_always_fail_let_others_be_moved_once_each_has_failed(
    bad: int, period: float
) -> None:
    stage = warm(Stage())
    moves = [*(web(stage, f"bad{n}") for n in range(bad)), web(stage, "good")]
    for cycle in range(bad + 1):
        stage.seconds = cycle * period
        process = Process(stage, f"c{cycle}", before=fail, limits=Limits(**WIDE))
        outcome = act(plan_of(stage.world, moves), process.actor())
        results = [move.result for move in outcome.moves]
        assert results[-1] == ("evicted" if cycle == bad else "skipped"), (cycle, results)
