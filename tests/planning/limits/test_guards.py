"""Guards hold the whole cycle; each has a case that trips it and a near one that does not."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rescheduler.kube.controllers import ConditionWithMessage, Owner
from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.objects import ObjectMeta, OwnerReference
from rescheduler.model.cluster.snapshot import Undecodable
from rescheduler.model.moves.past_move import PastMove
from rescheduler.policies.limits import Limits
from tests.cases import every
from tests.cluster import NOW, controller, pod
from tests.fakes import kueue
from tests.planning.limits.unready import skew, unready
from tests.planning.scenarios import SWIFT, hot_gpus
from tests.planning.world import World


def limits(**changed: Any) -> Limits:
    return SWIFT.model_copy(update=changed)


def lost(world: World, ready: int = 5, **changed: Any) -> None:
    """A pod of `train-0` was evicted an hour ago, and its owner has so many Ready of 5."""
    (top,) = [c for c in world.snapshot.controllers if c.metadata.name == "train-0"]
    top.status.readyReplicas = ready
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": "gone",
        "namespace": "default",
        "pod": "train-0-9",
        "workload": top.metadata.uid,
        "source": "n1",
        "at": NOW - timedelta(hours=1),
        "state": "evicted",
    }
    world.history.moves.append(PastMove(**(fields | changed)))


def unread(world: World, kind: str = "", ready: int = 4, code: str = "ACT023") -> None:
    """One move was lost sight of; an object of this kind cannot be decoded."""
    lost(world, ready=ready, state="lost", settled=NOW, code=code)
    bad = [Undecodable(kind, "default", "odd", "nonsense")] if kind else []
    world.snapshot = replace(world.snapshot, undecodable=bad)


def nothing_left(world: World) -> None:
    """No pod of `train-0` is there any more; its Deployment is, and wants them all."""
    lost(world, ready=0)
    kept = [p for p in world.snapshot.pods if (p.metadata.labels or {})["app"] != "train-0"]
    assert len(kept) < len(world.snapshot.pods)
    world.snapshot = replace(world.snapshot, pods=kept)
    world.measure()


def alone(world: World, gone: timedelta) -> None:
    """The only pod was seen to be gone so long ago; pods of others take as long as they like."""
    nothing_left(world)
    for pod_object in world.snapshot.pods:
        pod_object.spec.terminationGracePeriodSeconds = 86_400
    move = world.history.moves[-1]
    move.gone, move.controllerKind = NOW - gone, "StatefulSet"


def scaled_to_none(world: World) -> None:
    nothing_left(world)
    for owner_object in world.snapshot.controllers:
        if owner_object.metadata.name.startswith("train-0"):
            owner_object.spec.replicas = 0


def one_stayed_one_lost(world: World) -> None:
    lost(world, ready=4, state="intended", podUid=world.snapshot.pods[0].metadata.uid)
    lost(world, ready=4, state="lost")


def stopped(
    world: World, *, stops: str = "job-batch-1a2b3", ready: int = 0, ended: bool = False
) -> None:
    """A Job of three pods that is suspended, by Kueue where `stops`, since we moved its gang."""
    spec: dict[str, Any] = {"parallelism": 3, "completions": 3, "completionMode": "Indexed"}
    job = controller("Job", "batch", suspend=True, **spec)
    job.status.ready = ready
    if ended:
        job.status.conditions = [ConditionWithMessage(type="Failed", status="True")]
    kept = [*world.snapshot.controllers, job]
    pods = [pod(f"batch-{n}", "n60", owner=job, labels={"app": "batch"}) for n in range(ready)]
    world.snapshot = replace(world.snapshot, controllers=kept, pods=[*world.snapshot.pods, *pods])
    world.measure()
    lost(world, state="lost", settled=NOW, workload=job.metadata.uid, stops=stops)


JOBSET = Owner(kind="JobSet", metadata=ObjectMeta(name="llm", namespace="default", uid="js-1"))


def jobset_stopped(world: World, *, there: bool = True, **more: Any) -> None:
    """Two Jobs of a JobSet, by whose Workload Kueue stopped them, are gone since."""
    workload = kueue.workload("llm", "js-1", pods=2, kind="JobSet")
    for name in ("llm-a-0", "llm-b-0"):
        stops = {"stops": workload["metadata"]["name"], "stopsUid": "w-1"}
        lost(world, state="lost", settled=NOW, workload=f"old-{name}", **(stops | more))
    if there:
        world.snapshot = replace(world.snapshot, owners=[JOBSET])


def of_unread_job_sets(world: World) -> None:
    jobset_stopped(world, there=False)
    world.snapshot = replace(world.snapshot, unread=["JobSet"])


def finished_since(world: World) -> None:
    jobset_stopped(world)
    made = kueue.workload("llm", "js-1", pods=2, kind="JobSet")
    made["status"]["conditions"].append({"type": "Finished", "status": "True"})
    found = msgspec.convert(made, GangObject)
    world.snapshot = replace(world.snapshot, gang_objects=[found])


def made_anew(world: World, *jobs: str, ready: int = 1) -> None:
    """These Jobs of it are there again, each with so many Ready of one pod."""
    jobset_stopped(world)
    above = OwnerReference(kind="JobSet", name="llm", uid="js-1", controller=True)
    made = [controller("Job", name, parallelism=1, completions=1) for name in jobs]
    for job in made:
        job.metadata.ownerReferences = [above]
    pods = [
        pod(f"{controller.metadata.name}-x", "n60", owner=controller, labels={"app": "llm"})
        for controller in made[:ready]
    ]
    snapshot = world.snapshot
    world.snapshot = replace(
        snapshot, controllers=[*snapshot.controllers, *made], pods=[*snapshot.pods, *pods]
    )
    world.measure()


def left(world: World, gone: timedelta, grace: int | None) -> None:
    """A pod of `train-0` was seen to be gone so long ago; grace: that of the others."""
    for pod_object in world.snapshot.pods:
        if pod_object.metadata.name.startswith("train-0"):
            pod_object.spec.terminationGracePeriodSeconds = grace
    lost(world, ready=4, gone=NOW - gone, controllerKind="StatefulSet")


def stayed(world: World, code: str) -> None:
    """A pod of `train-0`, which lacks another, is there; its move counts as lost."""
    pods = world.snapshot.pods
    uid = next(p.metadata.uid for p in pods if p.metadata.name.startswith("train-0"))
    lost(world, ready=4, state="lost", settled=NOW, code=code, podUid=uid)


def leaving(world: World, since: timedelta, grace: int, kind: str = "StatefulSet") -> None:
    """The evicted pod is still there, as it may take so long to end."""
    index = next(
        n for n, pod in enumerate(world.snapshot.pods) if pod.metadata.name.startswith("train-0")
    )
    old = world.snapshot.pods[index]
    old.spec.terminationGracePeriodSeconds = grace
    old.metadata.deletionTimestamp = NOW - since
    waits = {"controllerKind": kind, "podUid": old.metadata.uid}
    lost(world, ready=4, at=NOW - since, **waits)


TRIPPED: list[tuple[str, float, Callable[[World], None]]] = [
    ("GRD001", 0.08, lambda w: None),  # 5 of 60 are 8.3 %
    ("", 0.09, lambda w: None),
    ("GRD002", 0.5, lambda w: unready(w, 7)),
    ("", 0.5, lambda w: unready(w, 6)),
    ("GRD003", 0.5, lambda w: lost(w, ready=4)),
    ("GRD003", 0.5, lambda w: lost(w, ready=4, state="lost", settled=NOW)),
    ("GRD003", 0.5, lambda w: lost(w, ready=4, state="intended")),
    ("GRD003", 0.5, lambda w: lost(w, ready=0)),
    ("GRD003", 0.5, nothing_left),
    ("GRD003", 0.5, one_stayed_one_lost),
    ("", 0.5, scaled_to_none),
    # A Job that Kueue has suspended for our sake wants its pods all the same.
    ("GRD003", 0.5, stopped),
    ("GRD003", 0.5, lambda w: stopped(w, ready=2)),
    ("", 0.5, lambda w: stopped(w, ready=3)),
    ("", 0.5, lambda w: stopped(w, ended=True)),
    ("", 0.5, lambda w: stopped(w, stops="")),
    # Its JobSet creates the Jobs again, where it does.
    ("GRD003", 0.5, jobset_stopped),
    ("GRD003", 0.5, of_unread_job_sets),
    ("GRD003", 0.5, lambda w: made_anew(w, "llm-a-0")),
    ("GRD003", 0.5, lambda w: made_anew(w, "llm-a-0", "llm-b-0")),
    ("", 0.5, lambda w: made_anew(w, "llm-a-0", "llm-b-0", ready=2)),
    ("", 0.5, lambda w: jobset_stopped(w, there=False)),
    ("", 0.5, lambda w: jobset_stopped(w, stops="jobset-llm-00000")),
    ("", 0.5, lambda w: jobset_stopped(w, stops="", stopsUid="")),
    ("", 0.5, finished_since),
    ("", 0.5, lambda w: lost(w, ready=5)),
    ("", 0.5, lambda w: lost(w, ready=4, at=NOW - timedelta(minutes=4))),
    ("", 0.5, lambda w: lost(w, ready=4, workload="deleted since")),
    ("", 0.5, lambda w: left(w, timedelta(minutes=4), 3600)),
    ("GRD003", 0.5, lambda w: left(w, timedelta(minutes=6), 3600)),
    ("", 0.5, lambda w: stayed(w, "ACT009")),
    ("GRD003", 0.5, lambda w: stayed(w, "ACT019")),
    ("GRD003", 0.5, lambda w: lost(w, ready=4, state="lost", settled=NOW, code="ACT009")),
    # Nobody looked before.
    ("", 0.5, lambda w: left(w, timedelta(seconds=1), 3400)),
    ("GRD003", 0.5, lambda w: left(w, timedelta(seconds=1), 3200)),
    ("GRD003", 0.5, lambda w: left(w, timedelta(seconds=1), None)),
    ("GRD003", 0.5, lambda w: alone(w, timedelta(seconds=1))),
    ("", 0.5, lambda w: leaving(w, timedelta(hours=1), 3600)),
    ("GRD003", 0.5, lambda w: leaving(w, timedelta(hours=1), 3200)),
    ("GRD003", 0.5, lambda w: leaving(w, timedelta(hours=1), 3600, "ReplicaSet")),
    ("", 0.5, lambda w: leaving(w, timedelta(days=90), 10**9)),
    (
        "",
        0.5,
        lambda w: lost(w, ready=4, state="intended", podUid=w.snapshot.pods[0].metadata.uid),
    ),
    ("GRD007", 0.5, lambda w: skew(w, -31.0)),
    ("", 0.5, lambda w: skew(w, 29.0)),
]


@pytest.mark.parametrize(("code", "share", "change"), TRIPPED)
def test_a_guard_holds_everything_or_nothing(
    code: str, share: float, change: Callable[[World], None]
) -> None:
    world = hot_gpus(limits=limits(maxHotShare=share))
    change(world)
    made = world.plan()
    assert [guard.code for guard in made.guards] == [code] * bool(code)
    assert bool(made.moves) != bool(code)
    if code:
        assert made.totals.refused[code] > 0
        assert made.policies[0].cost.before == made.policies[0].cost.after > 0
    assert sum(made.totals.refused.values()) + len(made.moves) == made.totals.candidates


@every(
    [
        ("Pod", 4, "ACT023", False),
        ("Pod", 3, "ACT023", True),
        ("Pod", 4, "ACT011", True),
        ("Node", 4, "ACT023", True),
        ("", 4, "ACT023", True),
    ]
)
def test_a_pod_that_cannot_be_decoded_may_be_the_one_that_is_missing(
    kind: str, ready: int, code: str, holds: bool
) -> None:
    """Only where the move was lost by it."""
    world = hot_gpus(limits=limits(maxHotShare=0.5))
    unread(world, kind, ready, code)
    assert [guard.code for guard in world.plan().guards] == ["GRD003"] * holds


@pytest.mark.parametrize("first", ["ACT023", "ACT011"])
def test_a_pod_that_cannot_be_decoded_hides_no_lost_move(first: str) -> None:
    world = hot_gpus(limits=limits(maxHotShare=0.5))
    unread(world, "Pod", code=first)
    other = "ACT011" if first == "ACT023" else "ACT023"
    lost(world, ready=4, state="lost", settled=NOW, code=other, podUid="other")
    assert [guard.code for guard in world.plan().guards] == ["GRD003"]


def test_pods_that_cannot_be_decoded_hide_no_more_than_were_lost_by_it() -> None:
    world = hot_gpus(limits=limits(maxHotShare=0.5))
    unread(world, "Pod", ready=3)
    world.snapshot = replace(world.snapshot, undecodable=3 * list(world.snapshot.undecodable))
    assert [guard.code for guard in world.plan().guards] == ["GRD003"]


def test_a_cluster_that_lists_no_node_is_not_one_in_which_all_is_well() -> None:
    world = hot_gpus(limits=limits(maxHotShare=0.5))
    world.snapshot = replace(world.snapshot, nodes=[])
    (held,) = world.plan().guards
    assert held.code == "GRD011"
    assert held.message == "the API server lists no node"


@pytest.mark.parametrize(("count", "shown"), [(2, "n1, n2"), (6, "n1, n2, n3, n4, n5, ...")])
def test_nodes_of_which_none_is_ready_hold_however_few_they_are(count: int, shown: str) -> None:
    world = hot_gpus(limits=limits(maxHotShare=1.0))
    kept = {node.metadata.name for node in world.snapshot.nodes[:count]}
    world.snapshot = replace(
        world.snapshot,
        nodes=world.snapshot.nodes[:count],
        pods=[pod for pod in world.snapshot.pods if pod.node in kept],
    )
    world.measure()
    unready(world, count)
    (held,) = world.plan().guards
    assert held.code == "GRD011"
    assert held.message == f"none of {count} nodes is Ready ({shown})"


def test_one_hot_node_of_a_small_cluster_is_not_too_many() -> None:
    world = hot_gpus(limits=limits(maxHotShare=0.0))
    for pod_object in world.snapshot.pods:
        if pod_object.node in ("n2", "n3", "n4", "n5"):
            world.use = {**world.use, (pod_object.metadata.labels or {})["app"]: 0.95}
    keep = {"n1", *(f"n{i}" for i in range(6, 61))}
    pods = [pod for pod in world.snapshot.pods if pod.node in keep]
    world.snapshot = replace(world.snapshot, pods=pods)
    world.measure()
    assert world.plan().guards == []
