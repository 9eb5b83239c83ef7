"""Measuring knows no kind of policy: each one's own readings and terms decide."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rescheduler.model.cluster.readings import DeviceValue, Reading, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gains import Baseline
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import LandingShare, OwnerRef, PlannedMove, PodRef
from rescheduler.model.problem import Problem
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.counterfactual import undo_moves
from rescheduler.planning.measure.measuring import measure
from rescheduler.planning.measure.move_groups import groups
from rescheduler.planning.measure.selected_nodes import SelectedNodes
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.health.policy import Health, Signs
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policies.utilization.targets import PressedTarget, Targets
from tests.cases import every
from tests.cluster import NOW, deployment, node, pod, snapshot
from tests.planning.measure.laboratory import EVEN, Laboratory

ALL: Any = {"all": True}
LATER = NOW + timedelta(hours=1)

PACK = Utilization(
    name="even",
    nodes=ALL,
    match=ALL,
    strategy="Pack",
    cold=0.3,
    targets=Targets(cpu=PressedTarget(high=0.8, low=0.7)),
)
ZONES = Spread(name="zones", match=ALL, topologyKey="topology.kubernetes.io/zone", maxSkew=1)


def test_emptying_a_cold_node_brings_what_it_promised() -> None:
    lab = Laboratory(policies=[PACK])
    move = emptied(lab)
    assert move.gains["even"] == pytest.approx(1.0, abs=0.01)
    lab.wait()
    lab.measure()
    assert move.gain is not None
    assert move.gain.promised["even"] == pytest.approx(1.0, abs=0.05)
    assert move.gain.measured["even"] == pytest.approx(1.0, abs=0.05)


def test_a_landing_that_is_cold_itself_is_not_charged_for_what_it_takes() -> None:
    lab = Laboratory(policies=[PACK])
    move = lab.move("pod-default-p12-0", "n13")
    move.gains = {"even": 1.0}
    lab.wait()
    lab.measure()
    assert move.gain is not None
    assert move.gain.promised["even"] == pytest.approx(1.0, abs=0.05)
    assert move.gain.measured["even"] == pytest.approx(1.0, abs=0.05)


def warm(lab: Laboratory) -> None:
    """No node but n12 is cold."""
    for number in range(13, 24):
        lab.base[f"n{number}"] = lab.use[f"pod-default-p{number}-0"] = 2.2


def emptied(lab: Laboratory) -> PastMove:
    """The pod of the only cold node n12 goes to n13."""
    warm(lab)
    return lab.move("pod-default-p12-0", "n13")


def come(lab: Laboratory, cores: float, *, made: timedelta, started: timedelta) -> None:
    """A pod of another workload has come to n12."""
    new = pod("new", "n12", owner=lab.controllers[5])
    metadata = structs.replace(new.metadata, creationTimestamp=lab.now + made)
    status = structs.replace(new.status, startTime=lab.now + started)
    lab.pods.append(structs.replace(new, metadata=metadata, status=status))
    lab.use[new.metadata.uid] = cores


@pytest.mark.parametrize("cores", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("made", [-60, 1])
def test_a_node_that_is_filled_again_is_not_free(cores: float, made: int) -> None:
    lab = Laboratory(policies=[PACK])
    move = emptied(lab)
    come(lab, cores, made=timedelta(minutes=made), started=timedelta(minutes=1))
    lab.wait()
    lab.measure()
    assert move.gain is not None
    assert move.gain.neutral == []
    assert move.gain.promised["even"] == pytest.approx(1.0, abs=0.05)
    assert move.gain.measured["even"] <= 0.05


def test_a_node_that_is_not_empty_yet_is_nearer_to_it_by_one_pod() -> None:
    lab = Laboratory(policies=[PACK])
    ago = timedelta(minutes=-60)
    come(lab, 0.1, made=ago, started=ago)
    move = emptied(lab)
    lab.wait()
    lab.measure()
    assert move.gain is not None
    assert move.gain.promised["even"] == pytest.approx(1.0, abs=0.05)
    assert move.gain.measured["even"] == pytest.approx(1.0, abs=0.05)


def test_a_freed_node_that_is_removed_is_what_was_promised() -> None:
    lab = Laboratory(policies=[PACK])
    move = emptied(lab)
    lab.nodes = [node for node in lab.nodes if node.metadata.name != "n12"]
    lab.wait(1)
    lab.measure()
    assert move.gain is not None
    assert move.gain.problem == ""
    assert move.gain.promised == move.gain.measured == {"even": pytest.approx(1.0, abs=0.05)}
    (counted,) = lab.history.gains_of("even").pairs
    assert counted.moves == 1
    assert counted.measured == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("policy", [PACK, EVEN])
def test_a_hot_node_that_is_removed_tells_nothing(policy: Utilization) -> None:
    lab = Laboratory(policies=[policy])
    warm(lab)
    move = lab.move("pod-default-p0-0", "n13")
    for pod_object in lab.pods:
        pod_object.node = "n14" if pod_object.node == "n0" else pod_object.node
    lab.nodes = [node for node in lab.nodes if node.metadata.name != "n0"]
    lab.wait()
    lab.measure()
    assert move.gains["even"] > 0
    assert move.gain is not None
    assert move.gain.problem == "node n0 is gone"
    assert move.gain.measured == {}


def skewed(places: list[str]) -> Snapshot:
    top, owner = deployment("web", replicas=4)
    nodes = [node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="b")]
    pods = [
        pod(f"web-{number}", place, owner=owner, labels={"app": "web"})
        for number, place in enumerate(places)
    ]
    return snapshot(nodes, pods, controllers=[top, owner])


def past(landed: str, **fields: Any) -> PastMove:
    values: dict[str, Any] = {
        "plan": "p",
        "batch": 1,
        "podUid": "old",
        "namespace": "default",
        "pod": "old",
        "workload": "w",
        "source": "n1",
        "at": NOW,
        "settled": NOW,
        "state": "ready",
        "gains": {"zones": 1.0},
        "landing": {"n2": 0.5, "n3": 0.5},
        "replacement": "pod-default-web-3",
        "landedOn": landed,
        **fields,
    }
    return PastMove(**values)


def measured(seen: Snapshot, policies: list[Policy], move: PastMove, **kept: Any) -> PastMove:
    baseline = kept.pop("baseline", Baseline(plan="p", batch=1, at=NOW))
    history = History(moves=[move], baselines=[baseline])
    measure(replace(seen, taken=LATER), policy_set(policies), history)
    return move


def test_where_only_places_count_the_gain_is_exact() -> None:
    move = measured(skewed(["n1", "n1", "n1", "n2"]), [ZONES], past("n2"))
    assert move.gain is not None
    assert move.gain.measured == {"zones": pytest.approx(1.0)}
    assert move.gain.promised == {"zones": pytest.approx(1.0)}


def test_where_only_places_count_a_wrong_landing_is_no_gain() -> None:
    move = measured(skewed(["n1", "n1", "n1", "n1"]), [ZONES], past("n1"))
    assert move.gain is not None
    assert move.gain.measured == {"zones": pytest.approx(0.0)}
    assert move.gain.promised == {"zones": pytest.approx(1.0)}


def test_where_the_skew_has_gone_by_itself_a_move_counts_for_nothing() -> None:
    move = measured(skewed(["n2", "n2", "n2", "n3"]), [ZONES], past("n3"))
    assert move.gain is not None
    assert move.gain.neutral == ["zones"]


SICK = Health(name="sick", nodes=ALL, match=ALL, action="Drain", signs=Signs(xid=True))


def broken(on: str, uid: str, value: float, *users: int) -> Snapshot:
    """Four nodes of 8 GPUs, of which g1 has the broken one; users: of it. train-1 has another."""
    _, owner = deployment("train", replicas=2)
    nodes = [node(f"g{number}", allocatable={"nvidia.com/gpu": "8"}) for number in range(1, 5)]
    asked = {"nvidia.com/gpu": "1"}
    pods = [
        pod("train-0", on, owner=owner, requests=asked),
        pod("train-1", "g1", owner=owner, requests=asked),
    ]
    pods[0].metadata = structs.replace(pods[0].metadata, uid=uid)
    (request,) = SICK.requests()
    reading = Reading(
        request=request,
        unit="ratio",
        values=np.array([value, 0.0, 0.0, 0.0]),
        ages=np.full(4, 10.0),
        expected=np.ones(4, dtype=np.bool_),
        devices=(DeviceValue(0, "GPU-0", value, "0", users), DeviceValue(0, "GPU-1", 0, "1", (1,)))
        if value
        else (),
    )
    return replace(snapshot(nodes, pods, controllers=[owner]), readings=Readings((reading,)))


def drain(gain: float) -> PlannedMove:
    """Of train-0 from the broken device."""
    return PlannedMove(
        pod=PodRef(namespace="default", name="train-0", uid="old"),
        owner=OwnerRef(kind="ReplicaSet", name="train", uid="w"),
        source="g1",
        landing=[LandingShare(node="g2", probability=1.0)],
        returns=0.0,
        unschedulable=0.0,
        gain=gain,
        disruption=1.0,
        batch=1,
    )


def with_other(seen: Snapshot, value: float, *users: int) -> Snapshot:
    """With that value of the device that is train-1's."""
    (found,) = seen.readings.entries
    devices = (*found.devices[:1], DeviceValue(0, "GPU-1", value, "1", users))
    return replace(seen, readings=Readings((replace(found, devices=devices),)))


