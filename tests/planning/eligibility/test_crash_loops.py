"""Pods that crash-loop are moved only where that is allowed, and where it may help."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rescheduler.kube.objects import ContainerState, ContainerStateWaiting
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import BudgetUse, Plan, PlannedMove
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.planning.limits.disruption import disruption_cost
from rescheduler.planning.limits.restart import restart_cost
from rescheduler.planning.plan.planner import plan
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.conformity.rules import Restarts
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policytest.object_builders import crash_looping
from tests.cases import every
from tests.cluster import NOW, pod
from tests.picture import picture

ON_ONE_NODE = """
    zone a | n1 | web! web
    zone a | n2 | web
    zone a | n3 | -
"""
ALONE = "zone a | n1 | web!\nzone a | n2 | -"
BOTH = "zone a | n1 | web!\nzone a | n2 | web!\nzone a | n3 | -"
TWICE = "zone a | n1 | web! web!\nzone a | n2 | web\nzone a | n3 | -"


def policies(**limits: Any) -> PolicySet:
    rule = Conformity(name="worn", match=Match(all=True), restarts=Restarts(atLeast=5))
    return policy_set([rule], Limits.model_validate({"crashLooping": "Allow"} | limits))


def planned(before: Snapshot, *past: PastMove, **limits: Any) -> Plan:
    return plan(before, policies(**limits), History(list(past)), mode="Enforce")


def reported(made: Plan) -> list[str]:
    """The moves, then the refusals, of a plan."""
    moves = [f"{move.pod.name} {move.source} -> {move.landing[0].node}" for move in made.moves]
    return [*moves, *(f"{refusal.pod.name} {refusal.code}" for refusal in made.refused)]


def budgeted(drawing: str, allowed: int, policy: str | None = None) -> Snapshot:
    made = picture(drawing, budgets={"web": allowed})
    made.budgets[0].spec.unhealthyPodEvictionPolicy = policy
    return made


def moved(before: Snapshot, replacement: str, **changed: Any) -> PastMove:
    """A pod of `web` crash-looped on n9, and was moved three hours ago."""
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": "gone",
        "namespace": "default",
        "pod": "web-9",
        "workload": before.workloads[0].uid,
        "source": "n9",
        "at": NOW - timedelta(hours=3),
        "state": "lost",
        "crashLooping": True,
        "replacement": replacement,
        "landedOn": "n1",
        "settled": NOW - timedelta(hours=2),
    }
    return PastMove(**(fields | changed))


def test_unless_it_is_allowed_it_stays() -> None:
    made = planned(picture(ON_ONE_NODE), crashLooping="Refuse")
    assert reported(made) == ["web-0 ELG006"]
    assert "crashLooping" in made.refused[0].message
    assert Limits().crashLooping == "Refuse"


@pytest.mark.parametrize("drawing", [ON_ONE_NODE, ALONE])
def test_where_it_is_allowed_it_leaves_its_node(drawing: str) -> None:
    (move,) = planned(picture(drawing)).moves
    assert (move.pod.name, move.source, move.crashLooping) == ("web-0", "n1", True)
    assert move.returns < 0.5
    # Nothing that is Ready is taken: an ordinary pod, whatever is Ready beside it.
    assert move.disruption == 1.0


def test_a_workload_that_crash_loops_on_two_nodes_is_left_alone() -> None:
    assert reported(planned(picture(BOTH))) == ["web-0 ELG023", "web-1 ELG023"]


def test_one_that_is_going_there_reports_nothing() -> None:
    before = picture("zone a | n1 | web! web\nzone a | n2 | (web!)\nzone a | n3 | -")
    assert [move.pod.name for move in planned(before).moves] == ["web-0"]


def test_two_on_one_node_go_one_at_a_time() -> None:
    made = planned(picture(TWICE), movesPerNode=5)
    assert [refusal.code for refusal in made.refused] == ["PAC004"]
    assert len(made.moves) == 1


def test_what_is_ready_beside_it_keeps_its_bounds() -> None:
    # web-1 is Ready on the same node: it is none of the pods that were restarted.
    before = picture("zone a | n1 | web! web\nzone a | n2 | -")
    before.pods[1].status.containerStatuses = crash_looping().containerStatuses
    # As they are read: pods of one template share what is equal.
    shared = before.pods[0]
    for name in ("labels", "annotations", "ownerReferences"):
        setattr(before.pods[1].metadata, name, getattr(shared.metadata, name))
    before.pods[1].spec = shared.spec
    assert reported(planned(before)) == ["web-0 n1 -> n2", "web-1 ELG024"]


@every(
    [
        ({"phase": "Pending"}, "ELG004"),
        ({"phase": "Unknown"}, "ELG004"),
        ({"containerStatuses": None}, "ELG006"),
        ({"conditions": None, "containerStatuses": []}, "ELG006"),
    ]
)
def test_others_that_are_not_ready_stay(change: dict[str, Any], code: str) -> None:
    before = picture(ON_ONE_NODE)
    before.pods[0].status = msgspec.structs.replace(before.pods[0].status, **change)
    before.pods[0].metadata.creationTimestamp = NOW - timedelta(days=1)
    copy = WorkingCopy(before, policies().policies, policies().limits, History())
    refusal = copy.eligibility.refusal(0)
    assert refusal is not None
    assert refusal.code == code


@every(
    [
        ("CrashLoopBackOff", 0, True),
        ("CreateContainerError", 0, False),
        ("CreateContainerError", 1, True),
        ("ContainerCreating", 1, False),
        ("PodInitializing", 1, False),
        ("", 1, False),
    ]
)
def test_a_container_that_just_starts_anew_does_not_crash_loop(
    reason: str, restarts: int, expected: bool
) -> None:
    made = pod("a", "n1")
    made.status = crash_looping(restarts=restarts)
    (status,) = made.status.containerStatuses or []
    status.state = ContainerState(waiting=ContainerStateWaiting(reason=reason))
    assert made.crash_looping is expected


def test_while_it_rolls_out_it_stays() -> None:
    before = picture(ON_ONE_NODE)
    before.controllers[0].status.updatedReplicas = 2
    assert reported(planned(before)) == ["web-0 ELG013"]


def test_young_pods_stay() -> None:
    before = picture(ON_ONE_NODE)
    before.pods[0].metadata.creationTimestamp = NOW - timedelta(minutes=9)
    assert reported(planned(before)) == ["web-0 ELG007"]


@every(
    [
        (ON_ONE_NODE, 0, None, ""),  # 2 of 2 needed are healthy: IfHealthyBudget lets it go
        (ON_ONE_NODE, 0, "IfHealthyBudget", ""),
        (TWICE, 0, "IfHealthyBudget", "BUD002"),  # 1 of 2
        (TWICE, 1, "IfHealthyBudget", ""),
        (TWICE, 0, "AlwaysAllow", ""),
        (ALONE, 0, None, "BUD002"),  # none is needed: the default does not let it go
        (ALONE, 0, "AlwaysAllow", ""),
    ]
)
def test_budgets_are_spent_as_the_eviction_api_does(
    drawing: str, allowed: int, policy: str | None, code: str
) -> None:
    made = planned(budgeted(drawing, allowed, policy))
    assert bool(made.moves) == (not code)
    if code:
        assert {refusal.code for refusal in made.refused} == {code}
    elif not allowed:
        assert made.moves[0].budget is None


def test_healthy_pods_of_the_plan_leave_fewer_behind() -> None:
    before = budgeted(ON_ONE_NODE, 1)
    wide = Limits(movesPerNode=9, movesPerNamespace=9, movesPerWorkload=9)
    budgets = Budgets(before, wide, History())
    budgets.spend(0)
    assert budgets.refusal(1) is None
    budgets.spend(1)
    budgets.release(0)
    # One of the two healthy ones is gone by now, and the budget allows no more.
    assert [code.code if (code := budgets.refusal(pod)) else "" for pod in (0, 2)] == [
        "BUD002",
        "BUD002",
    ]
    budgets.release(1)
    assert budgets.refusal(2) is None
    # What is charged now is given back as it was charged, not as the last time.
    budgets.spend(1)
    budgets.spend(0)
    budgets.release(0)
    budgets.release(1)
    assert budgets.use(2) == BudgetUse(name="web", allowed=1)


def test_a_move_that_did_not_help_is_the_last_one() -> None:
    before = picture(ON_ONE_NODE)
    uids = [pod.metadata.uid for pod in before.pods]
    assert reported(planned(before, moved(before, uids[0]))) == ["web-0 ELG023"]
    assert reported(planned(before, moved(before, "nobody knows"))) == ["web-0 ELG023"]
    # The replacement runs: another one may go. One that was restarted since is no good sign.
    helped = moved(before, uids[2], state="ready")
    assert len(planned(before, helped).moves) == 1
    before.pods[2].status.containerStatuses = crash_looping(restarts=1).containerStatuses
    assert reported(planned(before, helped)) == ["web-0 ELG023"]
    # What was no crash loop, or no move, or of another workload, is no evidence.
    for other in ({"crashLooping": False, "state": "ready"}, {"state": "refused"}):
        assert len(planned(before, moved(before, uids[0], **other)).moves) == 1
    assert len(planned(before, moved(before, uids[0], workload="x")).moves) == 1


def test_a_pod_that_was_not_placed_holds_and_one_no_worse_off_does_not() -> None:
    before = picture(ON_ONE_NODE)
    uid = before.pods[0].metadata.uid
    assert planned(before, moved(before, uid)).guards == []
    assert planned(before, moved(before, uid, state="evicted")).guards == []
    pending = planned(before, moved(before, uid, landedOn=""))
    assert [guard.code for guard in pending.guards] == ["GRD003"]


def rechecked(before: Snapshot, move: PlannedMove, index: int = 0, **status: Any) -> str:
    """The code of the re-check, when the pod has become so; "" where it may go."""
    pods = list(before.pods)
    fresh = msgspec.structs.replace(pods[index].status, **status)
    pods[index] = msgspec.structs.replace(pods[index], status=fresh)
    now = replace(before, pods=pods)
    answer = Recheck(WorkingCopy(now, policies().policies, policies().limits, History())).check(
        move
    )
    return "" if isinstance(answer, PlannedMove) else answer.code


def test_it_is_moved_only_as_it_was_planned() -> None:
    before = picture(ON_ONE_NODE)
    (move,) = planned(before).moves
    ready = before.pods[1].status.conditions
    assert rechecked(before, move) == ""
    assert rechecked(before, move, conditions=ready) == "DRF001"
    assert rechecked(before, move, containerStatuses=[]) == "DRF001"
    serving = msgspec.structs.replace(move, crashLooping=False)
    assert rechecked(before, serving) == "DRF001"


def test_a_pod_that_is_not_ready_costs_nothing_that_is() -> None:
    made = pod("a", "n1")
    serving = disruption_cost(made, 1, restart_cost(made, NOW))
    made.status = crash_looping()
    (ready,) = made.status.conditions or []
    since = msgspec.structs.replace(ready, lastTransitionTime=NOW - timedelta(hours=1))
    made.status.conditions = [since]
    assert disruption_cost(made, 1, restart_cost(made, NOW)) == 1.0 < serving


def test_what_crash_loops_everywhere_is_moved_once() -> None:
    """The replacement crash-loops where it landed: cycle after cycle, for a day, it stays."""
    before = picture(ALONE)
    (move,) = planned(before).moves
    fresh = msgspec.structs.replace(
        before.pods[0],
        node=move.landing[0].node,
        metadata=msgspec.structs.replace(before.pods[0].metadata, uid="new", name="web-1"),
    )
    past = moved(before, "new", podUid=move.pod.uid, source="n1", landedOn="n2", at=NOW)
    for hours in (1, 5, 23):
        after = replace(before, pods=[fresh], taken=NOW + timedelta(hours=hours))
        assert reported(planned(after, past)) == ["web-1 ELG023"]
