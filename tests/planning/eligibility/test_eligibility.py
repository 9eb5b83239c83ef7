"""One case and more for every code that makes a pod ineligible."""

import re
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rescheduler.kube import annotations as names
from rescheduler.kube.controllers import ConditionWithMessage
from rescheduler.kube.objects import Named, ObjectMeta, Taint, Toleration
from rescheduler.kube.storage import InTreeSource
from rescheduler.planning.eligibility.eligibility import Eligibility
from tests.cluster import NOW
from tests.planning.cases import Case, settled
from tests.planning.eligibility.jobs import Change, failure_policy, job

LATELY = (NOW - timedelta(seconds=30)).isoformat()
LOCAL = {"hostPath": {"path": "/var"}}


def change(path: str, value: Any) -> Change:
    """Set the attribute at that path of the case."""

    def do(case: Case) -> None:
        at: Any = case
        *steps, last = path.split(".")
        for step in steps:
            at = getattr(at, step)
        setattr(at, last, value)

    return do


def annotate(name: str, value: str) -> Change:
    return lambda case: case.annotate(**{name: value})


def label(name: str, value: str = "true") -> Change:
    return lambda case: setattr(case.pod.metadata, "labels", {"app": "web", name: value})


def both(*changes: Change) -> Change:
    return lambda case: [change(case) for change in changes]


IGNORED = failure_policy("Ignore")["podFailurePolicy"]["rules"][0]


def taint(key: str, effect: str = "NoSchedule") -> Change:
    return change("node.spec.taints", [Taint(key=key, effect=effect)])


def tolerating(*given: dict[str, Any]) -> Change:
    """On a node with taint maintenance:NoExecute, by a pod with these tolerations."""
    return both(
        taint("maintenance", "NoExecute"),
        change(
            "pod.spec.tolerations",
            [msgspec.convert(toleration, Toleration) for toleration in given],
        ),
    )


def namespace(case: Case) -> ObjectMeta:
    (found,) = case.snapshot.namespaces
    return found.metadata


def bound_to_a_host_path(case: Case) -> None:
    case.claim(nodes=["n1", "n2"])
    (volume,) = case.snapshot.volumes
    volume.spec.nodeAffinity = None
    volume.spec.hostPath = InTreeSource()


def bound_to_a_local_volume(case: Case) -> None:
    """That each node of a zone would have, as its affinity says."""
    case.claim(nodes=["n1", "n2"])
    (volume,) = case.snapshot.volumes
    volume.spec.local = InTreeSource()


def two_autoscalers(first: int, second: int) -> Change:
    """On one workload, with so many pods that each wants where there are three."""
    return both(
        lambda c: c.scale(currentReplicas=3, desiredReplicas=first),
        lambda c: c.scale(currentReplicas=3, desiredReplicas=second),
    )


def scaling(active: str) -> dict[str, Any]:
    """The conditions of an autoscaler that reads its metrics, or does not."""
    return {"conditions": [{"type": "ScalingActive", "status": active}]}


def limited() -> dict[str, Any]:
    """Those of one that would go further than it may."""
    limit = {"type": "ScalingLimited", "status": "True", "reason": "TooManyReplicas"}
    return {"conditions": [*scaling("True")["conditions"], limit]}


def without_target() -> dict[str, Any]:
    return {"conditions": [{"type": "AbleToScale", "status": "False", "reason": "FailedGetScale"}]}


def on_delete(revisions: list[str | None], strategy: dict[str, Any] | None = None) -> Change:
    """A StatefulSet of revision v2 whose status lags, with pods of these revisions."""

    def do(case: Case) -> None:
        made = case.own("StatefulSet", updateStrategy=strategy or {"type": "OnDelete"})
        made.status.currentRevision, made.status.updateRevision = "v1", "v2"
        for pod, revision in zip(case.snapshot.pods, revisions, strict=True):
            if revision is not None:
                pod.metadata.labels = {"controller-revision-hash": revision}

    return do