@pytest.mark.parametrize("ended", [False, True])
def test_a_device_whose_pods_have_all_ended_is_as_it_is_now(ended: bool) -> None:
    before = with_other(broken("g1", "old", 1.0, 0), 0.7, 1)
    baseline = baseline_of(before, History(), [drain(1.0)], "p", [SICK])
    after = with_other(broken("g2", "new", 0.5), 0.2, *[] if ended else [1])
    after = replace(after, taken=LATER, pods=after.pods[: 1 if ended else 2])
    made = past("g2", source="g1", replacement="new", gains={"sick": 1.0})
    history = History(moves=[made], baselines=[baseline])
    found = groups(history, after, {"sick": SICK}, Limits())
    (reading,) = undo_moves(
        after, found, history, SelectedNodes.of_policy(SICK, after)
    ).readings.entries
    assert [(device.device, device.value) for device in reading.devices] == [
        ("GPU-0", 1.0),
        ("GPU-1", 0.2 if ended else 0.7),
    ]


@every([(True, (), 0.5), (True, (0.9, 0.1), 0.9), (True, (0.2, 0.8), 0.2), (False, (), 1.0)])
def test_pods_that_ended_take_their_part_of_a_shared_device_along(
    load: bool, used: tuple[float, ...], expected: float
) -> None:
    """Of its load, and not of a sign of it."""
    device = shared(load, [0, 1], used, ended=True)
    assert device.value == pytest.approx(expected)
    assert device.pods == (0,)


