"""Gangs: spared, moved by their surplus, or moved as a whole; never a part below the minimum."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.kube.controllers import Owner
from rescheduler.kube.objects import ObjectMeta, OwnerReference
from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from tests.cluster import NOW, budget
from tests.draws import tries
from tests.planning.gang_worlds import (
    FREE,
    JOBSET,
    cluster,
    drawn,
    in_one_rack,
    native,
    over_racks,
    planned,
    racks,
    ring,
)
from tests.planning.scattered_gang import scattered

SEEDS = range(tries(3000, 20))


def codes(made: Plan) -> Counter[str]:
    return Counter(made.totals.refused)


def moved(made: Plan) -> list[str]:
    return [move.pod.name for move in made.moves]


def crowded(least: int | None = None) -> Snapshot:
    """Four members in rack r1, none in r2."""
    return cluster(racks(2), ring(["r1-1", "r1-1", "r1-2", "r1-2"], least=least))


def test_spare_moves_nothing_and_says_so() -> None:
    made = planned(crowded(least=1), over_racks(), gangs="Spare")
    assert made.moves == []
    assert codes(made) == {"ELG016": 4}
    assert made.policies[0].cost.before > 0, "what is wrong is still found"
    (note,) = [problem for problem in made.notes if problem.code == "ELG016"]
    assert note.message == "racks: findings on 1 gang are reported and not acted on: gangs is Spare"


def test_a_policy_without_gangs_has_no_such_note() -> None:
    made = planned(crowded(), over_racks(groupBy="Workload"), gangs="Spare")
    assert not [note for note in made.notes if note.code == "ELG016"]
    assert not planned(crowded(), over_racks(), gangs="Surplus").notes


def test_surplus_moves_the_members_above_the_minimum_and_no_more() -> None:
    made = planned(crowded(least=3), over_racks(), gangs="Surplus", movesPerWorkload=9)
    assert len(made.moves) == 1
    assert (made.moves[0].group, made.moves[0].gangMinimum) == ("", 3)
    assert codes(made)["ELG027"] == 3
    two = planned(crowded(least=2), over_racks(), gangs="Surplus", movesPerWorkload=9)
    assert len(two.moves) == 2
    assert two.policies[0].cost.after == 0


@pytest.mark.parametrize(("version", "served"), [("v1.36.3", "v1alpha2"), ("v1.37.2", "v1beta1")])
def test_surplus_moves_a_scheduling_group_as_any_other_gang(version: str, served: str) -> None:
    before = native(crowded(3), 3, version, served)
    made = planned(before, over_racks(), gangs="Surplus", movesPerWorkload=9)
    other = planned(crowded(3), over_racks(), gangs="Surplus", movesPerWorkload=9)
    assert moved(made) == moved(other)
    assert len(made.moves) == 1
    assert codes(made)["ELG027"] == 3


def test_surplus_moves_nothing_of_a_group_that_is_kept_in_one_domain() -> None:
    topology = {"topology": [{"key": "rack"}]}
    made = planned(
        native(crowded(3), 3, schedulingConstraints=topology), over_racks(), gangs="Surplus"
    )
    assert made.moves == []
    assert codes(made) == {"ELG027": 4}


def test_a_scheduling_group_is_not_moved_as_a_whole_and_that_is_said() -> None:
    made = planned(native(scattered(), 3), in_one_rack(), gangs="Whole")
    assert made.moves == []
    assert codes(made) == {"ELG030": 3}
    assert "kube-scheduler binds none of its new pods before minCount" in made.refused[0].message


@pytest.mark.parametrize("least", [None, 4, 5])
def test_surplus_moves_nothing_of_a_gang_that_needs_all(least: int | None) -> None:
    made = planned(crowded(least), over_racks(), gangs="Surplus")
    assert made.moves == []
    assert codes(made) == {"ELG027": 4}


def test_whole_moves_a_gang_as_one_group_in_one_batch() -> None:
    made = planned(scattered(), in_one_rack(), gangs="Whole", movesPerCycle=3)
    assert sorted(moved(made)) == ["ring-0", "ring-1", "ring-2"]
    assert {move.group for move in made.moves} == {"default/ring (scheduling.x-k8s.io/pod-group)"}
    assert {move.batch for move in made.moves} == {1}
    assert {move.gangMinimum for move in made.moves} == {None}
    assert {move.landing[0].node for move in made.moves} == {"r3-1"}
    assert made.policies[0].cost.after == 0
    assert made.totals.moves == 3


def test_what_a_gang_may_not_do_alone_it_may_not_do_under_surplus() -> None:
    made = planned(scattered(), in_one_rack(), gangs="Surplus")
    assert made.moves == []
    assert codes(made) == {"ELG027": 1}, "only the third is a candidate by itself"


@pytest.mark.parametrize(
    "limit",
    [
        {"movesPerCycle": 2},
        {"movesPerHour": 2},
        {"movesPerNode": 1},
        {"movesPerNamespace": 2},
    ],
    ids=lambda value: next(iter(value)),
)
def test_a_gang_that_is_greater_than_a_limit_is_never_begun(limit: dict[str, Any]) -> None:
    made = planned(scattered(), in_one_rack(), gangs="Whole", **limit)
    assert made.moves == []
    assert codes(made) == {"ELG030": 3}
    assert next(iter(limit)) in made.refused[0].message


def test_a_budget_that_does_not_allow_all_of_a_gang_holds_all_of_it() -> None:
    before = scattered()
    before.budgets.append(budget("ring", "ring", allowed=2, healthy=3))
    made = planned(before, in_one_rack(), gangs="Whole")
    assert made.moves == []
    assert codes(made) == {"BUD002": 3}
    before.budgets[0] = budget("ring", "ring", allowed=3, healthy=3)
    assert len(planned(before, in_one_rack(), gangs="Whole").moves) == 3


def test_one_member_that_may_not_move_holds_the_whole_gang() -> None:
    before = scattered()
    before.pods[2].metadata.annotations = {"rescheduler.io/opt-out": "true"}
    made = planned(before, in_one_rack(), gangs="Whole")
    assert made.moves == []
    assert "default/ring-2" in made.refused[0].message
    assert codes(made)["ELG011"] == 3


def test_a_gang_with_a_member_that_is_not_ready_is_not_complete() -> None:
    before = scattered()
    ready = before.pods[2].condition("Ready")
    assert ready is not None
    ready.status = "False"
    made = planned(before, in_one_rack(), gangs="Whole")
    assert made.moves == []
    assert codes(made) == {"ELG030": 2, "ELG006": 1}


def test_a_member_whose_eviction_was_asked_for_is_not_counted() -> None:
    before = crowded(least=3)
    going = PastMove(plan="p", podUid=before.pods[0].metadata.uid, namespace="default",
                     pod="ring-0", workload="another", source="r1-1", at=NOW)  # fmt: skip
    made = planned(before, over_racks(), history=History([going]), gangs="Surplus")
    assert made.moves == []


def test_a_gang_that_kueue_runs_is_left_to_it() -> None:
    for how in ("Surplus", "Whole"):
        before = crowded(least=1)
        before.controllers[0].metadata.labels = {"kueue.x-k8s.io/queue-name": "team"}
        made = planned(before, over_racks(), gangs=how)
        assert made.moves == []
        assert codes(made) == {"ELG029": 4}


def test_a_gang_of_which_a_part_is_another_gang_is_left_alone() -> None:
    lws = "leaderworkerset.sigs.k8s.io"
    for how, code in (("Surplus", "ELG027"), ("Whole", "ELG030")):
        before = crowded(least=1)
        for n, pod in enumerate(before.pods):
            pod.metadata.labels = {
                **(pod.metadata.labels or {}),
                f"{lws}/name": "llm",
                f"{lws}/group-index": str(n % 2),
            }
            pod.metadata.annotations = {f"{lws}/size": "2"}
        made = planned(before, over_racks(), gangs=how, movesPerWorkload=9)
        assert made.moves == []
        assert codes(made) == {code: 4}
        assert "another gang" in made.refused[0].message


def test_without_the_workloads_of_kueue_no_gang_is_moved() -> None:
    before = crowded(least=1)
    before.unread.append("Workload.kueue.x-k8s.io")
    for how in ("Surplus", "Whole"):
        made = planned(before, over_racks(), gangs=how)
        assert codes(made) == {"ELG029": 4}
        assert "Workload.kueue.x-k8s.io was not read" in made.refused[0].message


def test_without_the_workloads_of_kueue_what_waits_in_its_queues_is_a_gang() -> None:
    before = crowded(least=1)
    for pod in before.pods:
        pod.metadata.labels = {"app": "ring"}
    for owner in before.controllers:
        owner.metadata.labels = {"kueue.x-k8s.io/queue-name": "users"}
    assert planned(before, over_racks(groupBy="Workload"), gangs="Spare").moves
    before = replace(before, unread=["Workload.kueue.x-k8s.io"])
    for how, code in (("Spare", "ELG016"), ("Surplus", "ELG029"), ("Whole", "ELG029")):
        assert codes(planned(before, over_racks(groupBy="Workload"), gangs=how)) == {code: 4}


def test_without_the_workloads_of_kueue_it_may_run_any_job() -> None:
    """With `manageJobsWithoutQueueName` nothing at a Job or its pods says that Kueue runs it."""
    before = scattered()
    for pod in before.pods:
        pod.metadata.labels = {"app": "ring"}
        (pod.metadata.ownerReferences or [])[0].kind = "Job"
    for owner in before.controllers:
        owner.kind = "Job"
        owner.spec.podFailurePolicy = {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
        }
    limits = Limits.model_validate({"gangs": "Spare"})
    assert Eligibility(before, limits, History()).refusal(0) is None
    before = replace(before, unread=["Workload.kueue.x-k8s.io"])
    for how, code in (("Spare", "ELG016"), ("Surplus", "ELG029"), ("Whole", "ELG029")):
        limits = Limits.model_validate({"gangs": how})
        refusal = Eligibility(before, limits, History()).refusal(0)
        assert refusal is not None
        assert refusal.code == code


def test_under_whole_the_surplus_moves_alone() -> None:
    made = planned(crowded(least=2), over_racks(), gangs="Whole", movesPerWorkload=9)
    assert 0 < len(made.moves) <= 4
    assert_whole_or_spared(made, crowded(least=2))


def test_a_job_of_a_job_set_moves_with_its_gang_only() -> None:
    before = scattered()
    for controller in before.controllers:
        controller.kind = "Job"
    job = before.controllers[1]
    job.spec.podFailurePolicy = {
        "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    }
    above = OwnerReference(kind="JobSet", name="train", uid="train", controller=True)
    job.metadata.ownerReferences = [above]
    before.owners.append(Owner(kind="JobSet", metadata=ObjectMeta(name="train", uid="train")))
    for member in before.pods:
        (member.metadata.ownerReferences or [])[0].kind = "Job"
    assert len(planned(before, in_one_rack(), gangs="Whole").moves) == 3
    before.pods[0].metadata.labels = {"app": "ring"}
    limits = Limits.model_validate({"gangs": "Surplus"})
    refusal = Eligibility(before, limits, History()).refusal(0)
    assert refusal is not None
    assert refusal.code == "ELG015"


def assert_whole_or_spared(made: Plan, before: Snapshot) -> None:
    """What must hold for every plan: I17, and no member below a gang's minimum."""
    gangs = before.gangs
    groups: dict[str, set[int]] = {}
    batches: dict[int, set[str]] = {}
    alone: Counter[Gang] = Counter()
    for move in made.moves:
        pod = before.pod_index[move.pod.uid]
        batches.setdefault(move.batch, set()).add(move.group)
        if move.group:
            groups.setdefault(move.group, set()).add(pod)
        elif (gang := gangs.gang_of(pod)) is not None:
            alone[gang] += 1
    for members in groups.values():
        gang = gangs.gang_of(next(iter(members)))
        assert gang is not None
        assert members == set(gangs.facts(gang).members.tolist())
        assert len({m.batch for m in made.moves if before.pod_index[m.pod.uid] in members}) == 1
        assert len({m.mode for m in made.moves if before.pod_index[m.pod.uid] in members}) == 1
        assert alone[gang] == 0, "wholly in, or by its surplus; never both"
    jobset = {
        pod_object.metadata.uid
        for pod_object in before.pods
        if JOBSET in (pod_object.metadata.labels or {})
    }
    assert jobset & {m.pod.uid for m in made.moves} in (set(), jobset), "a JobSet needs all"
    for number, held in batches.items():
        assert len(held) == 1 or held == {""}, f"batch {number} holds {held}"
    for spared, count in alone.items():
        facts = gangs.facts(spared)
        size = len(facts.members)
        ready = sum(before.pods[pod].ready and not before.leaving[pod] for pod in facts.members)
        if size == 1 and facts.minimum in (None, 1):
            continue  # one pod is the whole gang
        assert facts.minimum is not None
        assert ready - count >= facts.minimum