REFUSED: list[tuple[str, Change]] = [
    ("ELG001", change("pod.metadata.ownerReferences", None)),
    ("ELG002", lambda c: c.own("DaemonSet")),
    ("ELG003", annotate(names.MIRROR, "hash")),
    ("ELG003", annotate(names.SOURCE, "file")),
    ("ELG003", lambda c: c.own("Node")),
    ("ELG004", change("pod.status.phase", "Pending")),
    ("ELG005", change("pod.metadata.deletionTimestamp", NOW)),
    ("ELG005", lambda c: setattr(namespace(c), "deletionTimestamp", NOW)),
    ("ELG005", lambda c: c.snapshot.namespaces.clear()),
    ("ELG006", lambda c: c.condition("Ready", "False")),
    ("ELG006", lambda c: c.condition("Ready", since=LATELY)),
    ("ELG006", change("pod.status.conditions", None)),
    ("ELG007", change("pod.metadata.creationTimestamp", NOW - timedelta(minutes=9))),
    ("ELG007", change("pod.metadata.creationTimestamp", None)),
    ("ELG008", lambda c: c.limit(protectedNamespaces=["default"])),
    ("ELG008", lambda c: c.limit(protectedNamespaces=["def*"])),
    ("ELG008", lambda c: c.rename("kube-system")),
    ("ELG008", lambda c: c.rename("kube-node-lease")),
    ("ELG008", both(lambda c: c.rename("kube-system"), lambda c: c.limit(protectedNamespaces=[]))),
    (
        "ELG008",
        both(
            lambda c: c.rename("kube-system"),
            lambda c: c.limit(protectedNamespaces=["payments"]),
        ),
    ),
    ("ELG009", change("pod.spec.priority", 2_000_000_000)),
    ("ELG009", change("pod.spec.priorityClassName", "system-node-critical")),
    ("ELG009", both(change("pod.spec.priority", 7), lambda c: c.limit(maxPriority=6))),
    ("ELG037", change("pod.spec.evictionResponders", [Named(name="db.example.com/fail-over")])),
    ("ELG010", lambda c: c.mount(**LOCAL)),
    ("ELG010", lambda c: c.mount(emptyDir={})),
    ("ELG010", lambda c: c.mount(ephemeral={"volumeClaimTemplate": {}})),
    ("ELG010", bound_to_a_host_path),
    ("ELG010", bound_to_a_local_volume),
    ("ELG011", annotate(names.SAFE_TO_EVICT, "false")),
    ("ELG011", annotate(names.SAFE_TO_EVICT, "on-completion")),
    ("ELG011", annotate(names.DO_NOT_DISRUPT, "true")),
    ("ELG011", annotate(names.DO_NOT_DISRUPT, "48h")),
    ("ELG011", annotate(names.DO_NOT_DISRUPT, "soon")),
    ("ELG011", annotate(names.PREFER_NO_EVICTION, "")),
    ("ELG011", annotate(names.EVICTION_IN_PROGRESS, "true")),
    ("ELG011", annotate(names.DO_NOT_DISRUPT, "")),
    ("ELG011", annotate(names.OPT_OUT, "true")),
    ("ELG011", annotate(names.OPT_OUT, "")),
    ("ELG011", annotate(names.OPT_OUT, " ")),
    ("ELG011", annotate(names.OPT_OUT, "no")),
    ("ELG011", annotate(names.OPT_OUT, "until")),
    ("ELG011", annotate(names.OPT_OUT, "2020-01-01T00:00:00Z")),
    ("ELG011", lambda c: setattr(namespace(c), "annotations", {names.OPT_OUT: ""})),
    ("ELG011", annotate(names.OPT_OUT, "until 2026-11-21T12:00:01Z")),
    ("ELG011", annotate(names.OPT_OUT, "until tomorrow")),
    ("ELG011", annotate(names.OPT_OUT, "until 2026-11-21T11:00:00")),
    ("ELG011", change("top.metadata.annotations", {names.OPT_OUT: "true"})),
    ("ELG011", annotate(names.EVICT, "false")),
    ("ELG011", annotate(names.EVICTABLE, "False")),
    ("ELG011", annotate(names.REMOVAL_DISABLED, "true")),
    ("ELG011", label(names.REMOVAL_DISABLED)),
    ("ELG011", label(names.EVICTION_DISABLED)),
    ("ELG011", label(names.RESTRICT_SCALE_DOWN)),
    ("ELG012", lambda c: c.limit(minReplicas=4)),
    ("ELG024", change("top.status.readyReplicas", 2)),
    ("ELG024", change("top.status.readyReplicas", 0)),
    ("ELG013", change("top.metadata.generation", 2)),
    ("ELG013", change("top.status.updatedReplicas", 2)),
    ("ELG013", change("top.spec.replicas", 2)),
    ("ELG013", both(lambda c: c.own("StatefulSet"), change("top.status.replicas", 4))),
    ("ELG013", both(lambda c: c.own("StatefulSet"), change("top.status.replicas", 2))),
    ("ELG013", lambda c: c.scale(currentReplicas=3, desiredReplicas=4)),
    ("ELG013", lambda c: c.scale(currentReplicas=3, desiredReplicas=3, lastScaleTime=LATELY)),
    ("ELG013", lambda c: c.scale(currentReplicas=3, desiredReplicas=5, **scaling("True"))),
    ("ELG013", lambda c: c.scale(currentReplicas=3, desiredReplicas=2, **limited())),
    ("ELG013", two_autoscalers(4, 3)),
    ("ELG013", on_delete(["v2", "v2", "v1"])),
    ("ELG013", on_delete(["v2", "v2", None])),
    ("ELG013", both(on_delete(["v2"] * 3), change("top.status.updatedReplicas", 2))),
    ("ELG013", on_delete(["v2"] * 3, {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})),
    ("ELG013", two_autoscalers(3, 4)),
    ("ELG014", job()),
    ("ELG014", job(**failure_policy("FailJob"))),
    ("ELG014", job(**failure_policy("Ignore", "Other"))),
    # The first rule that applies decides, and a pod that is ended may exit with any code.
    ("ELG014", job(podFailurePolicy={"rules": [{"action": "FailJob"}, IGNORED]})),
    ("ELG014", job(podFailurePolicy={"rules": [{"action": "Count"}, IGNORED]})),
    ("ELG015", lambda c: c.own("Shard")),
    ("ELG015", lambda c: c.snapshot.controllers.clear()),
    ("ELG015", change("top.metadata.deletionTimestamp", NOW)),
    ("ELG016", change("pod.spec.schedulingGroup", {"podGroupName": "ring"})),
    ("ELG016", change("pod.spec.workloadRef", {"name": "train", "podGroup": "ring"})),
    ("ELG016", change("pod.metadata.labels", {"scheduling.x-k8s.io/pod-group": "ring"})),
    ("ELG016", annotate("scheduling.k8s.io/group-name", "ring")),
    ("ELG017", lambda c: c.claim(nodes=["n1"])),
    ("ELG017", lambda c: c.claim(modes=["ReadWriteOncePod"])),
    ("ELG017", lambda c: c.mount(persistentVolumeClaim={"claimName": "nowhere"})),
    ("ELG019", change("pod.metadata.labels", {"app.kubernetes.io/name": "prometheus"})),
    ("ELG020", change("node.status.conditions", [])),
    ("ELG020", change("node.spec.unschedulable", True)),
    ("ELG020", change("node.metadata.creationTimestamp", NOW - timedelta(minutes=5))),
    ("ELG020", taint("ToBeDeletedByClusterAutoscaler")),
    ("ELG020", taint("DeletionCandidateOfClusterAutoscaler")),
    ("ELG020", taint("karpenter.sh/disrupted")),
    ("ELG020", taint("cloud.google.com/impending-node-termination")),
    ("ELG020", taint("node.cluster.x-k8s.io/outdated-revision", "PreferNoSchedule")),
    ("ELG020", tolerating()),
    ("ELG020", tolerating({"key": "other", "operator": "Exists"})),
    ("ELG020", tolerating({"key": "maintenance", "operator": "Exists", "tolerationSeconds": 60})),
    # The first that covers the taint counts.
    (
        "ELG020",
        tolerating({"operator": "Exists", "tolerationSeconds": 60}, {"operator": "Exists"}),
    ),
    ("ELG020", change("pod.node", "elsewhere")),
    ("ELG021", lambda c: c.condition("PodResizeInProgress")),
    ("ELG022", lambda c: c.past()),
    ("ELG022", lambda c: c.past(state="evicted", at=NOW - timedelta(hours=2))),
    ("ELG022", lambda c: c.past(state="intended", at=NOW - timedelta(hours=2))),
    ("ELG022", lambda c: c.past(podUid=c.pod.metadata.uid, workload="", state="lost")),
    ("ELG022", lambda c: c.past(at=NOW - timedelta(minutes=50), landedOn="n2")),
    ("DAT001", lambda c: c.undecodable("PodDisruptionBudget")),
]


