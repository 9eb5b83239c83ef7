"""The nodes that replacements are steered to, and what that does to plans."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan, PlannedMove
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.explain.pod_verdicts import PodVerdicts
from rescheduler.planning.plan.planner import plan
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.planning.plan.unsteered_moves import count_unsteered
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.model import SchedulerModel
from tests import cluster
from tests.planning.evaluation.steered import FREE, steered
from tests.planning.scenarios import coming_back, gpu_below, hot_gpus
from tests.planning.world import World


@pytest.fixture(autouse=True)
def some_short_plans(request: pytest.FixtureRequest) -> None:
    """What is proposed together is tried with the means that only prefer nodes."""
    means = getattr(request.node, "callspec", None)
    if means is None or means.params.get("strength") != "Prefer":
        request.getfixturevalue("short_plans")


def loops(world: World) -> tuple[int, list[str]]:
    """Plan and act until nothing is planned: how many moved, and the plans' landings."""
    evictions, landed = 0, []
    for _ in range(20):
        made = world.plan()
        if not made.moves:
            break
        for move, node in world.apply(made):
            evictions += 1
            landed.append(node)
            assert node != move.source
    return evictions, landed


MEANS = [
    ("AdmissionPolicy", "Prefer"),
    ("AdmissionPolicy", "Require"),
    ("Webhook", "Require"),
    ("SoftTaint", "Prefer"),
]


@pytest.mark.parametrize(("by", "strength"), MEANS)
def test_steered_hot_nodes_need_the_least_number_of_evictions(by: str, strength: str) -> None:
    world = hot_gpus(limits=steered(by, strength))
    evictions, _ = loops(world)
    assert evictions == 20
    assert max(world.loads().values()) <= 0.5


@pytest.mark.parametrize(("by", "strength"), MEANS)
def test_what_the_scheduler_likes_best_is_left_where_replacements_are_told(
    by: str, strength: str
) -> None:
    assert not coming_back().plan().moves, "without steering each of them would come back"
    world = coming_back(limits=steered(by, strength))
    evictions, _ = loops(world)
    assert evictions == 15
    assert max(world.loads().values()) <= 0.5


def one_plan(**steering: Any) -> tuple[World, Plan]:
    world = coming_back(limits=steered(**steering))
    return world, world.plan()


def test_a_plan_names_steered_nodes_and_unsteered_landings() -> None:
    _, made = one_plan(strength="Require")
    assert len(made.moves) == 7
    for move in made.moves:
        assert move.steered is not None
        assert move.steered.by == "AdmissionPolicy"
        assert len(move.steered.nodes) >= 2, "one node alone may become full"
        assert move.source not in move.steered.nodes
        assert {share.node for share in move.landing} <= set(move.steered.nodes)
        assert move.unsteered
        assert move.unsteered[0].node in {"n1", "n2", "n3", "n4", "n5"}


def test_a_policy_says_it_otherwise_than_the_limits() -> None:
    world = coming_back(limits=steered())
    world.policies = [gpu_below(steering={"by": "None"})]
    assert not world.plan().moves
    world = coming_back(limits=FREE)
    world.policies = [gpu_below(steering={"by": "Webhook", "strength": "Require"})]
    made = world.plan()
    assert {m.steered.by for m in made.moves if m.steered} == {"Webhook"}


def test_a_policy_that_moves_only_what_is_steered_moves_nothing_without() -> None:
    world = hot_gpus(limits=FREE)
    assert world.plan().moves
    world.policies = [gpu_below(onlyIfSteered=True)]
    made = world.plan()
    assert not made.moves
    assert "FEA011" in {refusal.code for refusal in made.refused}
    world.limits = steered()
    made = world.plan()
    assert made.moves
    assert all(move.steered for move in made.moves)


def test_what_is_never_moved_unsteered_is_not_put_off_to_a_later_cycle() -> None:
    """Nothing steers: no cycle will ever move these pods, also where this plan is full."""
    full = FREE.model_copy(update={"movesPerCycle": 1})
    world = hot_gpus(limits=full)
    assert "PAC001" in {refusal.code for refusal in world.plan().refused}
    other = gpu_below("50%", name="other", match={"labels": {"matchLabels": {"app": "train-0"}}})
    world.policies = [gpu_below(onlyIfSteered=True), other]
    made = world.plan()
    assert len(made.moves) == 1
    said = {refusal.code: refusal for refusal in made.refused}
    assert {refusal.code for refusal in made.refused if "train-1" in refusal.pod.name} == {"FEA011"}
    assert said["FEA011"].message == "hot-gpu: moves only what is steered, and nothing is steered"


def test_steering_that_brings_nothing_is_left_out() -> None:
    unsteered = hot_gpus(limits=FREE).plan()
    made = hot_gpus(limits=steered()).plan()
    first = unsteered.moves[0]
    assert any(move.steered is None for move in made.moves)
    assert first.pod.uid in {move.pod.uid for move in made.moves}


