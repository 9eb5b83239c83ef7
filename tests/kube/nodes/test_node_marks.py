"""Which marks say that a node is about to go, or that nothing should be sent there."""

import pytest

from rescheduler.kube.nodes.node_marks import AVOIDED as AVOIDED_MARKS
from rescheduler.kube.nodes.node_marks import LEAVING as LEAVING_MARKS
from rescheduler.kube.objects import Condition, Node, ObjectMeta, Taint
from rescheduler.policies.limits import Limits
from tests.cases import every
from tests.cluster import node
from tests.docsite.policy_guide import guide


def marked(kind: str, name: str, value: str = "") -> Node:
    """A Ready node with one mark."""
    made: Node = node("n1")
    if kind == "taint":
        made.spec.taints = [Taint(key=name, value=value, effect="PreferNoSchedule")]
    elif kind == "condition":
        made.status.conditions = [
            *(made.status.conditions or []),
            Condition(type=name, status=value or "True"),
        ]
    else:
        metadata: ObjectMeta = made.metadata
        setattr(metadata, f"{kind}s", {name: value})
    return made


LEAVING = [
    ("taint", "weave.works/kured-node-reboot"),
    ("taint", "UpdateInProgress"),
    ("taint", "deployment.machine.sapcloud.io/prefer-no-schedule"),
    ("taint", "DeletionCandidateOfClusterAutoscaler", "1764321000"),
    ("taint", "karpenter.sh/disrupted"),
    ("taint", "autoscaling.cast.ai/draining", "true"),
    ("taint", "remediator.kubernetes.azure.com/unschedulable"),
    ("condition", "PreemptionScheduled"),
    ("condition", "DrainInProgress"),
    ("condition", "GracefulNodeShutdownInProgress"),
    ("label", "cloud.google.com/active-node-maintenance", "ONGOING"),
    ("label", "nvidia.com/gpu-driver-upgrade-state", "drain-required"),
    ("annotation", "weave.works/kured-reboot-in-progress", "2026-11-21T11:58:00Z"),
    ("annotation", "machineconfiguration.openshift.io/state", "Working"),
    ("label", "kubernetes.azure.com/upgrade-status", "Quarantined"),
]
AVOIDED = [
    ("condition", "MaintenancePlanned"),
    ("condition", "VMEventScheduled"),
    ("condition", "ReadonlyFilesystem"),
    ("condition", "KernelDeadlock"),
    ("condition", "MemoryPressure"),
    ("condition", "AcceleratedHardwareReady", "False"),
    ("condition", "NetworkingReady", "False"),
    ("label", "nvidia.com/gpu-driver-upgrade-state", "upgrade-required"),
    ("label", "nvidia.com/gpu-driver-upgrade-state", "upgrade-failed"),
]
NEITHER = [
    ("taint", "nvidia.com/gpu", "present"),
    ("taint", "kubernetes.azure.com/scalesetpriority", "spot"),
    ("condition", "PreemptionScheduled", "False"),
    ("condition", "ReadonlyFilesystem", "Unknown"),
    ("condition", "AcceleratedHardwareReady", "True"),
    ("label", "nvidia.com/gpu-driver-upgrade-state", "upgrade-done"),
    ("label", "autoscaling.cast.ai/draining", "false"),
    ("annotation", "machineconfiguration.openshift.io/state", "Done"),
]


@pytest.mark.parametrize("mark", LEAVING, ids=" ".join)
def test_a_node_that_is_taken_away_is_neither_left_nor_counted_on(mark: tuple[str, ...]) -> None:
    found = Limits().leaving_marks.first_mark(marked(*mark))
    assert found.startswith(f"{mark[0]} {mark[1]}")


@pytest.mark.parametrize("mark", AVOIDED, ids=" ".join)
def test_nothing_is_sent_to_a_node_that_is_broken_or_soon_down(mark: tuple[str, ...]) -> None:
    assert Limits().leaving_marks.first_mark(marked(*mark)) == ""
    found = Limits().avoided_marks.first_mark(marked(*mark))
    assert found.startswith(f"{mark[0]} {mark[1]}")


@pytest.mark.parametrize("mark", NEITHER, ids=" ".join)
def test_other_marks_say_nothing(mark: tuple[str, ...]) -> None:
    assert Limits().leaving_marks.first_mark(marked(*mark)) == ""
    assert Limits().avoided_marks.first_mark(marked(*mark)) == ""