@pytest.mark.parametrize(("code", "change"), REFUSED)
def test_a_pod_is_refused_with_its_code(code: str, change: Change) -> None:
    assert settled().verdict() == ""
    assert settled(change).verdict() == code


ALLOWED: list[Change] = [
    both(lambda c: c.limit(localStorage="Allow"), lambda c: c.mount(**LOCAL)),
    lambda c: c.mount(emptyDir={"medium": "Memory"}),
    both(lambda c: c.limit(localStorage="Allow"), bound_to_a_host_path),
    both(lambda c: c.limit(localStorage="Allow"), bound_to_a_local_volume),
    both(lambda c: c.mount(**LOCAL), annotate(names.SAFE_TO_EVICT, "true")),
    both(lambda c: c.mount(**LOCAL), annotate(names.SAFE_VOLUMES, "logs, data")),
    annotate(names.DO_NOT_DISRUPT, "false"),
    annotate(names.DO_NOT_DISRUPT, "1h30m"),
    annotate(names.OPT_OUT, "until 2026-11-21T11:59:59Z"),
    annotate(names.OPT_OUT, "false"),
    annotate(names.PREFER_NO_EVICTION, "false"),
    change("pod.spec.evictionResponders", [Named(name="imperative-eviction.k8s.io/evictor")]),
    annotate(names.EVICT, "true"),
    annotate(names.EVICTABLE, "true"),
    label(names.REMOVAL_DISABLED, "false"),
    label(names.RESTRICT_SCALE_DOWN, "False"),
    job(**failure_policy("Ignore")),
    both(lambda c: c.limit(jobs="Allow"), lambda c: c.own("Job")),
    lambda c: c.own("StatefulSet"),
    lambda c: c.claim(nodes=["n1", "n2"]),
    lambda c: c.claim(),
    lambda c: c.scale(currentReplicas=3, desiredReplicas=3),
    lambda c: c.scale(currentReplicas=3, desiredReplicas=0),
    lambda c: c.scale(currentReplicas=3, desiredReplicas=0, **scaling("False")),
    lambda c: c.scale(currentReplicas=3, desiredReplicas=5, **scaling("False")),
    lambda c: c.scale(currentReplicas=3, desiredReplicas=5, **scaling("Unknown")),
    lambda c: c.scale(currentReplicas=0, desiredReplicas=3, **without_target()),
    on_delete(["v2"] * 3),
    on_delete(["v2"] * 3, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}}),
    on_delete(["v2"] * 3, {"type": "OnDelete", "rollingUpdate": {"partition": 2}}),
    lambda c: c.past(at=NOW - timedelta(minutes=31)),
    lambda c: c.past(state="refused"),
    lambda c: c.past(workload="another"),
    taint("dedicated"),
    taint("maintenance", "PreferNoSchedule"),
    tolerating({"key": "maintenance", "operator": "Exists"}),
    tolerating({"operator": "Exists"}, {"operator": "Exists", "tolerationSeconds": 60}),
    annotate(names.OPT_OUT, " False "),
    lambda c: c.limit(protectedNamespaces=["payments", "defaults*"]),
]


