"""A plan and its moves hold under the scheduler profiles that it was made with, and no other."""

from dataclasses import replace
from typing import Any

import msgspec

from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.moves.plan import Plan, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.planner import plan
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.policies.files.policy_set import policy_set, scheduler_from_document
from rescheduler.runtime.parts import policies_in
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import schedulers_of
from tests.planning.scenarios import hot_gpus
from tests.policies.scheduler_documents import USUAL, configuration, document


def declared(**spec: Any) -> Scheduler:
    return scheduler_from_document(document("mine", **spec))


def moved(pinned: dict[str, str], reported: ObservedScheduler | None = None, **spec: Any) -> str:
    """The code of the re-check of a plan's first move, under another word about the scheduler."""
    world = hot_gpus()
    made = world.plan()
    assert [scheduler.name for scheduler in made.schedulers] == [USUAL]
    fresh = WorkingCopy(
        replace(world.snapshot, scheduler=reported),
        world.policies,
        world.limits,
        world.history,
        plan=made.id,
        schedulers=[declared(**spec)] if spec else [],
        pinned=pinned or {scheduler.name: scheduler.digest for scheduler in made.schedulers},
    )
    answer = Recheck(fresh).check(made.moves[0])
    return "" if isinstance(answer, PlannedMove) else f"{answer.code} {answer.message}"


def test_a_planned_move_is_made_only_under_the_profile_of_its_plan() -> None:
    assert moved({}) == ""
    assert moved({}, weights={"ImageLocality": 1}) == ""
    reported = moved({}, weights={"ImageLocality": 9})
    assert reported.startswith("DRF004")
    assert "another than the one that the plan was made with" in reported
    gone = ObservedScheduler("https://x", problem=Problem("GRD010", "no route"))
    assert "no route" in moved({}, gone)


def test_the_profile_changes_the_digest_and_the_guard_leaves_no_move() -> None:
    world = hot_gpus()
    policies = policy_set(world.policies, world.limits)
    heavier = policy_set(world.policies, world.limits, (declared(weights={"ImageLocality": 9}),))
    one, other = (
        plan(world.snapshot, policy_set, world.history, mode="Audit")
        for policy_set in (policies, heavier)
    )
    assert one.moves
    assert one.digest != other.digest
    assert scheduler_from_document(other.schedulers[0].document) == heavier.schedulers[0]
    gone = ObservedScheduler("https://x", problem=Problem("GRD010", "no route"))
    held = plan(replace(world.snapshot, scheduler=gone), policies, world.history, mode="Audit")
    assert [guard.code for guard in held.guards] == ["GRD010"]
    assert not held.moves


def test_apply_makes_the_same_schedulers_again_from_the_plan() -> None:
    world = hot_gpus()
    whole = declared(configuration=configuration({"schedulerName": "a"}, {"schedulerName": "b"}))
    second = scheduler_from_document(document("second", schedulerName="c", version="1.35"))
    policies = policy_set(world.policies, world.limits, (whole, second))
    made = plan(world.snapshot, policies, world.history, mode="Audit")
    assert [scheduler.name for scheduler in made.schedulers] == ["a", "b", "c", USUAL]
    read = msgspec.json.decode(msgspec.json.encode(made), type=Plan)
    again = policies_in(read).schedulers
    assert schedulers_of(world.snapshot, again).profiles == (
        schedulers_of(world.snapshot, policies.schedulers).profiles
    )