@pytest.mark.long
def test_i17_no_plan_holds_a_part_of_a_gang_below_its_minimum() -> None:
    reached: Counter[str] = Counter()
    for seed in SEEDS:
        before, limits, policies, history = drawn(seed)
        made = plan(before, policy_set(policies, limits), history, mode="Enforce", seed=seed)
        assert_whole_or_spared(made, before)
        assert all(move.reasons for move in made.moves)
        reached["with its gang"] += "FEA014" in {r.code for m in made.moves for r in m.reasons}
        gangs = [m for m in made.moves if before.gangs.gang_of(before.pod_index[m.pod.uid])]
        if limits.gangs == "Spare":
            assert not gangs
        for gang in gangs:
            reached["group" if gang.group else "alone"] += 1
        going = {move.podUid for move in history.moves}
        assert not going & {move.pod.uid for move in made.moves}
        assert len(made.moves) <= 2 * int(limits.movesPerCycle)  # Enforce, and then Audit
    assert reached["group"] > len(SEEDS) / 10, reached
    assert reached["alone"] > len(SEEDS) / 10, reached
    assert reached["with its gang"] > len(SEEDS) / 100, reached


def test_a_gang_that_was_evaluated_leaves_the_budgets_as_they_were() -> None:
    before = scattered()
    copy = WorkingCopy(before, [in_one_rack()], Limits.model_validate(FREE | {"gangs": "Whole"}),
                       History())  # fmt: skip
    evaluator = Evaluator(copy)
    found = evaluator.evaluate((0, 1, 2))
    assert found.refusal is None
    made = copy.commit(found)
    assert copy.budgets.refusal(0, whole=True) is not None, "movesPerWorkload is 1"
    copy.take_back(made)
    again = evaluator.evaluate((0, 1, 2))
    assert again.refusal is None
    assert again.gain == pytest.approx(found.gain)
