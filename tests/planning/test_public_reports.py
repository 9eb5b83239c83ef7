"""What clusters of public bug reports taught: places, owners and marks that plans must heed."""

from dataclasses import replace
from typing import Any

import msgspec

from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.kueue import ClusterQueue, LocalQueue
from rescheduler.kube.objects import Condition, ContainerImage, Node, Pod
from rescheduler.kube.storage import PersistentVolume, PersistentVolumeClaim
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.volume_checks import Attachments
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.cases import every
from tests.cluster import deployment, node, pod, snapshot

APART = Spread.model_validate(
    {"name": "by-host", "match": {"all": True}, "topologyKey": "kubernetes.io/hostname"}
)


def crowded(nodes: list[Node] | None = None, **spec: Any) -> Snapshot:
    """Three pods of one Deployment on n1, and the empty node n2.

    spec: further fields of the pods' specs.
    """
    top, owner = deployment("web")
    pods = [pod(f"web-{i}", "n1", owner=owner, labels={"app": "web"}, **spec) for i in range(3)]
    return snapshot(nodes or [node("n1"), node("n2")], pods, controllers=[top, owner])


def judged(before: Snapshot, **limits: Any) -> tuple[list[str], dict[str, str]]:
    """`source -> likeliest node` of each move, and why others are refused, by code."""
    made = plan(before, policy_set([APART], Limits.model_validate(limits)), History(), mode="Audit")
    moves = [
        f"{move.source} -> {max(move.landing, key=lambda share: share.probability).node}"
        for move in made.moves
    ]
    return moves, {refusal.code: refusal.message for refusal in made.refused}


def with_condition(name: str, kind: str, status: str = "True") -> Node:
    """A Ready node with one more condition."""
    made: Node = node(name)
    made.status.conditions = [
        *(made.status.conditions or []),
        Condition(type=kind, status=status),
    ]
    return made


def test_nothing_goes_to_a_node_that_is_broken_though_ready() -> None:
    assert judged(crowded())[0] == ["n1 -> n2"]
    moves, refused = judged(crowded([node("n1"), with_condition("n2", "ReadonlyFilesystem")]))
    assert moves == []
    assert "condition ReadonlyFilesystem=True" in refused["FEA016"]


def test_pods_may_leave_a_broken_node_but_not_one_that_is_drained() -> None:
    broken = crowded([with_condition("n1", "KernelDeadlock"), node("n2")])
    assert judged(broken)[0] == ["n1 -> n2"]
    drained = crowded([with_condition("n1", "DrainInProgress"), node("n2")])
    moves, refused = judged(drained)
    assert moves == []
    assert "condition DrainInProgress=True" in refused["ELG020"]


def test_a_mark_of_the_operators_own_is_avoided() -> None:
    before = crowded([node("n1"), node("n2", labels={"rack-move": "tonight"})])
    assert judged(before)[0] == ["n1 -> n2"]
    assert judged(before, avoidNodes=[{"label": "rack-move"}])[0] == []


def claimed(mode: str, others: list[Pod], *, volume_mode: str = "") -> Snapshot:
    """A web pod on n1 that uses the claim `data`, and other pods."""
    before = crowded(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    claim = {
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"volumeName": "pv", "accessModes": [mode]},
        "status": {"phase": "Bound"},
    }
    modes = [volume_mode or mode]
    volume = {"metadata": {"name": "pv"}, "spec": {"accessModes": modes}}
    return replace(
        before,
        pods=[*before.pods[:1], *others],
        claims=[msgspec.convert(claim, PersistentVolumeClaim)],
        volumes=[msgspec.convert(volume, PersistentVolume)],
    )


def refused_for_volume(before: Snapshot) -> str:
    """Why the first pod is tied to its node; "" where it is not."""
    found = Attachments(before).refuse_shared(before.pods[0])
    return found.message if found else ""


DATA: dict[str, Any] = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}


def test_a_pod_stays_while_another_one_needs_its_volume_on_the_node() -> None:
    pending, beside = pod("backup", **DATA), pod("backup", "n1", **DATA)
    elsewhere = pod("backup", "n2", **DATA)
    for other in (pending, beside, elsewhere):
        assert "default/backup" in refused_for_volume(claimed("ReadWriteOnce", [other]))
    for mode in ("ReadWriteMany", "ReadOnlyMany"):
        assert refused_for_volume(claimed(mode, [beside])) == ""
    # The volume's own modes decide, as for kube-controller-manager.
    assert refused_for_volume(claimed("ReadWriteOnce", [beside], volume_mode="ReadWriteMany")) == ""
    assert refused_for_volume(claimed("ReadWriteOnce", [])) == ""
    foreign = pod("backup", "n1", namespace="shop", **DATA)
    assert refused_for_volume(claimed("ReadWriteOnce", [foreign])) == ""


def test_replicas_that_share_a_volume_stay() -> None:
    before = claimed("ReadWriteOnce", [])
    web = crowded(**DATA)
    moves, refused = judged(replace(before, pods=web.pods))
    assert moves == []
    assert "and 1 more pod, too" in refused["ELG017"]


def test_pods_that_share_a_volume_may_go_together() -> None:
    web = crowded(**DATA)
    before = replace(claimed("ReadWriteOnce", []), pods=web.pods)
    going = {pod.metadata.uid for pod in web.pods}
    assert Attachments(before).refuse_shared(web.pods[0], going) is None


