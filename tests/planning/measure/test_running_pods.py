"""What a pod is charged for its NUMA zones stays as it was while it ran, and is not guessed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gains import Baseline
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import LandingShare, OwnerRef, PlannedMove, PodRef
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.measuring import measure
from rescheduler.planning.measure.move_groups import PATIENCE
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.numa.policy import Numa
from rescheduler.policytest.topologies import topology
from tests.cluster import NOW, deployment, node, reading, snapshot
from tests.policies.device_drawing import held, user
from tests.policies.numa import devices as test_numa_devices
from tests.policies.numa.devices import both
from tests.policies.numa_drawing import GPU, guaranteed

SPLIT = [("node-0", {GPU: "1"}), ("node-1", {GPU: "1"})]
WHOLE = [("node-0", {GPU: "2"})]
LATER = NOW + timedelta(hours=1)


def numa(**spec: Any) -> Numa:
    return Numa(name="zones", **{"nodes": {"all": True}, "match": {"all": True}, **spec})


def cluster(
    free: dict[str, tuple[float, float]], *pods: Pod, full: float = 0.5, policy: str = "best-effort"
) -> Snapshot:
    """Nodes of two zones of 4 GPUs each, of which so many are free; full: the zones' memory.

    Others besides show how that has changed.
    """
    free = free | {f"c{number}": (4, 4) for number in range(8)}
    zones = {
        name: [{GPU: (4.0, free_gpus), "memory": (64e9, 64e9)} for free_gpus in both]
        for name, both in free.items()
    }
    room = {GPU: "8", "cpu": "32", "memory": "128Gi"}
    seen = snapshot(
        [node(name, allocatable=room, labels={"pool": name[0]}) for name in zones],
        pods,
        controllers=deployment("train"),
        topologies=[topology(name, *zone, policy=policy) for name, zone in zones.items()],
    )
    (request,) = numa(crowded=0.9).requests()
    values = reading(
        request.name, [full] * len(zones), window=request.window, max_age=request.max_age
    )
    asked = replace(values, request=request)
    return replace(seen, readings=Readings((asked,)))


def apart(lies: Any = SPLIT) -> Snapshot:
    """A pod of two GPUs of different zones on a1, and an empty node b1."""
    return cluster({"a1": (3, 3), "b1": (4, 4)}, guaranteed("p0", "a1", {GPU: 2}, lies=lies))


def replacement(*containers: dict[str, Any], lies: Any = (), uid: str = "uid") -> Pod:
    """Of that pod, on b1."""
    found = guaranteed("p0-r", "b1", *containers, lies=lies)
    found.metadata.uid = uid
    return found


def moved(
    before: Snapshot, policies: list[Numa], uid: str = "uid", to: str = "b1"
) -> tuple[PastMove, Baseline]:
    """The first pod in a batch of its own; uid: of its replacement, which is Ready there now."""
    pod = before.pods[0]
    move = PlannedMove(
        pod=PodRef(namespace="default", name=pod.metadata.name, uid=pod.metadata.uid),
        owner=OwnerRef(kind="ReplicaSet", name="train", uid="w"),
        source=pod.node,
        landing=[LandingShare(node=to, probability=1.0)],
        returns=0.0,
        unschedulable=0.0,
        gain=1.0,
        gains={"zones": 1.0},
        disruption=1.0,
        batch=1,
    )
    past = PastMove(
        plan="p",
        batch=1,
        podUid=pod.metadata.uid,
        namespace="default",
        pod=pod.metadata.name,
        workload="w",
        source=pod.node,
        at=NOW,
        settled=NOW,
        state="ready",
        gains=move.gains,
        landing={to: 1.0},
        replacement=uid,
        landedOn=to,
    )
    return past, baseline_of(before, History(), [move], "p", policies)


def brought(
    after: Snapshot, policy: Numa, past: PastMove, baseline: Baseline, later: timedelta
) -> PastMove:
    history = History(moves=[past], baselines=[baseline])
    measure(replace(after, taken=NOW + later), policy_set([policy]), history)
    return past


@pytest.mark.parametrize("spec", [{}, {"crowded": 0.9}])
@pytest.mark.parametrize("lies", [SPLIT, []])
def test_a_running_pod_stays_apart_where_room_for_it_came_free(
    spec: dict[str, Any], lies: Any
) -> None:
    policy = numa(**spec)
    past, baseline = moved(apart(lies), [policy])
    there = replacement({GPU: 2}, lies=WHOLE)
    # The old node is empty now: a pod that came again would get one zone, and this one ran there.
    after = cluster({"a1": (4, 4), "b1": (2, 4)}, there)
    move = brought(after, policy, past, baseline, timedelta(hours=1))
    assert move.gain is not None
    assert move.gain.problem == ""
    assert move.gain.promised == {"zones": pytest.approx(1.0)}
    assert move.gain.measured == {"zones": pytest.approx(1.0)}
    assert move.gain.neutral == []


@pytest.mark.parametrize("spec", [{}, {"crowded": 0.9}])
def test_a_pod_that_lies_apart_again_has_gained_nothing(spec: dict[str, Any]) -> None:
    policy = numa(**spec)
    past, baseline = moved(apart(), [policy])
    there = replacement({GPU: 2}, lies=SPLIT)
    after = cluster({"a1": (4, 4), "b1": (3, 3)}, there)
    move = brought(after, policy, past, baseline, timedelta(hours=1))
    assert move.gain is not None
    assert move.gain.promised == {"zones": pytest.approx(1.0)}
    assert move.gain.measured == {"zones": pytest.approx(0.0)}
    assert move.gain.neutral == []


def test_two_that_left_one_node_were_both_apart() -> None:
    policy = numa()
    pair = [guaranteed(f"p{n}", "a1", {GPU: 2}, lies=SPLIT) for n in (0, 1)]
    before = cluster({"a1": (2, 2), "b1": (4, 4)}, *pair)
    first, baseline = moved(before, [policy], "uid-0")
    second, other = moved(replace(before, pods=pair[::-1]), [policy], "uid-1")
    baseline.charges["zones"] |= other.charges["zones"]
    there = [replacement({GPU: 2}, lies=WHOLE, uid=f"uid-{n}") for n in (0, 1)]
    # Had they come again, one would have been in the other's way there.
    came = [guaranteed("large", "a1", {GPU: 4}), guaranteed("small", "a1", {GPU: 1})]
    after = cluster({"a1": (3, 0), "b1": (0, 4)}, *there, *came)
    history = History(moves=[first, second], baselines=[baseline])
    measure(replace(after, taken=LATER), policy_set([policy]), history)
    for move in (first, second):
        assert move.gain is not None
        assert move.gain.promised == {"zones": pytest.approx(1.0)}
        assert move.gain.measured == {"zones": pytest.approx(1.0)}


def unmeasured(after: Snapshot, policy: Numa, past: PastMove, baseline: Baseline) -> str:
    """Why it was given up to measure the move, which may not be at once."""
    move = brought(after, policy, past, baseline, timedelta(hours=1))
    if move.gain is None:
        move = brought(after, policy, past, baseline, timedelta(hours=2) + PATIENCE)
    assert move.gain is not None
    assert not move.gain.measured
    return move.gain.problem


def test_where_it_is_not_known_how_the_pod_lies_nothing_is_claimed() -> None:
    policy = numa()
    past, baseline = moved(apart(), [policy])
    there = replacement({GPU: 2})
    other = guaranteed("other", "b1", {GPU: 2})
    # Each zone of b1 has given away enough for the pod, to it or to others.
    after = cluster({"a1": (4, 4), "b1": (2, 2)}, there, other)
    said = unmeasured(after, policy, past, baseline)
    assert said == (
        "policy zones: in which NUMA zones pod default/p0-r lies on node b1 is not known"
    )
    sure = cluster({"a1": (4, 4), "b1": (2, 2)}, there, other, policy="single-numa-node")
    again, baseline = moved(apart(), [policy])
    brought(sure, policy, again, baseline, timedelta(hours=1))
    assert again.gain is not None
    assert again.gain.measured == {"zones": pytest.approx(1.0)}


def test_where_nothing_reports_zones_nothing_is_claimed() -> None:
    policy = numa()
    past, baseline = moved(apart(), [policy])
    there = replacement({GPU: 2})
    after = cluster({"a1": (4, 4), "b1": (2, 2)}, there)
    after = replace(after, topologies=after.topologies[:1])
    said = unmeasured(after, policy, past, baseline)
    assert said == "policy zones: the NUMA zones of node b1 are not known"


def test_a_pod_on_a_node_that_the_policy_does_not_select_has_not_gained() -> None:
    policy = numa(nodes={"labels": {"matchLabels": {"pool": "a"}}})
    past, baseline = moved(apart(), [policy])
    there = replacement({GPU: 2}, lies=WHOLE)
    after = cluster({"a1": (4, 4), "b1": (2, 4)}, there)
    said = unmeasured(after, policy, past, baseline)
    assert said == "policy zones: pod default/p0-r is on no node that the policy selects"


def test_without_what_the_pod_was_charged_nothing_is_claimed() -> None:
    policy = numa()
    past, baseline = moved(apart(), [])
    there = replacement({GPU: 2}, lies=WHOLE)
    after = cluster({"a1": (4, 4), "b1": (2, 4)}, there)
    said = unmeasured(after, policy, past, baseline)
    assert said == "policy zones: what its pods were charged before was not kept"


def test_containers_that_are_aligned_each_may_lie_apart() -> None:
    policy = numa()
    past, baseline = moved(apart(), [policy])
    there = replacement({GPU: 1}, {GPU: 1})
    other = guaranteed("other", "b1", {GPU: 2})
    after = cluster({"a1": (4, 4), "b1": (2, 2)}, there, other, policy="single-numa-node")
    assert unmeasured(after, policy, past, baseline) == (
        "policy zones: in which NUMA zones pod default/p0-r lies on node b1 is not known"
    )


def test_a_replacement_that_the_policy_does_not_evaluate_shows_nothing() -> None:
    policy = numa(match={"labels": {"matchLabels": {"app": "train"}}})
    past, baseline = moved(apart(), [policy])
    there = replacement({GPU: 2}, lies=WHOLE)
    there.metadata.labels = {"app": "train-2"}  # a rollout changed it
    after = cluster({"a1": (4, 4), "b1": (2, 4)}, there)
    said = unmeasured(after, policy, past, baseline)
    assert said == "policy zones: pod default/p0-r is not evaluated by the policy any more"


@pytest.mark.parametrize(("devices", "share"), [(("gpu-0", "nic-1"), 1.0), (("gpu-0", "nic-2"), 0)])
def test_devices_of_claims_count_as_they_lay(devices: tuple[str, str], share: float) -> None:
    policy = test_numa_devices.numa()
    past, baseline = moved(test_numa_devices.split(*both("n2")), [policy], to="n2")
    there = user("p0-r", "n2")
    there.metadata.uid = "uid"
    # The old node is empty now, and its first devices lie together.
    slices = [*both("n1"), *both("n2")]
    after = test_numa_devices.cluster(slices, [there], [held("p0-r", "n2", *devices)])
    claim = after.resource_claims[0]
    for consumer in claim.status.reservedFor or ():
        consumer.uid = "uid"
    move = brought(after, policy, past, baseline, timedelta(hours=1))
    assert move.gain is not None
    assert move.gain.problem == ""
    assert move.gain.promised == {"zones": pytest.approx(1.0)}
    assert move.gain.measured == {"zones": pytest.approx(share)}
