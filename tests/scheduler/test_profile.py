"""Profiles decide: each argument changes the landing as the scheduler's source says."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rescheduler.kube.objects import NodeAffinity, Pod, TopologySpreadConstraint
from rescheduler.scheduler.config.default_profile import default_profile, minor_of
from rescheduler.scheduler.config.scheduler_profile import with_gates
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.profile import ScoringStrategy
from tests.cases import every
from tests.cluster import controller, node, pod, snapshot

USUAL = default_profile("v1.36.3")
GPU = "nvidia.com/gpu"
ASKS = {"cpu": "500m", "memory": "1Gi"}


def where(nodes: Iterable[Any], pods: list[Pod], controllers: Any = (), **changed: Any) -> str:
    """The nodes where the last pod, which is Pending, may land under the changed profile."""
    made = snapshot(list(nodes), pods, controllers=list(controllers))
    profile = replace(USUAL, **changed)
    landing = SchedulerModel(made, {profile.name: profile}).landing(len(pods) - 1)
    assert landing.refusal is None, landing.refusal
    return " ".join(sorted(made.nodes[index].metadata.name for index in landing.nodes))


def newcomer(**spec: Any) -> Pod:
    return pod("new", requests=spec.pop("requests", ASKS), phase="Pending", **spec)


def full_and_empty() -> tuple[list[Any], list[Pod]]:
    busy = pod("busy", "full", requests={"cpu": "4", "memory": "16Gi"})
    return [node("full"), node("empty")], [busy, newcomer()]


def test_most_allocated_packs_and_least_allocated_spreads() -> None:
    assert where(*full_and_empty()) == "empty"
    assert where(*full_and_empty(), strategy=ScoringStrategy("MostAllocated")) == "full"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [(((0, 10), (100, 0)), "empty"), (((0, 0), (100, 10)), "full"), (((40, 0), (50, 1)), "full")],
)
def test_a_shape_of_its_own_decides(shape: Any, expected: str) -> None:
    resources = (("cpu", 1), ("memory", 1))
    strategy = ScoringStrategy("RequestedToCapacityRatio", resources, shape)
    assert where(*full_and_empty(), strategy=strategy) == expected


def test_an_extended_resource_counts_only_for_pods_that_ask_for_it() -> None:
    nodes = [node("used", allocatable={GPU: "4"}), node("free", allocatable={GPU: "4"})]
    holder = pod("q", "used", requests={GPU: "1"})
    by_gpu = ScoringStrategy("MostAllocated", ((GPU, 1),))
    asking = newcomer(requests={**ASKS, GPU: "1"})
    assert where(nodes, [holder, asking], strategy=by_gpu) == "used"
    # The holder takes default cpu and memory too, which only LeastAllocated minds here.
    assert where(nodes, [holder, newcomer()], strategy=by_gpu) == "free used"


def test_what_should_be_balanced_can_be_said() -> None:
    nodes = [node("a", allocatable={GPU: "8"}), node("b", allocatable={GPU: "2"})]
    asking = newcomer(requests={"cpu": "4", GPU: "1"})
    only = {"weights": {"NodeResourcesBalancedAllocation": 1}}
    assert where(nodes, [asking], **only) == "a b"
    assert where(nodes, [asking], balanced_resources=("cpu", GPU), **only) == "b"


def test_a_disabled_filter_rejects_nothing_and_a_score_counts_nothing() -> None:
    nodes, pods = full_and_empty()
    nodes[1] = node("empty", unschedulable=True)
    assert where(nodes, pods) == "full"
    assert where(nodes, pods, filters=USUAL.filters - {"NodeUnschedulable"}) == "empty"
    assert where(*full_and_empty(), weights={"ImageLocality": 1}) == "empty full"


def test_without_any_score_the_first_feasible_node_of_the_scan_is_taken() -> None:
    nodes = [node(name) for name in "abc"]
    made = snapshot(nodes, [newcomer()])
    model = SchedulerModel(made, {USUAL.name: replace(USUAL, weights={})})
    assert model.landing(0).probabilities.tolist() == pytest.approx([1 / 3] * 3)
    nodes[1] = node("b", unschedulable=True)
    made = snapshot(nodes, [newcomer()])
    landing = SchedulerModel(made, {USUAL.name: replace(USUAL, weights={})}).landing(0)
    reported = (landing.nodes.tolist(), landing.probabilities.tolist())
    chances = {nodes[i].metadata.name: p for i, p in zip(*reported, strict=True)}
    # A scan that starts at `b` goes on to `c`.
    assert chances == pytest.approx({"a": 1 / 3, "c": 2 / 3})


def test_weights_decide_between_plugins() -> None:
    nodes, pods = full_and_empty()
    nodes[1] = node("empty", taints=[{"key": "k", "value": "", "effect": "PreferNoSchedule"}])
    assert where(nodes, pods) == "full"
    weights = {"TaintToleration": 1, "NodeResourcesFit": 20}
    assert where(nodes, pods, weights=weights) == "empty"


def test_resources_that_the_filter_ignores() -> None:
    pods = [newcomer(requests={**ASKS, "example.com/card": "1"})]
    assert where([node("a")], pods) == ""
    assert where([node("a")], pods, ignored_resources=frozenset({"example.com/card"})) == "a"
    assert where([node("a")], pods, ignored_groups=frozenset({"example.com"})) == "a"


def test_added_affinity_holds_for_every_pod() -> None:
    def affinity(kind: str) -> NodeAffinity:
        term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        given = {
            "required": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
            },
            "preferred": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": term}
                ]
            },
        }
        return msgspec.convert(given[kind], NodeAffinity)

    nodes, pods = full_and_empty()
    nodes[0] = node("full", labels={"disk": "ssd"})
    assert where(nodes, pods, added_affinity=affinity("required")) == "full"
    assert where(nodes, pods, added_affinity=affinity("preferred")) == "full"
    pods[-1] = newcomer(nodeSelector={"disk": "hdd"})
    made = snapshot(nodes, pods)
    profile = replace(USUAL, added_affinity=affinity("required"))
    reported = SchedulerModel(made, {USUAL.name: profile}).rejections(1)
    assert {rejection.reason: rejection.nodes.tolist() for rejection in reported} == {
        "node(s) didn't match scheduler-enforced node affinity": [False, True],
        "node(s) didn't match Pod's node affinity/selector": [True, False],
    }
    assert where(nodes, pods, added_affinity=affinity("required")) == ""


def constraint(action: str) -> tuple[TopologySpreadConstraint, ...]:
    key = "topology.kubernetes.io/zone"
    return (TopologySpreadConstraint(maxSkew=1, topologyKey=key, whenUnsatisfiable=action),)


@pytest.mark.parametrize("action", ["DoNotSchedule", "ScheduleAnyway"])
def test_default_constraints_of_ones_own_spread_by_the_owners_selector(action: str) -> None:
    web = controller("ReplicaSet", "web")
    nodes = [node("a", zone="x"), node("b", zone="y"), node("nowhere")]
    filler = [pod(f"f{i}", "b", requests={"cpu": "1", "memory": "4Gi"}) for i in range(3)]
    ours: Any = {"owner": web, "labels": {"app": "web"}}
    pods = [*filler, pod("w", "a", **ours), pod("new", phase="Pending", **ours)]
    spread = {"default_constraints": constraint(action), "filters": USUAL.filters}
    only = {"weights": {"PodTopologySpread": 2, "NodeResourcesFit": 1}}
    assert where(nodes, pods, [web], **spread, **only) == "b"
    assert where(nodes, pods, [web], default_constraints=(), **only) == "nowhere"


def test_what_running_pods_want_counts_as_the_arguments_say() -> None:
    def term(name: str, weight: int | None = None) -> Any:
        preference = {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "new"}},
        }
        if weight is None:
            rules: Any = {"requiredDuringSchedulingIgnoredDuringExecution": [preference]}
        else:
            soft = [{"weight": weight, "podAffinityTerm": preference}]
            rules = {"preferredDuringSchedulingIgnoredDuringExecution": soft}
        return pod(name, name, affinity={"podAffinity": rules}, requests={"cpu": "1"})

    nodes = [node("hard"), node("soft"), node("empty")]
    pods = [term("hard"), term("soft", 10), newcomer(labels={"app": "new"})]
    only = {"weights": {"InterPodAffinity": 1}}
    assert where(nodes, pods, **only) == "soft"
    assert where(nodes, pods, hard_pod_affinity_weight=50, **only) == "hard"
    ignoring = {"ignore_preferred_terms": True, "hard_pod_affinity_weight": 50}
    # All of the running pods' terms are left out then, the required ones too.
    assert where(nodes, pods, **ignoring, **only) == "empty hard soft"


def test_schedulers_side_by_side_each_place_their_own_pods() -> None:
    nodes, [busy, mine] = full_and_empty()
    other = pod("other", requests=ASKS, phase="Pending", schedulerName="packer")
    third = pod("third", requests=ASKS, phase="Pending", schedulerName="nobody")
    made = snapshot(nodes, [busy, mine, other, third])
    packer = replace(USUAL, name="packer", strategy=ScoringStrategy("MostAllocated"))
    model = SchedulerModel(made, {USUAL.name: USUAL, "packer": packer})
    assert model.landing(1).nodes.tolist() == [1]
    assert model.landing(2).nodes.tolist() == [0]
    refusal = model.landing(3).refusal
    assert refusal is not None
    assert refusal.code == "ELG018"
    assert "nobody" in refusal.message


def test_a_scheduler_with_a_problem_predicts_nothing_and_says_why() -> None:
    nodes, pods = full_and_empty()
    made = snapshot(nodes, pods)
    odd = replace(USUAL, problem="its plugin Coscheduling is not modelled")
    refusal = SchedulerModel(made, {USUAL.name: odd}).landing(1).refusal
    assert refusal is not None
    assert refusal.code == "FEA005"
    assert "Coscheduling" in refusal.message


def test_pods_that_ask_for_what_an_extender_decides_on_are_refused() -> None:
    nodes = [node("a", allocatable={GPU: "8"})]
    beyond = replace(USUAL, beyond_us={GPU: "the extender http://x may decide where it goes"})
    made = snapshot(nodes, [newcomer(), newcomer(requests={GPU: "1"})])
    model = SchedulerModel(made, {USUAL.name: beyond})
    assert model.landing(0).refusal is None
    refusal = model.landing(1).refusal
    assert refusal is not None
    assert "http://x" in refusal.message


def test_gates_switch_what_is_modelled_and_stop_what_is_not() -> None:
    off = with_gates(USUAL, {"NodeDeclaredFeatures": False, "SomethingElse": True})
    assert not off.declared_features
    assert "NodeDeclaredFeatures" not in off.filters
    assert with_gates(USUAL, {"StorageCapacityScoring": True}).capacity_scoring
    odd = with_gates(USUAL, {"TaintTolerationComparisonOperators": True})
    assert "TaintTolerationComparisonOperators is on" in odd.problem
    assert with_gates(USUAL, {"PodLevelResources": True}) == USUAL
    assert "is off" in with_gates(USUAL, {"PodLevelResources": False}).problem


@every([("v1.36.3", 36), ("1.34.4-gke.1", 34), ("1.40", 40), ("v1.20.0", None), ("2.36", None)])
def test_versions(version: str, minor: int | None) -> None:
    assert minor_of(version) == minor
