"""What is worked out for many pods at once is what is worked out for each, on drawn clusters."""

from datetime import timedelta
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rescheduler.kube import annotations as names
from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Condition, Pod, Taint
from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.evaluation.evaluation import GainThreshold
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.planning.limits.disruption import Disruptions
from rescheduler.policies.limits import Limits
from rescheduler.policytest.object_builders import crash_looping
from rescheduler.sources.kubernetes.page_decoding import Sharing
from tests.cluster import NOW, READY, budget, controller, deployment, node, pod, snapshot
from tests.draws import tries

quick = settings(max_examples=tries(300), database=None)
KINDS = ("Deployment",) * 5 + ("StatefulSet", "Job", "Job", "DaemonSet", "Node", "")
STATES = ("plain",) * 6 + ("looping", "unready", "new", "leaving", "pending", "resizing", "early")
NOTES: list[dict[str, str]] = [
    {},
    {},
    {names.OPT_OUT: "true"},
    {names.DO_NOT_DISRUPT: "10m"},
    {names.DELETION_COST: "5000000"},
    {names.CHECKPOINT_INTERVAL: "20m"},
    {"pod-group.scheduling.sigs.k8s.io/name": "g"},
]
GANG = {"pod-group.scheduling.sigs.k8s.io": "g"}


def changed(made: Pod, state: str) -> Pod:
    """The pod in that state."""
    status, ready = made.status, made.status.conditions
    if state == "looping":
        made.status = crash_looping()
    elif state == "unready":
        status.conditions = [Condition(type="Ready", status="False")]
    elif state == "new":
        made.metadata.creationTimestamp = NOW - timedelta(seconds=30)
    elif state == "leaving":
        made.metadata.deletionTimestamp = NOW
    elif state == "pending":
        status.phase = "Pending"
    elif state == "resizing":
        status.conditions = [*(ready or ()), Condition(type="PodResizePending", status="True")]
    elif state == "early":
        status.startTime = NOW - timedelta(minutes=2)
        since = NOW - timedelta(seconds=100, microseconds=3)
        status.conditions = [Condition(type="Ready", status="True", lastTransitionTime=since)]
    return made


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Snapshot, History]:
    """Like pods and unlike ones, on nodes of which some refuse pods; some were moved before."""
    taints: list[list[Taint]] = [
        [],
        [],
        [Taint(key="maintenance", effect="NoExecute")],
        [Taint(key="karpenter.sh/disrupted", effect="NoSchedule")],
    ]
    nodes = []
    for number in range(3):
        nodes.append(node(f"n{number}"))
        nodes[-1].spec.taints = draw(st.sampled_from(taints))
    pods: list[Pod] = []
    controllers: list[Any] = []
    budgets = []
    sharing = Sharing()
    for app in ("web", "api")[: draw(st.integers(1, 2))]:
        kind, size = draw(st.sampled_from(KINDS)), draw(st.integers(1, 6))
        wanted = draw(st.sampled_from([1, 1, size]))
        owner: Controller | None
        if kind == "Deployment":
            top, owner = deployment(app, replicas=wanted)
            controllers += [top, owner]
        else:
            owner = controller(kind, app, replicas=wanted) if kind else None
            controllers += [owner] if owner is not None and kind != "Node" else []
        more: dict[str, Any] = draw(
            st.sampled_from(
                [{}, {}, {}, {"tolerations": [{"operator": "Exists"}]}, {"priority": 2_000_000_000}]
            )
        )
        labels = {"app": app} | draw(st.sampled_from([{}, {}, {}, GANG]))
        for number in range(size):
            place = draw(st.sampled_from(["n0", "n0", "n1", "n1", "n2", "n2", "gone"]))
            notes = draw(st.sampled_from(NOTES)) if draw(st.integers(0, 2)) == 2 else {}
            made = pod(
                f"{app}-{number}", place, owner=owner, labels=labels, annotations=notes, **more
            )
            pods.append(changed(made, draw(st.sampled_from(STATES))))
            pods[-1].spec.nodeName = place  # as the API server has it
            assert sharing.pod(pods[-1]) is None
        budgets += [budget(f"{app}-{n}", app) for n in range(draw(st.sampled_from([0, 0, 1, 2])))]
    whole = snapshot(nodes, pods, controllers=controllers, budgets=budgets)
    moved = draw(st.sets(st.integers(0, len(pods) - 1), max_size=2))
    return whole, History([past(whole, index) for index in sorted(moved)])


def past(before: Snapshot, index: int) -> PastMove:
    """That we asked for the pod's eviction before, long ago."""
    pod = before.pods[index]
    workload = int(before.pod_workload[index])
    return PastMove(
        plan="p", podUid=pod.metadata.uid, namespace="default", pod=pod.metadata.name,
        workload=before.workloads[workload].uid if workload >= 0 else "", source=pod.node,
        at=NOW - timedelta(days=20), state="ready", readySeconds=42.0,
    )  # fmt: skip


