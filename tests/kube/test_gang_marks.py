"""What makes a pod a member of a gang, and how many pods a gang needs, in every ecosystem."""

from typing import Any

import msgspec
import pytest

from rescheduler.kube import annotations
from rescheduler.kube.controllers import Controller
from rescheduler.kube.gang_marks import GangMark, GangObject, kueue_marked, marks
from rescheduler.kube.objects import Pod
from tests.cases import every

LABELS = {
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "kueue.x-k8s.io/pod-group-name",
    "jobset.sigs.k8s.io/jobset-name",
    "leaderworkerset.sigs.k8s.io/name",
    "training.kubeflow.org/job-name",
    "ray.io/cluster",
    "volcano.sh/job-name",
    "grove.io/podgang",
    "runai/pod-group-name",
}
"""Labels that make a pod a member of a gang."""


def pod(
    labels: dict[str, str] | None = None, notes: dict[str, str] | None = None, **spec: Any
) -> Pod:
    metadata = {"name": "p", "namespace": "ml", "labels": labels or {}, "annotations": notes or {}}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)


def described(api: str, **spec: Any) -> int | None:
    """The minimum of a PodGroup or Workload with this spec."""
    made = msgspec.convert({"apiVersion": api, "metadata": {"name": "g"}, "spec": spec}, GangObject)
    return made.minimum


LWS = "leaderworkerset.sigs.k8s.io"
CASES: list[tuple[dict[str, str], dict[str, str], GangMark]] = [
    (
        {"scheduling.x-k8s.io/pod-group": "ring"},
        {},
        GangMark("scheduling.x-k8s.io/pod-group", "ring", "scheduling.x-k8s.io"),
    ),
    (
        {"volcano.sh/job-name": "ring"},
        {"scheduling.k8s.io/group-name": "ring-5f"},
        GangMark("scheduling.k8s.io/group-name", "ring-5f", "scheduling.volcano.sh"),
    ),
    ({}, {"pod-group-name": "pg-ring"}, GangMark("pod-group-name", "pg-ring", "scheduling.run.ai")),
    (
        {f"{LWS}/name": "llm", f"{LWS}/group-index": "3", f"{LWS}/worker-index": "1"},
        {f"{LWS}/size": "4"},
        GangMark(f"{LWS}/name", "llm/3", "", 4),
    ),
    (
        {"kueue.x-k8s.io/pod-group-name": "ring"},
        {"kueue.x-k8s.io/pod-group-total-count": "8"},
        GangMark("kueue.x-k8s.io/pod-group-name", "ring", "", 8),
    ),
    (
        {},
        {
            "gang.scheduling.koordinator.sh/name": "ring",
            "gang.scheduling.koordinator.sh/min-available": "2",
        },
        GangMark("gang.scheduling.koordinator.sh/name", "ring", "", 2),
    ),
    (
        {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "w"},
        {},
        GangMark("jobset.sigs.k8s.io/jobset-name", "train"),
    ),
    (
        {"training.kubeflow.org/job-name": "mpi", "training.kubeflow.org/job-role": "worker"},
        {},
        GangMark("training.kubeflow.org/job-name", "mpi"),
    ),
    ({"ray.io/cluster": "ray"}, {}, GangMark("ray.io/cluster", "ray")),
    (
        {"applicationId": "spark-1"},
        {"yunikorn.apache.org/task-group-name": "executors"},
        GangMark("yunikorn.apache.org/task-group-name", "spark-1"),
    ),
    (
        {"applicationId": "other"},
        {
            "yunikorn.apache.org/app-id": "spark-1",
            "yunikorn.apache.org/task-groups": '[{"name": "executors", "minMember": 4}]',
        },
        GangMark("yunikorn.apache.org/task-groups", "spark-1"),
    ),
    (
        {},
        {"yunikorn.apache.org/task-group-name": "executors"},
        GangMark("yunikorn.apache.org/task-group-name", "executors"),
    ),
]


@pytest.mark.parametrize(("labels", "notes", "mark"), CASES, ids=lambda value: str(value)[:40])
def test_each_ecosystem_marks_the_members_of_a_gang(
    labels: dict[str, str], notes: dict[str, str], mark: GangMark
) -> None:
    assert next(marks(pod(labels, notes), None)) == mark
    plain = {note: "x" for note in notes if note in annotations.READ}
    assert plain.keys() == notes.keys(), "sources must keep what is read here"


def test_kubernetes_own_group_comes_before_all_others() -> None:
    member = pod({"ray.io/cluster": "r"}, schedulingGroup={"podGroupName": "g"})
    first, second = marks(member, None)
    assert first == GangMark("spec.schedulingGroup", "g", "scheduling.k8s.io")
    assert second.name == "r"