def recheck(world: World, made: Plan, move: PlannedMove) -> PlannedMove | Any:
    fresh = WorkingCopy(world.snapshot, world.policies, world.limits, History(), plan=made.id)
    return Recheck(fresh).check(move)


def test_a_move_keeps_its_nodes_as_long_as_they_are_good() -> None:
    world, made = one_plan(strength="Require")
    again = recheck(world, made, made.moves[0])
    assert isinstance(again, PlannedMove)
    assert again.steered is not None
    assert made.moves[0].steered is not None
    assert set(again.steered.nodes) == set(made.moves[0].steered.nodes)


def test_a_move_is_told_other_nodes_when_its_own_are_cordoned() -> None:
    world, made = one_plan(strength="Require")
    move = made.moves[0]
    assert move.steered is not None
    nodes = list(world.snapshot.nodes)
    for name in move.steered.nodes[1:]:
        number = world.snapshot.node_index[name]
        spec = msgspec.structs.replace(nodes[number].spec, unschedulable=True)
        nodes[number] = msgspec.structs.replace(nodes[number], spec=spec)
    world.snapshot = replace(world.snapshot, nodes=nodes)
    world.measure()
    again = recheck(world, made, move)
    assert isinstance(again, PlannedMove), again
    assert again.steered is not None
    assert not set(move.steered.nodes[1:]) & set(again.steered.nodes)
    assert len(again.steered.nodes) >= 2


def test_a_move_that_was_planned_unsteered_is_not_steered_later() -> None:
    world = hot_gpus(limits=FREE)
    made = world.plan()
    world.limits = steered()
    again = recheck(world, made, made.moves[0])
    assert isinstance(again, PlannedMove)
    assert again.steered is None


def test_a_move_that_taints_steer_is_checked_with_them() -> None:
    world, made = one_plan(by="SoftTaint")
    move = made.moves[0]
    again = recheck(world, made, move)
    assert isinstance(again, PlannedMove)
    assert again.steered == move.steered
    assert again.steered is not None
    assert move.source in again.steered.shunned
    assert {share.node for share in again.landing} == {share.node for share in move.landing}


def told(*schedulers: Scheduler, strength: str, nodes: int = 40) -> set[str]:
    """How replacements are told by an extender, on so many nodes and by these schedulers."""
    world = coming_back(limits=steered(by="Extender", strength=strength))
    more = [cluster.node(f"closed-{number}") for number in range(nodes - len(world.snapshot.nodes))]
    for node in more:
        node.spec.unschedulable = True
    world.snapshot = replace(world.snapshot, nodes=[*world.snapshot.nodes, *more])
    world.measure()
    given = policy_set(world.policies, world.limits, schedulers)
    made = plan(world.snapshot, given, History(), mode="Enforce")
    return {move.steered.strength for move in made.moves if move.steered}


@pytest.mark.parametrize(
    ("nodes", "percentage", "required"),
    [(40, 0, True), (100, 0, True), (101, 0, False), (120, 99, False), (120, 100, True)],
)
def test_an_extender_can_require_only_where_all_nodes_are_looked_at(
    nodes: int, percentage: int, required: bool
) -> None:
    """It is asked about the nodes that were sampled, of which it must leave one."""
    declared = Scheduler(name="declared", percentageOfNodesToScore=percentage)
    assert told(declared, strength="Require", nodes=nodes) == ({"Require"} if required else set())
    assert told(declared, strength="Prefer", nodes=nodes) == {"Prefer"}


URL = "http://rescheduler-extender.rescheduler.svc:8888"


def asking(name: str, harmless: bool = True, **extender: Any) -> Scheduler:
    """A scheduler of this name that asks an extender."""
    given = {"urlPrefix": URL, "weight": 2, "ignorable": True, **extender}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": name}],
        "extenders": [given] if extender else [],
    }
    return Scheduler.model_validate(
        {
            "name": f"{name}-document",
            "harmlessExtenders": [URL] if harmless else [],
            "configuration": configuration,
        }
    )


BOTH: dict[str, Any] = {"filterVerb": "filter", "prioritizeVerb": "prioritize"}
RACK: dict[str, Any] = {"managedResources": [{"name": "example.com/rack"}]}
OURS = "default-scheduler"