LIMITS = st.builds(
    lambda gangs, jobs, loops: Limits.model_validate(
        {
            "gangs": gangs,
            "jobs": jobs,
            "crashLooping": loops,
            "minReplicas": 1,
            "minReadyTime": "1m",
        }
    ),
    st.sampled_from(["Spare", "Surplus", "Whole"]),
    st.sampled_from(["Refuse", "Allow"]),
    st.sampled_from(["Refuse", "Allow"]),
)


def every_way() -> tuple[Snapshot, History]:
    """One workload with a pod in every state, with every annotation, on every kind of node."""
    nodes = [node("n0"), node("n1"), node("n2")]
    nodes[1].spec.taints = [Taint(key="maintenance", effect="NoExecute")]
    nodes[2].spec.taints = [Taint(key="karpenter.sh/disrupted", effect="NoSchedule")]
    top, owner = deployment("web", replicas=1)
    sharing, pods = Sharing(), list[Pod]()
    ways = product(dict.fromkeys(STATES), NOTES[1:], ("n0", "n1", "n2", "gone"), range(2))
    for number, (state, notes, place, _) in enumerate(ways):
        made = pod(f"web-{number}", owner=owner, labels={"app": "web"}, annotations=notes)
        made.spec.nodeName, made.status.phase = place, "Running"
        made.status.conditions = [msgspec.convert(READY, Condition)]
        pods.append(changed(made, state))
        assert sharing.pod(pods[-1]) is None
    whole = snapshot(nodes, pods, controllers=[top, owner])
    return whole, History([past(whole, index) for index in range(0, len(pods), 2)])


@pytest.mark.parametrize("loops", ["Refuse", "Allow"])
def test_pods_of_one_workload_are_refused_as_each_is_alone(loops: str) -> None:
    limits = {"crashLooping": loops, "minReplicas": 1, "minReadyTime": "1m", "gangs": "Surplus"}
    codes = refused_alike(*every_way(), Limits.model_validate(limits))
    assert {"", "ELG004", "ELG005", "ELG006", "ELG011", "ELG020", "ELG021", "ELG022"} < codes


@quick
@given(clusters(), LIMITS)
def test_every_pod_is_refused_as_it_is_alone(
    drawn: tuple[Snapshot, History], limits: Limits
) -> None:
    for code in refused_alike(*drawn, limits):
        event(code or "eligible")


def refused_alike(made: Snapshot, history: History, limits: Limits) -> set[str]:
    """Hold the answers for many pods against those for each; the codes, "" where none."""
    pods: IntArray = np.arange(len(made.pods), dtype=np.int32)
    eligibility, all_at_once = (Eligibility(made, limits, history) for _ in range(2))
    expected = {pod: why for pod in pods.tolist() if (why := eligibility.refusal(pod)) is not None}
    assert all_at_once.refusals(pods) == expected
    assert eligibility.refusals(pods[::-2]) == {
        pod: expected[pod] for pod in pods[::-2] if pod in expected
    }
    budgets = Budgets(made, limits, history)
    permanent = {pod: why for pod in pods.tolist() if (why := budgets.permanent(pod)) is not None}
    assert Budgets(made, limits, history).permanents(pods) == permanent
    return {expected[pod].code if pod in expected else "" for pod in pods.tolist()}


@quick
@given(clusters(), LIMITS)
def test_every_pod_disrupts_what_it_does_alone(
    drawn: tuple[Snapshot, History], limits: Limits
) -> None:
    made, history = drawn
    pods: IntArray = np.arange(len(made.pods), dtype=np.int32)
    disruption, learned = (
        Disruptions(made, Eligibility(made, limits, history), history) for _ in range(2)
    )
    learned.learn(pods)
    assert dict(learned) == {pod: disruption[pod] for pod in pods.tolist()}
    event(f"{len(set(learned.values()))} different")


@quick
@given(
    st.lists(st.sampled_from([-1.0, 0.0, 1e-9, 1e-10, 0.05, 0.1, 1.0, 3.7]), max_size=6),
    st.sampled_from([0.0, 0.1, 3.0]),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    st.sampled_from([0.0, 4.85]),
)
def test_the_gate_lets_pass_what_it_does_not_refuse(
    gains: list[float], margin: float, share: float, removable: float
) -> None:
    gate = GainThreshold(margin=margin, share=share, removable=removable, disruption=7.3)
    disruptions: FloatArray = 1.0 + 0.7 * np.arange(len(gains), dtype=np.float64)
    alone: list[Problem | None] = [
        gate.refusal(gain, disruption, landed=False)
        for gain, disruption in zip(gains, disruptions.tolist(), strict=True)
    ]
    passing = gate.pass_mask(np.array(gains, dtype=np.float64), disruptions)
    assert passing.tolist() == [problem is None for problem in alone]
