"""Marks by which other tools say that a node is about to go, is being repaired, or is broken.

Kubernetes itself has no word for most of it, so each tool has its own taint, condition, label or
annotation. A node that is Ready may carry any of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rescheduler.kube.mark_words import condition_warns, taint_warns
from rescheduler.kube.objects import Node

Source = Literal["taint", "condition", "label", "annotation"]
_SOURCES: dict[str, Source] = {
    "taint": "taint",
    "condition": "condition",
    "label": "label",
    "annotation": "annotation",
}


@dataclass(frozen=True, slots=True)
class NodeMark:
    """One mark of nodes.

    name: the key of a taint, label or annotation, or the type of a condition; a taint's key that
    ends in `/` stands for all keys with that prefix. value: "" is any; of a condition its status.
    """

    source: Source
    name: str
    value: str = ""

    @property
    def text(self) -> str:
        """The mark as people write it: `condition Terminating=True`."""
        return f"{self.source} {self.name}" + (f"={self.value}" if self.value else "")


def node_mark(source: Source, text: str) -> NodeMark:
    """The mark of `name` or `name=value`; a condition without a status is one that is True."""
    name, _, value = text.partition("=")
    return NodeMark(source, name, value or ("True" if source == "condition" else ""))


KNOWN_LEAVING: dict[str, str] = {
    "Kubernetes": """
        taint node.kubernetes.io/unschedulable
        taint node.kubernetes.io/not-ready
        taint node.kubernetes.io/unreachable
        taint node.kubernetes.io/out-of-service
        taint node.cloudprovider.kubernetes.io/shutdown
        taint node.cloudprovider.kubernetes.io/uninitialized
        condition DrainInProgress
        condition Drained
        condition MaintenanceInProgress
        condition GracefulNodeShutdownInProgress
    """,
    "Cluster API": """
        taint node.cluster.x-k8s.io/uninitialized
        taint node.cluster.x-k8s.io/outdated-revision
    """,
    "cluster-autoscaler": """
        taint ToBeDeletedByClusterAutoscaler
        taint DeletionCandidateOfClusterAutoscaler
    """,
    "Karpenter": """
        taint karpenter.sh/disrupted
        taint karpenter.sh/disruption
        taint karpenter.sh/unregistered
    """,
    "Cast AI": """
        taint autoscaling.cast.ai/draining
        label autoscaling.cast.ai/draining
    """,
    "EKS: node termination handler": """
        taint aws-node-termination-handler/spot-itn
        taint aws-node-termination-handler/scheduled-maintenance
        taint aws-node-termination-handler/asg-lifecycle-termination
        taint aws-node-termination-handler/rebalance-recommendation
    """,
    "GKE": """
        taint cloud.google.com/impending-node-termination
        taint baremetal.cluster.gke.io/maintenance
        label cloud.google.com/active-node-maintenance=ONGOING
    """,
    "AKS": """
        taint remediator.aks.microsoft.com/unschedulable
        taint remediator.kubernetes.azure.com/unschedulable
        condition PreemptionScheduled
        condition PreemptScheduled
        condition TerminateScheduled
        condition RedeployScheduled
        label kubernetes.azure.com/upgrade-status=Quarantined
    """,
    "OpenShift": """
        taint UpdateInProgress
        condition Terminating
        annotation machineconfiguration.openshift.io/state=Working
        annotation machineconfiguration.openshift.io/state=Rebooting
    """,
    "kured": """
        taint weave.works/kured-node-reboot
        annotation weave.works/kured-reboot-in-progress
    """,
    "Gardener": """
        taint deployment.machine.sapcloud.io/prefer-no-schedule
    """,
    "draino": """
        condition DrainScheduled
    """,
    "Flatcar": """
        label flatcar-linux-update.v1.flatcar-linux.net/reboot-in-progress=true
        label flatcar-linux-update.v1.flatcar-linux.net/before-reboot=true
        annotation flatcar-linux-update.v1.flatcar-linux.net/reboot-in-progress=true
    """,
    "node maintenance operators": """
        taint medik8s.io/drain
        taint medik8s.io/remediation
        taint kubevirt.io/drain
    """,
    "NVIDIA operators": """
        label nvidia.com/gpu-driver-upgrade-state=node-maintenance-required
        label nvidia.com/gpu-driver-upgrade-state=post-maintenance-required
        label nvidia.com/gpu-driver-upgrade-state=cordon-required
        label nvidia.com/gpu-driver-upgrade-state=wait-for-jobs-required
        label nvidia.com/gpu-driver-upgrade-state=pod-deletion-required
        label nvidia.com/gpu-driver-upgrade-state=drain-required
        label nvidia.com/gpu-driver-upgrade-state=pod-restart-required
        label nvidia.com/gpu-driver-upgrade-state=validation-required
        label nvidia.com/gpu-driver-upgrade-state=uncordon-required
        label nvidia.com/ofed-driver-upgrade-state=cordon-required
        label nvidia.com/ofed-driver-upgrade-state=wait-for-jobs-required
        label nvidia.com/ofed-driver-upgrade-state=pod-deletion-required
        label nvidia.com/ofed-driver-upgrade-state=drain-required
        label nvidia.com/ofed-driver-upgrade-state=pod-restart-required
        label nvidia.com/ofed-driver-upgrade-state=validation-required
        label nvidia.com/ofed-driver-upgrade-state=uncordon-required
        label nvidia.com/mig.config.state=pending
        label nvidia.com/mig.config.state=rebooting
    """,
    "NVSentinel": """
        label dgxc.nvidia.com/nvsentinel-state=quarantined
        label dgxc.nvidia.com/nvsentinel-state=draining
        label dgxc.nvidia.com/nvsentinel-state=drain-succeeded
        label dgxc.nvidia.com/nvsentinel-state=remediating
    """,
}
"""Who says that somebody is taking a node away, or is about to, and by which marks."""

KNOWN_AVOIDED: dict[str, str] = {
    "Kubernetes": """
        taint node.kubernetes.io/memory-pressure
        taint node.kubernetes.io/disk-pressure
        taint node.kubernetes.io/pid-pressure
        taint node.kubernetes.io/network-unavailable
        condition MaintenancePlanned
        condition MemoryPressure
        condition DiskPressure
        condition PIDPressure
        condition NetworkUnavailable
    """,
    "cluster-autoscaler": """
        taint startup-taint.cluster-autoscaler.kubernetes.io/
    """,
    "EKS: node monitoring agent": """
        condition AcceleratedHardwareReady=False
        condition ContainerRuntimeReady=False
        condition KernelReady=False
        condition NetworkingReady=False
        condition StorageReady=False
    """,
    "GKE": """
        taint cloud.google.com/maintenance-window-started
        label cloud.google.com/active-node-maintenance=PENDING
        label cloud.google.com/perform-maintenance=true
    """,
    "AKS": """
        condition VMEventScheduled
        condition RebootScheduled
        condition FreezeScheduled
    """,
    "node-problem-detector, AKS": """
        condition KernelDeadlock
        condition ReadonlyFilesystem
        condition FilesystemCorruptionProblem
        condition XfsShutdown
        condition XfsHang
        condition Ext4Error
        condition CorruptDockerOverlay2
        condition CperHardwareErrorFatal
        condition KubeletUnhealthy
        condition KubeletProblem
        condition ContainerRuntimeUnhealthy
        condition ContainerRuntimeProblem
        condition FrequentKubeletRestart
        condition FrequentDockerRestart
        condition FrequentContainerdRestart
        condition FrequentUnregisterNetDevice
        condition GPUMissing
        condition NVLinkStatusInactive
        condition XIDErrors
        condition IBLinkFlapping
        condition UnhealthyNvidiaDevicePlugin
        condition UnhealthyNvidiaDCGMServices
    """,
    "Nebius": """
        condition NebiusBootDiskIOError
        condition NebiusGPUError
    """,
    "NVSentinel": """
        label dgxc.nvidia.com/nvsentinel-state=drain-failed
        label dgxc.nvidia.com/nvsentinel-state=remediation-failed
    """,
    "OpenShift": """
        annotation machineconfiguration.openshift.io/state=Degraded
        annotation machineconfiguration.openshift.io/state=Unreconcilable
    """,
    "Flatcar": """
        label flatcar-linux-update.v1.flatcar-linux.net/reboot-needed=true
    """,
    "NVIDIA operators": """
        label nvidia.com/gpu-driver-upgrade-state=upgrade-required
        label nvidia.com/gpu-driver-upgrade-state=upgrade-failed
        label nvidia.com/ofed-driver-upgrade-state=upgrade-required
        label nvidia.com/ofed-driver-upgrade-state=upgrade-failed
        label nvidia.com/mig.config.state=failed
    """,
    "AMD GPU operator": """
        taint amd-gpu-unhealthy
    """,
}
"""Who says that a node is broken, or will be down for a while, and by which marks."""


def known_marks(lines: str) -> tuple[NodeMark, ...]:
    """The marks of one who sets them."""
    words = [line.split() for line in lines.strip().splitlines()]
    return tuple(node_mark(_SOURCES[source], text) for source, text in words)


def _marks(table: dict[str, str]) -> tuple[NodeMark, ...]:
    return tuple(mark for lines in table.values() for mark in known_marks(lines))


LEAVING = _marks(KNOWN_LEAVING)
"""The node is neither left nor counted on."""
AVOIDED = _marks(KNOWN_AVOIDED)
"""Pods may leave the node, and none is sent there."""


_LISTED = {(mark.source, mark.name) for mark in (*LEAVING, *AVOIDED)}
"""Of which the tables say what they mean."""


class NodeMarks:
    """Finds marks on nodes."""

    def __init__(
        self,
        marks: Iterable[NodeMark],
        *,
        by_name: bool = False,
        ignored: Iterable[NodeMark] = (),
    ) -> None:
        """by_name: also taints and conditions of no list whose names warn, but the ignored."""
        self._ignored = NodeMarks(ignored) if by_name else None
        self._values: dict[Source, dict[str, set[str]]] = {}
        for mark in marks:
            self._values.setdefault(mark.source, {}).setdefault(mark.name, set()).add(mark.value)
        taints = self._values.get("taint", {})
        self._prefixes = tuple(key for key in taints if key.endswith("/"))

    def first_mark(self, node: Node) -> str:
        """The first mark that the node carries, in words; "" where it has none."""
        return next((NodeMark(*mark).text for mark in self._marks_on_node(node)), "")

    def _marks_on_node(self, node: Node) -> Iterator[tuple[Source, str, str]]:
        for taint in node.spec.taints or ():
            value = taint.value or ""
            if self.counts("taint", taint.key, value) or (
                taint_warns(taint.key) and self._warns("taint", taint.key, value)
            ):
                yield "taint", taint.key, value
        for condition in node.status.conditions or ():
            kind, status = condition.type, condition.status
            if self.counts("condition", kind, status) or (
                condition_warns(kind, status) and self._warns("condition", kind, status)
            ):
                yield "condition", kind, status
        if "label" in self._values:
            yield from self._matching_marks("label", node.metadata.labels)
        if "annotation" in self._values:
            yield from self._matching_marks("annotation", node.metadata.annotations)

    def _matching_marks(
        self, source: Source, entries: dict[str, str] | None
    ) -> Iterator[tuple[Source, str, str]]:
        for name in self._values[source].keys() & (entries or {}).keys():
            value = (entries or {})[name]
            if self.counts(source, name, value):
                yield source, name, value

    def _warns(self, source: Source, name: str, value: str) -> bool:
        """Whether a mark whose name warns counts: the tables and the operator say nothing of it."""
        if self._ignored is None or (source, name) in _LISTED:
            return False
        off = source == "taint" and value.lower() == "false"
        return not off and not self._ignored.counts(source, name, value)

    def counts(self, source: Source, name: str, value: str) -> bool:
        """Whether the mark is one that is looked for; one of any value does not count if false."""
        values = self._values.get(source, {}).get(name)
        if values is None:
            return source == "taint" and name.startswith(self._prefixes)
        return value in values or ("" in values and value.lower() != "false")