AMD = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
ARM = {**AMD, "kubernetes.io/arch": "arm64"}
WINDOWS = {**AMD, "kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348"}
A100 = {**AMD, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
H100 = {**AMD, "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
GPUS = {"nvidia.com/gpu": "8"}


def of_platforms(first: dict[str, str], second: dict[str, str], **spec: Any) -> Snapshot:
    """The crowded cluster with these labels on its nodes."""
    nodes = [
        node(name, labels=labels, allocatable=GPUS)
        for name, labels in (("n1", first), ("n2", second))
    ]
    return crowded(nodes, **spec)


def affinity(key: str, operator: str, *values: str) -> dict[str, Any]:
    """Required node affinity to one label."""
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


@every(
    [
        (AMD, ARM, {}, "architecture arm64, and its workload runs on amd64 only"),
        (AMD, WINDOWS, {}, "operating system windows 10.0.20348"),
        (AMD, WINDOWS, {"os": {"name": "linux"}}, "and the pod says linux"),
        (WINDOWS, AMD, {"os": {"name": "windows"}}, "and the pod says windows"),
        (A100, H100, {"requests": GPUS | {"nvidia.com/gpu": "1"}}, "GPU model NVIDIA-H100"),
    ]
)
def test_a_pod_stays_on_what_it_is_known_to_run_on(
    first: dict[str, str], second: dict[str, str], spec: dict[str, Any], words: str
) -> None:
    assert judged(of_platforms(first, first, **spec))[0] == ["n1 -> n2"]
    moves, refused = judged(of_platforms(first, second, **spec))
    assert moves == []
    assert words in refused["FEA017"]


@every(
    [
        (ARM, affinity("kubernetes.io/arch", "In", "amd64", "arm64")),
        (ARM, {"tolerations": [{"key": "kubernetes.io/arch", "operator": "Exists"}]}),
        (H100, {}),  # it asks for no GPU
        (
            H100,
            {"requests": {"nvidia.com/gpu": "1"}, **affinity("nvidia.com/gpu.product", "Exists")},
        ),
    ]
)
def test_a_pod_goes_where_it_says_that_it_can_run(
    second: dict[str, str], spec: dict[str, Any]
) -> None:
    assert judged(of_platforms({**A100, **AMD}, second, **spec))[0] == ["n1 -> n2"]


def test_a_platform_where_the_workload_or_its_images_are_is_known() -> None:
    before = of_platforms(AMD, ARM)
    _, owner = deployment("web")
    there = pod("web-3", "n2", owner=owner, labels={"app": "web"})
    assert not Eligibility(before, Limits(), History()).places.avoided_for(0)[0]
    assert Eligibility(before, Limits(), History()).places.avoided_for(0)[1]
    running = replace(before, pods=[*before.pods, there])
    assert not Eligibility(running, Limits(), History()).places.avoided_for(0).any()
    there.status.conditions = []
    failing = replace(before, pods=[*before.pods, there])
    assert Eligibility(failing, Limits(), History()).places.avoided_for(0)[1]
    image = ContainerImage(names=["docker.io/library/app:1"], sizeBytes=1)
    before.nodes[1].status.images = [image]
    assert not Eligibility(before, Limits(), History()).places.avoided_for(0).any()


ADMITTED = [{"type": "QuotaReserved", "status": "True"}, {"type": "Admitted", "status": "True"}]


def in_kueue(**changed: Any) -> Snapshot:
    """The crowded pods, each admitted by Kueue with 1 of 9 CPUs that its queue has."""
    before = crowded()
    for pod_object in before.pods:
        pod_object.metadata.labels = {"app": "web", "kueue.x-k8s.io/managed": "true"}
    flavor = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": "9"}]}
    queue = {
        "metadata": {"name": "cq"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
        },
        "status": {
            "conditions": [{"type": "Active", "status": "True"}],
            "flavorsReservation": [{"name": "any", "resources": [{"name": "cpu", "total": "3"}]}],
            **changed,
        },
    }
    workloads = [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "metadata": {
                "name": f"pod-{pod.metadata.name}",
                "namespace": "default",
                "ownerReferences": [
                    {
                        "kind": "Pod",
                        "uid": pod.metadata.uid,
                        "apiVersion": "v1",
                        "controller": True,
                    }
                ],
            },
            "spec": {"queueName": "team", "podSets": [{"name": "main", "count": 1}]},
            "status": {
                "conditions": ADMITTED,
                "admission": {
                    "clusterQueue": "cq",
                    "podSetAssignments": [{"flavors": {"cpu": "any"}}],
                },
            },
        }
        for pod in before.pods
    ]
    local = {"metadata": {"name": "team", "namespace": "default"}, "spec": {"clusterQueue": "cq"}}
    return replace(
        before,
        cluster_queues=[msgspec.convert(queue, ClusterQueue)],
        local_queues=[msgspec.convert(local, LocalQueue)],
        gang_objects=[msgspec.convert(workload, GangObject) for workload in workloads],
    )


def test_a_pod_that_kueue_admits_by_itself_stays_while_another_waits() -> None:
    assert judged(in_kueue())[0] == ["n1 -> n2"]
    moves, refused = judged(in_kueue(pendingWorkloads=1))
    assert moves == []
    assert "1 Workload pending" in refused["ELG034"]


def test_a_pod_stays_where_kueue_might_not_admit_its_replacement() -> None:
    moves, refused = judged(in_kueue(conditions=[]))
    assert moves == []
    assert "not Active" in refused["ELG035"]
    for unknown in (
        replace(in_kueue(), gang_objects=[]),
        replace(in_kueue(), unread=["LocalQueue"]),
    ):
        moves, refused = judged(unknown)
        assert moves == []
        assert "is not known" in refused["ELG029"]
