"""The gangs of a snapshot: members, minima, and who starts and stops them."""

from typing import Any

import msgspec
import pytest

from rescheduler.kube.controllers import Controller
from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.gangs import Facts, Gang
from rescheduler.model.cluster.snapshot import Snapshot
from tests.cluster import controller, deployment, node, pod, snapshot

GROUP = "scheduling.x-k8s.io/pod-group"
JOBSET = "jobset.sigs.k8s.io/jobset-name"


def described(name: str, *, api: str = "scheduling.x-k8s.io/v1alpha1", owner: str = "",
              namespace: str = "default", **spec: Any) -> GangObject:  # fmt: skip
    owners = [{"kind": "Job", "name": "j", "uid": owner, "controller": True}] if owner else []
    metadata = {"name": name, "namespace": namespace, "ownerReferences": owners}
    return msgspec.convert({"apiVersion": api, "metadata": metadata, "spec": spec}, GangObject)


def cluster(
    *pods: Pod, objects: list[GangObject] | None = None, controllers: list[Controller] | None = None
) -> Snapshot:
    return snapshot([node("n1")], pods, controllers=controllers or [], gang_objects=objects or [])


def facts(made: Snapshot, index: int = 0) -> Facts:
    gang = made.gangs.gang_of(index)
    assert gang is not None
    return made.gangs.facts(gang)


def member(name: str, labels: dict[str, str], **more: Any) -> Pod:
    return pod(name, "n1", labels=labels, **more)


def test_a_gang_has_members_of_several_workloads_of_one_namespace() -> None:
    made = cluster(
        member("driver", {JOBSET: "t"}),
        member("other", {"app": "web"}),
        member("worker", {JOBSET: "t", "x": "y"}),
        member("twin", {JOBSET: "t"}, namespace="elsewhere"),
    )
    assert made.gangs.gang_of(0) == Gang("default/t", JOBSET)
    assert made.gangs.gang_of(1) is None
    assert facts(made).members.tolist() == [0, 2]
    assert facts(made, 3).members.tolist() == [3]


def test_each_replica_of_a_leader_worker_set_is_a_gang() -> None:
    lws = "leaderworkerset.sigs.k8s.io"
    made = cluster(
        *(
            member(
                f"llm-{group}-{worker}",
                {f"{lws}/name": "llm", f"{lws}/group-index": group, f"{lws}/worker-index": worker},
                annotations={f"{lws}/size": "2"},
            )
            for group in "01"
            for worker in "01"
        )
    )
    gangs = [made.gangs.gang_of(n) for n in range(4)]
    named = [gang and gang.name for gang in gangs]
    assert named == ["default/llm/0"] * 2 + ["default/llm/1"] * 2
    assert (facts(made, 2).members.tolist(), facts(made, 2).minimum) == ([2, 3], 2)


def test_the_minimum_is_of_the_pod_group_of_its_namespace_and_group() -> None:
    ring = [member(f"r{n}", {GROUP: "ring"}) for n in range(3)]
    assert facts(cluster(*ring)).minimum is None
    assert facts(cluster(*ring, objects=[described("ring", minMember=2)])).minimum == 2
    for foreign in (
        described("ring", minMember=2, namespace="elsewhere"),
        described("other", minMember=2),
        described("ring", minMember=2, api="scheduling.volcano.sh/v1beta1"),
    ):
        assert facts(cluster(*ring, objects=[foreign])).minimum is None


@pytest.mark.parametrize("order", [1, -1])
def test_what_the_most_cautious_member_says_holds_for_all(order: int) -> None:
    pods = [member("a", {GROUP: "ring"}), member("b", {GROUP: "ring", JOBSET: "t"})][::order]
    made = cluster(*pods, objects=[described("ring", minMember=1)])
    assert facts(made).minimum is None, "a JobSet needs all its pods"
    assert facts(made).members.tolist() == [0, 1]


def test_gangs_that_share_some_of_their_pods_are_entangled() -> None:
    both = {GROUP: "ring", JOBSET: "t"}
    same = cluster(member("a", both), member("b", both))
    assert not facts(same).entangled, "two marks of the same pods"
    part = cluster(member("a", both), member("b", {GROUP: "ring"}))
    assert facts(part).entangled, "of the JobSet it would move the whole, but not knowingly"
    outside = cluster(member("a", both), member("b", both), member("c", {JOBSET: "t"}))
    assert facts(outside).entangled
    assert facts(outside, 2).entangled, "nor may the rest of the JobSet go without the ring"
    assert not facts(cluster(member("a", {GROUP: "ring"}), member("c", {JOBSET: "t"}))).entangled


def test_the_indexed_jobs_of_a_jobset_are_parts_of_it() -> None:
    """As JobSet's webhook makes its Jobs where nothing is said."""
    jobs = [
        controller("Job", f"t-{n}", parallelism=2, completions=2, completionMode="Indexed")
        for n in range(2)
    ]
    pods = [pod(f"t{n}", "n1", owner=jobs[n // 2]) for n in range(4)]
    for pod_object in pods:
        pod_object.metadata.labels = {JOBSET: "t"}
    made = cluster(*pods, controllers=jobs)
    assert made.gangs.gang_of(0) == Gang("default/t", JOBSET)
    assert facts(made).members.tolist() == [0, 1, 2, 3]
    assert (facts(made).minimum, facts(made).entangled) == (None, False)
    pods[3].metadata.labels = {}
    astray = cluster(*pods, controllers=jobs)
    assert facts(astray).entangled, "a part of a Job is outside"
    assert facts(astray, 3).entangled


def test_an_indexed_job_needs_all_its_pods() -> None:
    job = controller("Job", "train", parallelism=2, completions=2, completionMode="Indexed")
    made = cluster(*(pod(f"t{n}", "n1", owner=job) for n in range(2)), controllers=[job])
    assert made.gangs.gang_of(0) == Gang("default/train", "completionMode: Indexed")
    assert (facts(made).minimum, facts(made).kueue) == (2, False)


def test_a_workload_of_kueue_owns_what_it_is_for_also_above_what_is_known() -> None:
    job = controller("Job", "child", replicas=1)
    job.metadata.ownerReferences = pod(
        "x", owner=controller("JobSet", "above")
    ).metadata.ownerReferences
    pods = [pod(f"c{n}", "n1", owner=job) for n in range(2)]
    (above,) = job.metadata.ownerReferences or []
    api = "kueue.x-k8s.io/v1beta1"
    owned = described("w", api=api, owner=above.uid, podSets=[{"count": 2}])
    made = cluster(*pods, controllers=[job], objects=[owned])
    assert facts(made).kueue
    assert made.gangs.gang_of(0) == Gang("default/w", "Workload of kueue.x-k8s.io")
    single = described("w", api=api, owner=above.uid, podSets=[{"count": 1}])
    assert cluster(*pods, controllers=[job], objects=[single]).gangs.gang_of(0) is None


def test_a_queue_alone_makes_no_gang() -> None:
    top, owner = deployment("web")
    top.metadata.labels = {"kueue.x-k8s.io/queue-name": "q"}
    web = cluster(pod("web-0", "n1", owner=owner, labels={"app": "web"}), controllers=[top, owner])
    assert web.gangs.gang_of(0) is None
    ring = pod("web-0", "n1", owner=owner, labels={GROUP: "ring"})
    assert facts(cluster(ring, controllers=[top, owner])).kueue
