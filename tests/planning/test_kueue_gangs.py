"""Gangs that Kueue runs: moved only where it would surely start them again as they are."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from rescheduler.kube.controllers import Owner
from rescheduler.kube.objects import ObjectMeta, OwnerReference
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan_digest import digest_of
from tests.cases import every
from tests.cluster import budget
from tests.fakes import kueue
from tests.planning.gang_worlds import JOBSET, in_one_rack, planned
from tests.planning.kueue_gangs import State, cluster, made, state


def test_a_gang_of_kueue_is_moved_as_a_whole_by_its_workload() -> None:
    plan = made()
    assert [move.pod.name for move in plan.moves] == ["train-0", "train-1", "train-2"]
    assert {move.batch for move in plan.moves} == {1}
    name = kueue.workload("train", "job-train", pods=3)["metadata"]["name"]
    assert {move.stops.name if move.stops else "" for move in plan.moves} == {name}
    assert {move.stops.uid if move.stops else "" for move in plan.moves} == {"workload-0"}
    assert {move.landing[0].node for move in plan.moves} == {"r3-1"}
    assert plan.digest == digest_of(plan)


def test_a_job_of_kueue_need_not_ignore_disruptions() -> None:
    assert len(made(jobs="Refuse").moves) == 3
    alone = made(lambda objects: objects["workloads"].clear(), jobs="Refuse")
    assert alone.totals.refused == {"ELG014": 3}


def test_it_is_asked_for_by_its_own_limit() -> None:
    chosen: list[dict[str, Any]] = [{"kueue": "Leave"}, {"kueue": "Leave", "gangs": "Surplus"}]
    for limits in chosen:
        assert made(**limits).moves == []
        assert set(made(**limits).totals.refused) == {"ELG029"}


def test_a_budget_must_allow_all_of_it_at_once() -> None:
    for allowed in range(4):
        held = cluster(state(), budgets=[budget("train", "train", allowed=allowed, healthy=3)])
        plan = planned(held, in_one_rack(), gangs="Whole", kueue="Restart")
        assert len(plan.moves) == (3 if allowed == 3 else 0)


NO_FLAVORS: list[Any] = [None, [], [{}], [{"flavors": None}], [{"flavors": {}}]]


def of(which: str, *path: str, value: Any) -> Callable[[State], None]:
    """Set a field of the first Workload, or of a queue."""

    def change(objects: State) -> None:
        target = objects["workloads"][0] if which == "workload" else objects[which]
        for key in path[:-1]:
            target = target.setdefault(key, {})
        target[path[-1]] = value

    return change


def owned(kind: str, version: str) -> Callable[[State], None]:
    def change(objects: State) -> None:
        objects["workloads"][0]["metadata"]["ownerReferences"][0] |= {
            "kind": kind,
            "apiVersion": version,
        }

    return change


def condition(kind: str, value: str) -> Callable[[State], None]:
    def change(objects: State) -> None:
        status = objects["workloads"][0]["status"]
        kept = [condition for condition in status["conditions"] if condition["type"] != kind]
        status["conditions"] = [*kept, {"type": kind, "status": value}]

    return change


def doubled(objects: State) -> None:
    twin = kueue.workload("train", "job-train", pods=3)
    twin["metadata"]["name"] = "train-b"
    objects["workloads"].append(twin)


PREFERRED = {"podIndexLabel": "index", "preferred": "rack"}
ASSIGNED = {"clusterQueue": "all", "podSetAssignments": [{"flavors": {"cpu": "default"}}]}


@every([
        (owned("Pod", "v1"), "run by Pod"),
        (owned("MPIJob", "kubeflow.org/v2beta1"), "run by MPIJob"),
        (owned("RayJob", "ray.io/v1"), "run by RayJob"),
        (owned("Job", "batch.volcano.sh/v1alpha1"), "run by Job"),
        (of("workload", "metadata", "name", value="prebuilt"), "was not made by Kueue"),
        (of("workload", "metadata", "deletionTimestamp", value="2026-01-01T00:00:00Z"), "stopped"),
        (of("workload", "spec", "active", value=False), "being stopped already"),
        (condition("Evicted", "True"), "was evicted"),
        (condition("Finished", "True"), "has finished"),
        (condition("Admitted", "False"), "is not admitted"),
        (condition("QuotaReserved", "False"), "is not admitted"),
        (of("workload", "status", "admission", value=None), "is not admitted"),
        (of("workload", "spec", "maximumExecutionTimeSeconds", value=60), "begin again"),
        (of("workload", "status", "admissionChecks", value=[{"name": "p"}]), "admission checks"),
        (of("workload", "status", "clusterName", value="worker"), "admission checks"),
        (of("workload", "spec", "podSets", value=[{"count": 3, "minCount": 1}]), "fewer pods"),
        (
            of("workload", "spec", "podSets", value=[{"count": 3, "topologyRequest": PREFERRED}]),
            "TopologyAwareScheduling",
        ),
        (
            of("workload", "status", "admission", "podSetAssignments",
               value=[{"flavors": {"cpu": "default"}, "topologyAssignment": {"levels": []}}]),
            "TopologyAwareScheduling",
        ),
        (of("workload", "spec", "podSets", value=[{"count": 4}]), "for 4 pods"),
        (doubled, "not exactly what one Workload"),
    ])  # fmt: skip
def test_a_workload_that_might_not_come_back_as_it_was_is_left_alone(
    change: Callable[[State], None], said: str
) -> None:
    plan = made(change)
    assert plan.moves == []
    assert set(plan.totals.refused) == {"ELG029"}
    assert said in plan.refused[0].message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of("workload", "spec", "queueName", value="gone"), "is not known"),
        (of("local", "spec", "clusterQueue", value="gone"), "is not known"),
        (of("workload", "status", "admission",
            value={**ASSIGNED, "clusterQueue": "other"}), "another ClusterQueue"),
        (of("local", "spec", "stopPolicy", value="Hold"), "admits nothing"),
        (of("queue", "spec", "stopPolicy", value="HoldAndDrain"), "admits nothing"),
        (of("queue", "status", "conditions", value=[]), "not Active"),
        (of("queue", "spec", "namespaceSelector", value={"matchLabels": {"a": "b"}}), "namespace"),
        (of("queue", "spec", "namespaceSelector", value=None), "namespace"),
        (of("queue", "spec", "admissionChecks", value=["p"]), "admission checks"),
        (of("queue", "spec", "admissionChecksStrategy", value={"x": []}), "admission checks"),
        (of("queue", "spec", "resourceGroups", value=[]), "other flavors"),
        (lambda objects: objects["queue"]["spec"]["resourceGroups"][0]["flavors"].append(
            {"name": "spot"}), "other flavors"),
        (of("queue", "status", "flavorsReservation", value=[]), "does not say"),
        (of("queue", "status", "flavorsReservation", value=[
            {"name": "default", "resources": [{"name": "cpu", "total": "8001m"}]}]), "holds more"),
        *(
            (of("workload", "status", "admission", "podSetAssignments", value=value), "flavors of")
            for value in NO_FLAVORS
        ),
        (of("workload", "spec", "podSets", value=[{"count": 2}, {"count": 1}]), "flavors of"),
    ],
)  # fmt: skip
def test_a_queue_that_might_not_admit_it_again_holds_it(
    change: Callable[[State], None], said: str
) -> None:
    plan = made(change)
    assert plan.moves == []
    assert set(plan.totals.refused) == {"ELG035"}
    assert said in plan.refused[0].message


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue", "Workload.kueue.x-k8s.io"])
def test_what_was_not_read_is_not_taken_for_nothing(kind: str) -> None:
    unread = cluster(state(), unread=[kind])
    plan = planned(unread, in_one_rack(), gangs="Whole", kueue="Restart")
    assert plan.moves == []
    assert f"{kind} was not read" in plan.refused[0].message


def of_a_jobset(size: int, labelled: int, mode: str | None = "Indexed") -> Snapshot:
    """Two Jobs of a JobSet with a Workload for so many pods; so many of them bear its label.

    mode: the completionMode of its Jobs, which JobSet makes Indexed unless they say otherwise.
    """
    objects = state()
    objects["workloads"] = [kueue.workload("set", "uid-set", pods=size, kind="JobSet")]
    before = cluster(objects)
    (first,) = before.controllers
    second = copy.deepcopy(first)
    second.metadata.name, second.metadata.uid = "other", "job-other"
    owner = OwnerReference(kind="JobSet", name="set", uid="uid-set", controller=True)
    for controller, count in ((first, 2), (second, 1)):
        controller.metadata.ownerReferences = [owner]
        controller.spec.completionMode = mode
        controller.spec.parallelism = controller.spec.completions = controller.status.ready = count
    before.controllers.append(second)
    before.owners.append(Owner(kind="JobSet", metadata=ObjectMeta(name="set", uid="uid-set")))
    (of_other,) = before.pods[2].metadata.ownerReferences or []
    of_other.name, of_other.uid = "other", "job-other"
    for member in before.pods[3 - labelled :]:
        member.metadata.labels = {"app": "train", JOBSET: "set"}
    return before


@pytest.mark.parametrize("mode", ["Indexed", None])
def test_a_jobset_is_stopped_with_all_its_jobs(mode: str | None) -> None:
    plan = planned(of_a_jobset(3, 3, mode), in_one_rack(), gangs="Whole", kueue="Restart")
    assert len(plan.moves) == 3
    assert len({move.stops for move in plan.moves}) == 1
    assert len({move.owner.controllerUid for move in plan.moves}) == 2


def test_a_jobset_of_something_that_kueue_runs_is_not_evicted_pod_by_pod() -> None:
    """Kueue's Workload is for the TrainJob above the JobSet."""
    before = of_a_jobset(3, 3)
    above = OwnerReference(kind="TrainJob", name="train", uid="uid-train", controller=True)
    before.owners[0].metadata.ownerReferences = [above]
    before.gang_objects[0].metadata.ownerReferences = [above]
    for chosen in ("Leave", "Restart"):
        limits: dict[str, Any] = {"gangs": "Whole", "kueue": chosen, "otherOwners": "Allow"}
        plan = planned(before, in_one_rack(), **limits)
        assert plan.moves == []
        assert set(plan.totals.refused) == {"ELG029"}


def test_a_workload_over_more_than_the_gang_is_left_alone() -> None:
    """It would stop pods that no budget of ours counts."""
    plan = planned(of_a_jobset(3, 2), in_one_rack(), gangs="Whole", kueue="Restart")
    assert plan.moves == []
    assert set(plan.totals.refused) == {"ELG029"}
