"""Nothing that is Ready is taken from a workload that lacks a pod already (ELG024)."""

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.eligibility.eligibility import Eligibility, refusal
from rescheduler.policies.limits import Limits
from tests.cases import every
from tests.cluster import NOW, controller, deployment, node, pod, snapshot

IGNORES: dict[str, Any] = {
    "podFailurePolicy": {
        "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    }
}


def not_ready(pod: Pod) -> None:
    (condition,) = pod.status.conditions or []
    pod.status.conditions = [msgspec.structs.replace(condition, status="False")]


def cluster(wanted: int, *, ready: int, seen: int | None = None) -> Snapshot:
    """Deployment `web` wants so many pods; so many of those that are seen are Ready."""
    top, owner = deployment("web", replicas=wanted)
    seen = wanted if seen is None else seen
    pods = [pod(f"web-{i}", f"n{i % 3}", owner=owner, labels={"app": "web"}) for i in range(seen)]
    for pod_object in pods[ready:]:
        not_ready(pod_object)
    for above in (top, owner):
        above.status.readyReplicas = ready
    return snapshot([node(f"n{i}") for i in range(3)], pods, controllers=[top, owner])


def verdict(before: Snapshot, *past: PastMove, number: int = 0, **limits: Any) -> str:
    found = refusal(before, number, Limits.model_validate(limits), History(list(past)))
    return found.code if found is not None else ""


def moved(before: Snapshot, name: str = "gone", **changed: Any) -> PastMove:
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": name,
        "namespace": "default",
        "pod": name,
        "workload": before.workloads[0].uid,
        "source": "n1",
        "at": NOW - timedelta(minutes=1),
        "state": "evicted",
    }
    return PastMove(**(fields | changed))


def test_two_of_ten_ready_and_no_budget_lose_none() -> None:
    before = cluster(10, ready=2)
    assert not before.budgets
    found = refusal(before, 0, Limits(), History())
    assert found is not None
    assert (found.code, found.message) == ("ELG024", "Deployment web has 2 Ready of 10 wanted")


def test_what_the_owner_counts_and_what_is_seen_must_both_be_whole() -> None:
    assert verdict(cluster(4, ready=4)) == ""
    assert verdict(cluster(4, ready=3, seen=3)) == "ELG024"
    lagging = cluster(4, ready=4)
    not_ready(lagging.pods[3])
    assert verdict(lagging) == "ELG024"
    leaving = cluster(4, ready=4)
    leaving.pods[3].metadata.deletionTimestamp = NOW
    assert verdict(leaving) == "ELG024"
    unreported = cluster(4, ready=4)
    unreported.controllers[0].status.readyReplicas = None
    assert verdict(unreported) == "ELG024"


def test_more_ready_than_wanted_is_whole() -> None:
    before = cluster(3, ready=3)
    before.pods.append(pod("web-9", "n1", owner=before.controllers[1], labels={"app": "web"}))
    assert verdict(before) == ""


def test_replicas_that_are_not_given_are_one() -> None:
    before = cluster(1, ready=1)
    for owner_object in before.controllers:
        owner_object.spec.replicas = None
    assert verdict(before, minReplicas=1) == ""
    not_ready(before.pods[0])
    assert before.workloads[0].replicas == 1


@given(wanted=st.integers(2, 12), data=st.data())
def test_only_a_whole_workload_gives_a_pod(wanted: int, data: st.DataObject) -> None:
    seen = data.draw(st.integers(1, wanted))
    ready = data.draw(st.integers(1, seen))
    before = cluster(wanted, ready=ready, seen=seen)
    asked = Eligibility(before, Limits(), History())
    free = [number for number in range(seen) if asked.refusal(number) is None]
    assert free == (list(range(wanted)) if ready == wanted else [])


def test_only_our_own_pending_moves_are_forgiven_within_their_limit() -> None:
    before = cluster(5, ready=4, seen=4)
    assert verdict(before, moved(before)) == "ELG022"
    two: dict[str, Any] = {"inFlightPerWorkload": 2, "coolDown": "0s"}
    assert verdict(before, moved(before), **two) == ""
    assert verdict(before, moved(before, state="lost"), **two) == "ELG024"
    # It was asked for and is still Ready: so another one is missing.
    stays = moved(before, state="intended", podUid=before.pods[1].metadata.uid)
    assert verdict(before, stays, **two) == "ELG024"
    fewer = cluster(5, ready=3, seen=3)
    assert verdict(fewer, moved(fewer, "a"), **two) == "ELG024"
    assert verdict(fewer, moved(fewer, "a"), moved(fewer, "b"), **two) == "ELG022"


def job(pods: int, *, status: dict[str, Any] | None = None, **spec: Any) -> Snapshot:
    """A Job with so many pods that are Ready; its controller counts them."""
    made = controller("Job", "train", **IGNORES, **spec)
    made.status.ready = pods
    for name, value in (status or {}).items():
        setattr(made.status, name, value)
    owned = [pod(f"train-{i}", f"n{i % 3}", owner=made) for i in range(pods)]
    return snapshot([node(f"n{i}") for i in range(3)], owned, controllers=[made])


@every(
    [
        (job(4, parallelism=4, completions=9), ""),
        (job(3, parallelism=4, completions=9), "ELG024"),
        (job(3, parallelism=4, completions=9, status={"succeeded": 6}), ""),
        (job(3, parallelism=4, completions=9, status={"succeeded": 5}), "ELG024"),
        # A work queue: after its first success no pod is made any more.
        (job(2, parallelism=4, status={"succeeded": 2, "active": 2}), ""),
        (job(2, parallelism=4, status={"active": 2}), "ELG024"),
        (job(1), ""),
        # Its controller has not counted the second one as Ready.
        (job(2, parallelism=2, status={"ready": 1}), "ELG024"),
        (job(2, parallelism=2, status={"ready": None}), ""),
    ]
)
def test_pods_of_a_job_that_have_completed_are_not_missing(before: Snapshot, code: str) -> None:
    assert verdict(before) == code


def test_an_owner_that_we_do_not_know_leaves_what_its_controller_wants() -> None:
    """A rollout of another project above a ReplicaSet: the ReplicaSet's replicas count."""
    before = cluster(3, ready=2)
    top, owner = before.controllers
    (above,) = owner.metadata.ownerReferences or []
    above.kind = "Rollout"
    before.controllers.remove(top)
    assert before.workloads[0].uid == owner.metadata.uid
    assert verdict(before, otherOwners="Allow") == "ELG024"