def test_a_pod_that_came_to_a_shared_device_brings_its_load() -> None:
    device = shared(True, [0, 1], (0.3, 0.3), ended=False, came=0.3)
    assert device.value == pytest.approx(0.9)


def shared(
    load: bool, users: list[int], used: tuple[float, ...], *, ended: bool, came: float = 0.0
) -> DeviceValue:
    """The broken device as it would be without the move of train-0 from it.

    load: whether its value is a load. used: what each user adds to it. ended: whether train-1 has
    ended since. came: what a pod that came to it since adds.
    """

    def seen(snapshot: Snapshot) -> Snapshot:
        (found,) = snapshot.readings.entries
        capacity = np.full(4, 8.0) if load else None
        return replace(snapshot, readings=Readings((replace(found, capacity=capacity),)))

    def with_users(snapshot: Snapshot, users: list[int], used: tuple[float, ...]) -> Snapshot:
        (found,) = snapshot.readings.entries
        first = replace(found.devices[0], pods=tuple(users), used=used)
        return replace(snapshot, readings=Readings((replace(found, devices=(first,)),)))

    value = sum(used) or 1.0
    before = with_users(seen(broken("g1", "old", value, 0)), users, used)
    baseline = baseline_of(before, History(), [drain(1.0)], "p", [SICK])
    after = replace(seen(broken("g2", "new", 0.5)), taken=LATER)
    pods = after.pods[: 1 if ended else 2]
    if came:
        new = pod("late", "g1", owner=after.controllers[0])
        new.metadata = structs.replace(new.metadata, creationTimestamp=NOW + timedelta(minutes=1))
        pods = [*pods, new]
        after = with_users(after, [len(pods) - 1], (came,))
    after = replace(after, pods=pods)
    made = past("g2", source="g1", replacement="new", gains={"sick": 1.0})
    history = History(moves=[made], baselines=[baseline])
    found = groups(history, after, {"sick": SICK}, Limits())
    (reading,) = undo_moves(
        after, found, history, SelectedNodes.of_policy(SICK, after)
    ).readings.entries
    return next(device for device in reading.devices if device.device == "GPU-0")


@pytest.mark.parametrize("now", [0.0, 1.0])
def test_the_drain_of_a_broken_device_brings_what_it_promised(now: float) -> None:
    before = broken("g1", "old", 1.0, 0)
    term = SICK.compile(before)
    assert not isinstance(term, Problem), term
    gain = -float(term.deltas(0, np.array([1], dtype=np.int32))[0])
    made = measured(
        broken("g2", "new", now),
        [SICK],
        past("g2", source="g1", replacement="new", gains={"sick": gain}, landing={"g2": 1.0}),
        baseline=baseline_of(before, History(), [drain(gain)], "p", [SICK]),
    )
    assert gain == pytest.approx(1.0)
    assert made.gain is not None
    assert made.gain.promised == {"sick": pytest.approx(1.0)}
    assert made.gain.measured == {"sick": pytest.approx(1.0)}
