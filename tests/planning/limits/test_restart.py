"""What starts again with a pod is learned from past moves and from checkpoints, and costs."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.kube import annotations
from rescheduler.kube.objects import Condition, ObjectMeta, Pod
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.restart_cost import RestartCost
from rescheduler.planning.eligibility.ready_times import ReadyTimes, Usual
from rescheduler.planning.limits.disruption import disruption_cost
from rescheduler.planning.limits.restart import restart_cost
from tests.cases import every
from tests.cluster import NOW, controller, pod
from tests.planning.scenarios import hot_gpus

AT, EVERY = annotations.CHECKPOINTED_AT, annotations.CHECKPOINT_INTERVAL
HOUR = timedelta(hours=1)
WEB = controller("ReplicaSet", "web")
JOB = controller("Job", "train")


def started(
    ago: timedelta,
    notes: dict[str, str] | None = None,
    *,
    owner: Any = WEB,
    ready_after: float = 30.0,
) -> Pod:
    """A pod that started so long ago with these annotations, and was Ready some seconds later."""
    made = pod("a", "n1", owner=owner, annotations=notes)
    made.status.startTime = NOW - ago
    since = NOW - ago + timedelta(seconds=ready_after)
    made.status.conditions = [Condition(type="Ready", status="True", lastTransitionTime=since)]
    return made


def noted(
    owner: Any = JOB, ago: timedelta = HOUR, notes: dict[str, str] | None = None
) -> RestartCost:
    names = {"at": AT, "every": EVERY}
    made = started(ago, {names[key]: value for key, value in (notes or {}).items()}, owner=owner)
    return restart_cost(made, NOW)


def moved(seconds: float | None, workload: str = "w", **changed: Any) -> PastMove:
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": f"{workload}-{seconds}",
        "namespace": "default",
        "pod": "a",
        "workload": workload,
        "source": "n1",
        "at": NOW - HOUR,
        "state": "ready",
        "readySeconds": seconds,
    }
    return PastMove(**(fields | changed))


def test_the_median_of_past_moves_is_what_is_usual() -> None:
    times = [moved(seconds) for seconds in (10.0, 900.0, 20.0)]
    history = History([*times, moved(5.0, "other"), moved(7.0, state="lost"), moved(None)])
    known = ReadyTimes(history)
    assert known.usual("w") == Usual(20.0, 3)
    assert known.usual("w", but="w-900.0") == Usual(15.0, 2)
    assert known.usual("other") == Usual(5.0, 1)
    assert known.usual("new") == Usual(None, 0)


def test_past_moves_tell_more_than_the_pods_own_start() -> None:
    made = started(HOUR)
    assert restart_cost(made, NOW).readySeconds == 30
    learned = restart_cost(made, NOW, Usual(250.0, 3))
    assert (learned.readySeconds, learned.moves) == (250, 3)
    own, more = (disruption_cost(made, 10, cost) for cost in (restart_cost(made, NOW), learned))
    assert more - own == pytest.approx((250 - 30) / 600)


def test_a_start_that_is_not_known_costs_most() -> None:
    made = started(HOUR)
    long = disruption_cost(made, 10, restart_cost(made, NOW, Usual(6000.0, 1)))
    (condition,) = made.status.conditions or []
    condition.lastTransitionTime = None
    unknown = restart_cost(made, NOW)
    assert unknown.readySeconds is None
    assert disruption_cost(made, 10, unknown) == long == 2.0


def test_work_counts_since_the_checkpoint_and_not_since_the_start() -> None:
    assert noted() == RestartCost(readySeconds=30.0, workSeconds=3600.0)
    saved = noted(notes={"at": "2026-11-21T11:48:00Z"})
    assert saved == RestartCost(readySeconds=30.0, workSeconds=720.0, checkpoint=True)
    offset = noted(notes={"at": "2026-11-21T12:48:00+01:00"})
    assert offset == saved
    made = started(HOUR, owner=JOB)
    costs = [disruption_cost(made, 10, cost) for cost in (noted(), saved)]
    assert costs[0] - costs[1] == pytest.approx(0.8)


@every(
    [
        ({"every": "10m"}, 600.0, True),
        ({"every": "1h30m"}, 3600.0, True),  # it has not run so long
        ({"at": "2026-11-21T11:59:00Z", "every": "10m"}, 60.0, True),
        ({"at": "2026-11-21T09:00:00Z"}, 3600.0, True),  # of an earlier pod
        ({"at": "2026-11-21T12:00:01Z"}, 3600.0, False),  # not yet
        ({"at": "2026-11-21T11:59:00"}, 3600.0, False),  # in which zone
        ({"at": "lately"}, 3600.0, False),
        ({"at": "9999-12-31T23:59:59-23:59"}, 3600.0, False),
        ({"at": "0001-01-01T00:00:00+23:59"}, 3600.0, True),
        ({"at": "lately", "every": "10m"}, 600.0, True),
        ({"every": "0s"}, 3600.0, False),
        ({"every": "-1m"}, 3600.0, False),
        ({"every": "often"}, 3600.0, False),
        ({"every": "9" * 400 + "h"}, 3600.0, True),
    ]
)
def test_what_annotations_tell_of_checkpoints(
    notes: dict[str, str], seconds: float, checkpoint: bool
) -> None:
    for owner in (JOB, WEB):
        found = noted(owner, notes=notes)
        assert (found.workSeconds, found.checkpoint) == (seconds, checkpoint)


def test_only_jobs_and_what_tells_of_checkpoints_lose_work() -> None:
    assert noted(WEB).workSeconds is None
    assert noted(WEB, timedelta(hours=9)).workSeconds is None
    assert noted(JOB, timedelta(hours=9)).workSeconds == 9 * 3600
    made = started(HOUR, owner=JOB)
    made.status.startTime = made.metadata.creationTimestamp = None
    assert disruption_cost(made, 10, restart_cost(made, NOW)) == 1.0 + 1.0 + 2.0


def test_the_pods_own_annotation_comes_before_its_controllers() -> None:
    above = [ObjectMeta(annotations={AT: "2026-11-21T11:50:00Z"}), ObjectMeta()]
    made = started(HOUR, owner=WEB)
    assert restart_cost(made, NOW, controllers=above).workSeconds == 600
    made = started(HOUR, {AT: "2026-11-21T11:59:00Z"}, owner=WEB)
    assert restart_cost(made, NOW, controllers=above).workSeconds == 60
    # A time tells more than an interval, wherever it stands.
    made = started(HOUR, {EVERY: "1m"}, owner=WEB)
    assert restart_cost(made, NOW, controllers=above).workSeconds == 600


@given(
    ago=st.integers(0, 10**6),
    seconds=st.none() | st.floats(0, 1e9),
    notes=st.dictionaries(st.sampled_from([AT, EVERY]), st.text(max_size=30)),
)
def test_no_annotation_makes_a_move_free_or_dearer_than_all_its_work(
    ago: int, seconds: float | None, notes: dict[str, str]
) -> None:
    made = started(timedelta(seconds=ago), notes, owner=JOB)
    cost = restart_cost(made, NOW, Usual(seconds, 1 if seconds is not None else 0))
    assert cost.workSeconds is not None
    assert 0 <= cost.workSeconds <= ago
    assert 1.0 <= disruption_cost(made, 10, cost) <= 1.0 + 1.0 + 2.0


def test_the_plan_tells_what_each_move_starts_anew() -> None:
    world = hot_gpus()
    before = world.plan()
    assert all(move.restart and move.restart.moves == 0 for move in before.moves)
    owner = before.moves[0].owner.uid
    old = [
        moved(250.0, owner, podUid=f"p{number}", at=NOW - timedelta(days=1.5))
        for number in range(3)
    ]
    world.history.moves += old
    first = before.moves[0]
    learned = {move.pod.uid: move for move in world.plan().moves}[first.pod.uid]
    assert learned.restart == RestartCost(readySeconds=250.0, moves=3)
    assert learned.disruption > first.disruption