@pytest.mark.parametrize("change", ALLOWED)
def test_a_pod_may_move(change: Change) -> None:
    assert settled(change).verdict() == ""


def test_moves_of_the_plan_itself_start_no_cool_down() -> None:
    case = settled(lambda c: c.past(plan="now"))
    asked = Eligibility(case.snapshot, case.limits, case.history, plan="now")
    assert asked.refusal(0) is None
    case.past(plan="now", state="evicted")
    awaited = Eligibility(case.snapshot, case.limits, case.history, plan="now").refusal(0)
    assert awaited is not None
    assert awaited.code == "ELG022"


def test_times_are_reported_as_people_read_them() -> None:
    cooling = settled(lambda c: c.past(at=NOW - timedelta(minutes=50), landedOn="n2"))
    again = settled(lambda c: c.past(podUid=c.pod.metadata.uid, workload="", state="lost"))
    for case in (cooling, again):
        refused = Eligibility(case.snapshot, case.limits, case.history).refusal(0)
        assert refused is not None
        assert refused.code == "ELG022"
        assert re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\b", refused.message), refused.message


def test_annotations_that_are_read_are_in_the_list_that_sources_keep() -> None:
    read = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)}
    lists = {*names.GPU_INDICES, *names.GANG_SIZES}
    assert read | names.GANGS | lists == names.READ


def test_an_owner_that_cannot_make_pods_is_refused() -> None:
    case = settled()
    case.top.status.conditions = [
        ConditionWithMessage(type="ReplicaFailure", status="True", reason="FailedCreate")
    ]
    assert case.verdict() == "ELG015"


def test_a_node_that_would_evict_the_replacement_is_not_counted_on() -> None:
    case = settled(lambda c: c.node.spec.__setattr__("taints", None))
    maintained = case.snapshot.nodes[3]
    maintained.spec.taints = [Taint(key="rack-7", effect="NoExecute")]
    brief = Toleration(key="rack-7", operator="Exists", tolerationSeconds=300)
    for number, tolerations in enumerate([[brief], [Toleration(operator="Exists")], None]):
        case.snapshot.pods[number].spec.tolerations = tolerations
    asked = Eligibility(case.snapshot, case.limits, case.history)
    assert [asked.places.avoided_for(pod).tolist() for pod in range(3)] == [
        [False, False, False, True],
        [False, False, False, False],
        [False, False, False, True],
    ]
    assert not asked.places.unstable.any()
    for pod, code in ((0, "FEA016"), (1, None)):
        found = asked.places.arrival(pod, 3)
        assert (found.code if found else None) == code