def test_the_group_of_kubernetes_1_35_needs_all_its_pods() -> None:
    reference = {"name": "train", "podGroup": "workers", "podGroupReplicaKey": "1"}
    [mark] = marks(pod(workloadRef=reference), None)
    assert mark == GangMark("spec.workloadRef", "train/workers/1")
    assert mark.minimum is None


def test_every_label_and_annotation_of_gangs_is_read() -> None:
    for key in LABELS:
        assert [mark.what for mark in marks(pod({key: "g"}), None)] == [key]
    for key in annotations.GANGS:
        assert [mark.what for mark in marks(pod(notes={key: "g"}), None)] == [key]
    assert not list(marks(pod({"app": "web"}, {"note": "x"}), None))


def job(mode: str | None = "Indexed", parallelism: int | None = 4, completions: int | None = 4,
        kind: str = "Job") -> Controller:  # fmt: skip
    spec = {"completionMode": mode, "parallelism": parallelism, "completions": completions}
    return msgspec.convert({"kind": kind, "metadata": {"name": "train"}, "spec": spec}, Controller)


def test_an_indexed_job_that_needs_all_its_pods_at_once_is_a_gang() -> None:
    assert list(marks(pod(), job())) == [GangMark("completionMode: Indexed", "train", minimum=4)]
    for other in (
        job(mode="NonIndexed"),
        job(mode=None),
        job(parallelism=1, completions=1),
        job(completions=9),
        job(completions=None),
        job(parallelism=None),
        job(kind="StatefulSet"),
    ):
        assert not list(marks(pod(), other))


@every(
    [
        ("scheduling.k8s.io/v1alpha2", {"schedulingPolicy": {"gang": {"minCount": 3}}}, 3),
        ("scheduling.k8s.io/v1alpha2", {"schedulingPolicy": {"basic": {}}}, 0),
        ("scheduling.k8s.io/v1alpha2", {"schedulingPolicy": {}}, None),
        (
            "scheduling.k8s.io/v1alpha2",
            {"schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": "PodGroup"},
            None,
        ),
        (
            "scheduling.k8s.io/v1beta1",
            {"schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": {"all": {}}},
            None,
        ),
        (
            "scheduling.k8s.io/v1beta1",
            {"schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": {"single": {}}},
            3,
        ),
        (
            "scheduling.k8s.io/v1alpha3",
            {"schedulingPolicy": {"gang": {"minCount": 3}}, "parentCompositePodGroupName": "all"},
            None,
        ),
        (
            "scheduling.k8s.io/v1alpha2",
            {"schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": "Pod"},
            3,
        ),
        ("scheduling.x-k8s.io/v1alpha1", {"minMember": 5}, 5),
        ("scheduling.x-k8s.io/v1alpha1", {}, None),
        ("scheduling.x-k8s.io/v1alpha1", {"minMember": 0}, None),
        ("scheduling.volcano.sh/v1beta1", {"minMember": 5}, 5),
        ("scheduling.volcano.sh/v1beta1", {"minMember": 5, "minTaskMember": {"w": 4}}, None),
        ("scheduling.run.ai/v2alpha2", {"minMember": 2}, 2),
        (
            "scheduling.run.ai/v2alpha2",
            {"minMember": 2, "subGroups": [{"name": "a", "minMember": 1}]},
            None,
        ),
        ("kueue.x-k8s.io/v1beta1", {"podSets": [{"count": 2}, {"count": 3}]}, 5),
    ]
)
def test_how_many_pods_must_run(api: str, spec: dict[str, Any], minimum: int | None) -> None:
    assert described(api, **spec) == minimum


def test_a_size_that_cannot_be_read_is_not_known() -> None:
    for text in ("", "four", "0", "-1", "1.5", "\u0663", "9" * 5_000):
        (mark,) = marks(pod({f"{LWS}/name": "llm"}, {f"{LWS}/size": text}), None)
        assert (mark.name, mark.minimum) == ("llm", None)


def test_kueue_marks_a_pod_or_what_makes_it() -> None:
    above = msgspec.convert(
        {"kind": "Job", "metadata": {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "q"}}},
        Controller,
    )
    assert kueue_marked(pod({"kueue.x-k8s.io/pod-group-name": "g"}), [])
    assert kueue_marked(pod({"kueue.x-k8s.io/queue-name": "q"}), [])
    assert kueue_marked(pod(notes={"kueue.x-k8s.io/pod-group-total-count": "2"}), [])
    assert kueue_marked(pod(), [above])
    assert not kueue_marked(pod({"ray.io/cluster": "r"}), [job()])


def test_the_name_of_a_gang_is_no_longer_than_any_name() -> None:
    # An annotation may have 262,144 characters, and reports repeat the name for each pod.
    (mark,) = marks(pod({}, {"pod-group-name": "x" * 10**5}), None)
    assert len(mark.name) == 253