WARNS = [
    # What providers and node-problem-detector's own plugins call their conditions.
    *(
        ("condition", kind)
        for kind in (
            "DiskHung",
            "NTPProblem",
            "RuntimeOffline",
            "InodesPressure",
            "ScheduledEvent",
            "SpotPriceNodeReclaimNotification",
            "KUBELETProblem",
            "CRIProblem",
            "InstanceExpired",
            "NvidiaXidError",
            "RDMALinkDown",
            "GpuThermalWatch",
            "SysLogsXIDError",
            "RebootRequired",
            "MaintenanceScheduled",
            "ImpendingTermination",
            "HostNotReady",
            "PCIeSlow",
            "PacketLoss",
            "gpu-ecc-uncorrectable",
            "ReadOnlyRootFailure",
        )
    ),
    *(
        ("condition", kind, "False")
        for kind in ("StorageHealthy", "CNIReady", "GPUOperational", "NVLinkUp", "SriovAvailable")
    ),
    *(
        ("taint", key)
        for key in (
            "acme.test/reboot-pending",
            "maintenance",
            "node.acme.test/drain",
            "NodeUpgradeInProgress",
            "acme.test/spot-interruption",
            "acme.test/decommissioned",
            "storage.acme.test/unhealthy",
            "acme.test/agent-not-ready",
            "quarantine",
        )
    ),
]
SAYS_NOTHING = [
    *(
        ("condition", kind)
        for kind in (
            "EtcdIsVoter",
            "CNIReady",
            "GPUHealthy",
            "NoDiskProblem",
            "RunningLatestImage",
            "CiliumIsUp",
            "GpuEccEnabled",
            "GpuTemperatureNormal",
            "UpgradeComplete",
            "RebootSucceeded",
            "FaultDetection",
            "XidMonitorRunning",
            "MaintenanceWindowConfigured",
        )
    ),
    *(("condition", kind, "False") for kind in ("DiskHung", "EtcdIsVoter", "RebootRequired")),
    ("condition", "CNIReady", "Unknown"),
    *(
        ("taint", key)
        for key in (
            "dedicated",
            "spot",
            "colocation.test/offline-only",
            "fault-tolerant",
            "acme.test/eviction-tolerant",
            "preemption-allowed",
            "gpu-problem-detector",
            "cloud.google.com/gke-spot",
            "cloud.google.com/gke-preemptible",
            "cloud.google.com/gke-quick-remove",
            "qos.coreweave.cloud/interruptable",
            "node-role.kubernetes.io/control-plane",
            "CriticalAddonsOnly",
            "eks.amazonaws.com/compute-type",
            "sandbox.gke.io/runtime",
            "slow-disk",
            "low-priority",
            "maintenance.acme.test/gpu",
        )
    ),
    ("taint", "acme.test/draining", "false"),
]


@pytest.mark.parametrize("mark", WARNS, ids=" ".join)
def test_a_mark_that_nobody_has_listed_counts_where_its_name_warns(mark: tuple[str, ...]) -> None:
    kind, name, *_ = mark
    assert Limits().leaving_marks.first_mark(marked(*mark)) == ""
    assert Limits().avoided_marks.first_mark(marked(*mark)).startswith(f"{kind} {name}")
    text = "=".join(mark[1:]) if kind == "condition" else name
    limits = Limits.model_validate({"avoidNodes": [{kind: text, "ignore": True}]})
    assert limits.avoided_marks.first_mark(marked(*mark)) == ""


@pytest.mark.parametrize("mark", SAYS_NOTHING, ids=" ".join)
def test_other_names_say_nothing(mark: tuple[str, ...]) -> None:
    assert Limits().avoided_marks.first_mark(marked(*mark)) == ""


OWN = [
    ({"taint": "example.com/"}, marked("taint", "example.com/rack-7")),
    ({"taint": "rack=soon"}, marked("taint", "rack", "soon")),
    ({"condition": "Rack7"}, marked("condition", "Rack7")),
    ({"condition": "DiskFast=Unknown"}, marked("condition", "DiskFast", "Unknown")),
    ({"label": "rack-move"}, marked("label", "rack-move", "tonight")),
    ({"label": "state=old"}, marked("label", "state", "old")),
    (
        {"annotation": "ops.example.com/maintenance"},
        marked("annotation", "ops.example.com/maintenance", "2026-12-01 02:00, rack 7"),
    ),
    (
        {"annotation": "ops.example.com/plan=move to rack 7"},
        marked("annotation", "ops.example.com/plan", "move to rack 7"),
    ),
]


@pytest.mark.parametrize(("own", "on"), OWN)
def test_operators_name_marks_of_their_own(own: dict[str, str], on: Node) -> None:
    assert Limits().avoided_marks.first_mark(on) == ""
    avoided = Limits.model_validate({"avoidNodes": [own]})
    assert avoided.avoided_marks.first_mark(on) != ""
    assert avoided.leaving_marks.first_mark(on) == ""
    leaving = Limits.model_validate({"avoidNodes": [{**own, "leaving": True}]})
    assert leaving.leaving_marks.first_mark(on) != ""


@pytest.mark.parametrize(
    "mark",
    [
        ("taint", "DeletionCandidateOfClusterAutoscaler"),
        ("condition", "VMEventScheduled"),
        ("condition", "AcceleratedHardwareReady", "False"),
        ("label", "nvidia.com/gpu-driver-upgrade-state", "drain-required"),
        ("annotation", "machineconfiguration.openshift.io/state", "Working"),
    ],
)
def test_a_known_mark_can_be_ignored(mark: tuple[str, ...]) -> None:
    kind, name, *_ = mark
    text = "=".join(mark[1:]) if kind == "condition" else name
    limits = Limits.model_validate({"avoidNodes": [{kind: text, "ignore": True}]})
    assert (
        limits.leaving_marks.first_mark(marked(*mark))
        == limits.avoided_marks.first_mark(marked(*mark))
        == ""
    )


@every(
    [
        {},
        {"taint": "a", "label": "b"},
        {"condition": "A=Maybe"},
        {"taint": "a", "leaving": True, "ignore": True},
    ]
)
def test_a_mark_that_cannot_be_one_is_refused(written: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"taint|type|leaving"):
        Limits.model_validate({"avoidNodes": [written]})


def test_the_documentation_names_each_mark_once_for_each_who_sets_it() -> None:
    text = guide().split("## Marks of nodes", 1)[1].split("\n## ", 1)[0]
    for mark in (*LEAVING_MARKS, *AVOIDED_MARKS):
        assert text.count(f"`{mark.text}`") == 1, mark
    for who in ("EKS", "GKE", "AKS", "OpenShift", "kured"):
        assert f"| {who}" in text