@pytest.mark.parametrize(
    ("schedulers", "require", "prefer"),
    [
        ([], True, True),
        ([Scheduler(name="undeclared")], True, True),
        ([asking(OURS, **BOTH)], True, True),
        ([asking(OURS, filterVerb="filter")], False, False),
        ([asking(OURS, prioritizeVerb="prioritize")], False, True),
        ([asking(OURS, **BOTH, **RACK)], False, False),
        ([asking(OURS)], False, False),
        ([asking("own", **BOTH)], False, False),
        ([asking("own")], True, True),
        ([asking("own", **BOTH), Scheduler(name="any", harmlessExtenders=[URL])], True, True),
        ([asking("own", **BOTH), asking(OURS, **BOTH)], True, True),
    ],
)
def test_an_extender_steers_only_pods_whose_scheduler_asks_it(
    schedulers: list[Scheduler], require: bool, prefer: bool
) -> None:
    assert told(*schedulers, strength="Require") == ({"Require"} if require else set())
    assert told(*schedulers, strength="Prefer") == ({"Prefer"} if prefer else set())


def test_no_node_is_tainted_to_which_it_goes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node n6 is not as good as n9, but what the scheduler likes in it weighs more than a taint."""
    world = coming_back(limits=steered(by="SoftTaint", strength="Prefer"))
    copy = WorkingCopy(world.snapshot, world.policies, world.limits, History())
    chooser, pod = Evaluator(copy).chooser, 0
    unsteered = copy.landing(pod)
    there = replace(
        unsteered,
        nodes=np.array([5], dtype=np.int32),
        probabilities=np.array([1.0]),
        returns=0.0,
    )
    monkeypatch.setattr(SchedulerModel, "landing", lambda *_: there)
    nodes = np.array([8, 5], dtype=np.int32)
    found = chooser._choose_taints(
        pod, "SoftTaint", nodes, np.array([1.0, 0.5]), unsteered, helps=False
    )
    assert found is not None
    assert found.steer.tainted is not None
    assert np.flatnonzero(found.steer.tainted).tolist() == [copy.snapshot.pod_node[pod]]


@pytest.mark.parametrize(("by", "gangs"), [("SoftTaint", False), ("AdmissionPolicy", True)])
def test_no_node_is_tainted_for_a_gang_that_is_replaced_at_one_time(by: str, gangs: bool) -> None:
    world = coming_back(limits=steered(by=by, strength="Prefer"))
    copy = WorkingCopy(world.snapshot, world.policies, world.limits, History())
    chooser, pods = Evaluator(copy).chooser, range(len(world.snapshot.pods))
    chosen = [chooser.choose(pod, copy.landing(pod), whole=True) for pod in pods]
    alone = [chooser.choose(pod, copy.landing(pod), whole=False) for pod in pods]
    assert (any(chosen), any(alone)) == (gangs, True)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_no_more_nodes_are_tainted_than_the_limits_say(most: int) -> None:
    world = coming_back(limits=steered(by="SoftTaint", strength="Prefer", taintedNodes=most))
    told = [move.steered.shunned for move in world.plan().moves if move.steered]
    assert max(map(len, told), default=0) <= most


def test_the_nodes_that_are_tainted_come_by_name_however_nodes_are_listed() -> None:
    world = coming_back(limits=steered(by="SoftTaint", strength="Prefer"))
    listed = list(reversed(world.snapshot.nodes))
    turned = World(replace(world.snapshot, nodes=listed), world.policies, world.limits, world.use)
    for variant in (world, turned):
        told = [move.steered.shunned for move in variant.plan().moves if move.steered]
        assert max(map(len, told), default=0) > 1
        assert told == [sorted(names) for names in told]


def test_an_explanation_names_steered_nodes_and_unsteered_landings() -> None:
    world = coming_back(limits=steered(strength="Require"))
    move = world.plan().moves[0]
    assert move.steered is not None
    copy = WorkingCopy(world.snapshot, world.policies, world.limits, History())
    verdict = PodVerdicts(copy).verdict_of(world.snapshot.pod_index[move.pod.uid])
    told = ", ".join(move.steered.nodes[:3])
    assert f"steered to {told} and 1 more (Require by AdmissionPolicy)" in verdict.message
    assert "else expected on n" in verdict.message


def test_a_plan_counts_why_moves_are_not_steered() -> None:
    assert hot_gpus(limits=FREE).plan().totals.unsteered == {}
    made = hot_gpus(limits=steered()).plan()
    without = sum(move.steered is None for move in made.moves)
    assert without
    assert made.totals.unsteered == {"": without}, "steering them would gain nothing"


def test_who_names_its_node_is_counted_by_that() -> None:
    world = hot_gpus(limits=steered())
    copy = WorkingCopy(world.snapshot, world.policies, world.limits, History())
    pod = world.snapshot.pods[0]
    pod.spec.nodeSelector = {"kubernetes.io/hostname": "n1"}
    move = Evaluation(0, 0, gains={"hot-gpu": 1.0})
    assert count_unsteered(copy, [move]) == {"ELG031": 1}
    assert count_unsteered(copy, [replace(move, gains={})]) == {}, "nothing that steers gains by it"
