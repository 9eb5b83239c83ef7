"""A gang that is moved as a whole is checked again as a whole: one answer for all its moves."""

from collections.abc import Callable
from typing import Any

from rescheduler.kube.objects import Taint
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.policies.limits import Limits
from tests.cases import every
from tests.cluster import budget
from tests.planning.gang_worlds import FREE, in_one_rack, planned
from tests.planning.kueue_gangs import cluster as queued
from tests.planning.kueue_gangs import state
from tests.planning.scattered_gang import scattered

LIMITS = Limits.model_validate(FREE | {"gangs": "Whole", "movesPerWorkload": 9})


def checked(change: Callable[[Snapshot], Any]) -> list[PlannedMove | Problem]:
    """The re-check of every move of the gang, after something has changed."""
    made = planned(scattered(), in_one_rack(), gangs="Whole")
    assert len(made.moves) == 3
    fresh = scattered()
    change(fresh)
    copy = WorkingCopy(fresh, [in_one_rack()], LIMITS, History(), plan=made.id)
    check = Recheck(copy, made.moves).check
    return [check(move) for move in made.moves]


def test_all_moves_of_a_gang_pass_together() -> None:
    answers = checked(lambda _: None)
    assert [isinstance(answer, PlannedMove) for answer in answers] == [True] * 3


def not_ready(fresh: Snapshot) -> None:
    condition = fresh.pods[2].condition("Ready")
    assert condition is not None
    condition.status = "False"


def joined(fresh: Snapshot) -> None:
    """The gang was scaled up: what was planned is a part of it now, and it can spare one."""
    labels = fresh.pods[0].metadata.labels
    more = scattered().pods[0]
    more.metadata.name, more.metadata.uid, more.metadata.labels = "ring-9", "new", labels
    fresh.pods.append(more)


@every(
    [
        (not_ready, "DRF001"),
        (lambda fresh: fresh.pods.pop(), "ACT002"),
        (joined, "ELG027"),
        (lambda fresh: fresh.budgets.append(budget("b", "ring", allowed=2, healthy=3)), "BUD002"),
        (
            lambda fresh: setattr(
                fresh.nodes[2].spec, "taints", [Taint(key="x", effect="NoSchedule")]
            ),
            "DRF004",
        ),
        (
            lambda fresh: fresh.controllers[0].metadata.__setattr__(
                "labels", {"kueue.x-k8s.io/queue-name": "q"}
            ),
            "ELG029",
        ),
    ]
)
def test_what_holds_for_one_member_holds_for_all(
    change: Callable[[Snapshot], Any], code: str
) -> None:
    answers = checked(change)
    assert {answer.code for answer in answers if isinstance(answer, Problem)} == {code}
    assert all(isinstance(answer, Problem) for answer in answers)


def test_a_move_of_a_group_whose_others_are_not_known_is_not_made() -> None:
    made = planned(scattered(), in_one_rack(), gangs="Whole")
    copy = WorkingCopy(scattered(), [in_one_rack()], LIMITS, History(), plan=made.id)
    answer = Recheck(copy).check(made.moves[0])
    assert isinstance(answer, Problem)
    assert answer.code == "ELG028"


def restarted(change: Callable[[dict[str, Any]], Any]) -> list[PlannedMove | Problem]:
    """The same of a gang that Kueue stops and starts."""
    limits: dict[str, Any] = {"gangs": "Whole", "kueue": "Restart"}
    made = planned(queued(state()), in_one_rack(), **limits)
    assert len(made.moves) == 3
    objects = state()
    change(objects)
    chosen = Limits.model_validate(FREE | limits)
    copy = WorkingCopy(queued(objects), [in_one_rack()], chosen, History(), plan=made.id)
    check = Recheck(copy, made.moves).check
    return [check(move) for move in made.moves]


def test_a_gang_that_kueue_still_runs_passes() -> None:
    assert all(isinstance(move, PlannedMove) for move in restarted(lambda _: None))


@every(
    [
        (lambda objects: objects["workloads"].clear(), "DRF006"),
        (lambda objects: objects["workloads"][0]["metadata"].update(uid="created again"), "DRF006"),
        (lambda objects: objects["workloads"][0]["spec"].update(active=False), "ELG029"),
        (lambda objects: objects["queue"]["spec"].update(stopPolicy="Hold"), "ELG035"),
    ]
)
def test_a_gang_whose_workload_is_another_or_none_now_is_left_alone(
    change: Callable[[dict[str, Any]], Any], code: str
) -> None:
    answers = restarted(change)
    assert {answer.code for answer in answers if isinstance(answer, Problem)} == {code}
    assert all(isinstance(answer, Problem) for answer in answers)


def test_a_gang_that_kueue_has_come_to_run_is_not_evicted() -> None:
    """Its moves were planned as evictions, which Kueue would not know of."""
    none = state() | {"workloads": []}
    made = planned(queued(none), in_one_rack(), gangs="Whole", jobs="Allow", kueue="Restart")
    assert len(made.moves) == 3
    limits = Limits.model_validate(FREE | {"gangs": "Whole", "kueue": "Restart", "jobs": "Allow"})
    copy = WorkingCopy(queued(state()), [in_one_rack()], limits, History(), plan=made.id)
    check = Recheck(copy, made.moves).check
    found = [check(move) for move in made.moves]
    assert {move.code for move in found if isinstance(move, Problem)} == {"DRF006"}
    assert all(isinstance(move, Problem) for move in found)
