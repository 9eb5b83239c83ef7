"""Marks by which other tools say that a node is about to go, is being repaired, or is broken.

Kubernetes itself has no word for most of it, so each tool has its own taint, condition, label or
annotation. A node that is Ready may carry any of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rescheduler.kube.objects import Node

Source = Literal["taint", "condition", "label", "annotation"]


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


_LEAVING: dict[Source, str] = {
    # Kubernetes, Cluster API; cluster-autoscaler, Karpenter, Cast AI; node termination handlers of
    # AWS, Google and Azure; kured, OpenShift, Gardener; node maintenance operators.
    "taint": """
        node.kubernetes.io/unschedulable
        node.kubernetes.io/not-ready
        node.kubernetes.io/unreachable
        node.kubernetes.io/out-of-service
        node.cloudprovider.kubernetes.io/shutdown
        node.cloudprovider.kubernetes.io/uninitialized
        node.cluster.x-k8s.io/uninitialized
        node.cluster.x-k8s.io/outdated-revision
        ToBeDeletedByClusterAutoscaler
        DeletionCandidateOfClusterAutoscaler
        karpenter.sh/disrupted
        karpenter.sh/disruption
        karpenter.sh/unregistered
        autoscaling.cast.ai/draining
        aws-node-termination-handler/spot-itn
        aws-node-termination-handler/scheduled-maintenance
        aws-node-termination-handler/asg-lifecycle-termination
        aws-node-termination-handler/rebalance-recommendation
        cloud.google.com/impending-node-termination
        baremetal.cluster.gke.io/maintenance
        remediator.aks.microsoft.com/unschedulable
        remediator.kubernetes.azure.com/unschedulable
        weave.works/kured-node-reboot
        UpdateInProgress
        deployment.machine.sapcloud.io/prefer-no-schedule
        medik8s.io/drain
        medik8s.io/remediation
        kubevirt.io/drain
    """,
    # Kubernetes 1.37; machine controllers of OpenShift and Gardener; AKS for spot VMs; draino.
    "condition": """
        DrainInProgress
        Drained
        MaintenanceInProgress
        GracefulNodeShutdownInProgress
        Terminating
        PreemptionScheduled
        PreemptScheduled
        TerminateScheduled
        RedeployScheduled
        DrainScheduled
    """,
    # Cast AI, GKE, Flatcar, and the driver upgrades of NVIDIA's operators.
    "label": """
        autoscaling.cast.ai/draining
        cloud.google.com/active-node-maintenance=ONGOING
        flatcar-linux-update.v1.flatcar-linux.net/reboot-in-progress=true
        flatcar-linux-update.v1.flatcar-linux.net/before-reboot=true
        nvidia.com/gpu-driver-upgrade-state=upgrade-required
        nvidia.com/gpu-driver-upgrade-state=node-maintenance-required
        nvidia.com/gpu-driver-upgrade-state=post-maintenance-required
        nvidia.com/gpu-driver-upgrade-state=cordon-required
        nvidia.com/gpu-driver-upgrade-state=wait-for-jobs-required
        nvidia.com/gpu-driver-upgrade-state=pod-deletion-required
        nvidia.com/gpu-driver-upgrade-state=drain-required
        nvidia.com/gpu-driver-upgrade-state=pod-restart-required
        nvidia.com/gpu-driver-upgrade-state=validation-required
        nvidia.com/gpu-driver-upgrade-state=uncordon-required
        nvidia.com/mig.config.state=pending
        nvidia.com/mig.config.state=rebooting
        nvidia.com/ofed-driver-upgrade-state=upgrade-required
        nvidia.com/ofed-driver-upgrade-state=cordon-required
        nvidia.com/ofed-driver-upgrade-state=wait-for-jobs-required
        nvidia.com/ofed-driver-upgrade-state=pod-deletion-required
        nvidia.com/ofed-driver-upgrade-state=drain-required
        nvidia.com/ofed-driver-upgrade-state=pod-restart-required
        nvidia.com/ofed-driver-upgrade-state=validation-required
        nvidia.com/ofed-driver-upgrade-state=uncordon-required
    """,
    # kured with --annotate-nodes, OpenShift's machine config daemon, Flatcar.
    "annotation": """
        weave.works/kured-reboot-in-progress
        machineconfiguration.openshift.io/state=Working
        machineconfiguration.openshift.io/state=Rebooting
        flatcar-linux-update.v1.flatcar-linux.net/reboot-in-progress=true
    """,
}
_AVOIDED: dict[Source, str] = {
    # Kubernetes for kubelets that evict for want of something; GPU operators and agents.
    "taint": """
        node.kubernetes.io/memory-pressure
        node.kubernetes.io/disk-pressure
        node.kubernetes.io/pid-pressure
        node.kubernetes.io/network-unavailable
        cloud.google.com/maintenance-window-started
        startup-taint.cluster-autoscaler.kubernetes.io/
        amd-gpu-unhealthy
    """,
    # Kubernetes; AKS; EKS node monitoring agent; node-problem-detector and AKS' and Nebius' own
    # checks for it.
    "condition": """
        MaintenancePlanned
        MemoryPressure
        DiskPressure
        PIDPressure
        NetworkUnavailable
        VMEventScheduled
        RebootScheduled
        FreezeScheduled
        AcceleratedHardwareReady=False
        ContainerRuntimeReady=False
        KernelReady=False
        NetworkingReady=False
        StorageReady=False
        KernelDeadlock
        ReadonlyFilesystem
        FilesystemCorruptionProblem
        XfsShutdown
        XfsHang
        Ext4Error
        CorruptDockerOverlay2
        CperHardwareErrorFatal
        KubeletUnhealthy
        KubeletProblem
        ContainerRuntimeUnhealthy
        ContainerRuntimeProblem
        FrequentKubeletRestart
        FrequentDockerRestart
        FrequentContainerdRestart
        FrequentUnregisterNetDevice
        GPUMissing
        NVLinkStatusInactive
        XIDErrors
        IBLinkFlapping
        UnhealthyNvidiaDevicePlugin
        UnhealthyNvidiaDCGMServices
        NebiusBootDiskIOError
        NebiusGPUError
    """,
    # Flatcar, GKE, NVIDIA's operators.
    "label": """
        flatcar-linux-update.v1.flatcar-linux.net/reboot-needed=true
        cloud.google.com/active-node-maintenance=PENDING
        cloud.google.com/perform-maintenance=true
        nvidia.com/gpu-driver-upgrade-state=upgrade-failed
        nvidia.com/ofed-driver-upgrade-state=upgrade-failed
        nvidia.com/mig.config.state=failed
    """,
    "annotation": """
        machineconfiguration.openshift.io/state=Degraded
        machineconfiguration.openshift.io/state=Unreconcilable
    """,
}


def _marks(table: dict[Source, str]) -> tuple[NodeMark, ...]:
    return tuple(
        node_mark(source, text) for source, lines in table.items() for text in lines.split()
    )


LEAVING = _marks(_LEAVING)
"""Somebody is taking the node away, or is about to: it is neither left nor counted on."""
AVOIDED = _marks(_AVOIDED)
"""The node is broken or will be down for a while: pods may leave it, and none is sent there."""


class NodeMarks:
    """Finds marks on nodes."""

    def __init__(self, marks: Iterable[NodeMark]) -> None:
        self._values: dict[Source, dict[str, set[str]]] = {}
        self._prefixes: list[str] = []
        for mark in marks:
            if mark.source == "taint" and mark.name.endswith("/"):
                self._prefixes.append(mark.name)
            self._values.setdefault(mark.source, {}).setdefault(mark.name, set()).add(mark.value)

    def on(self, node: Node) -> str:
        """The first mark that the node carries, in words; "" where it has none."""
        return next((NodeMark(*each).text for each in self._carried(node)), "")

    def _carried(self, node: Node) -> Iterator[tuple[Source, str, str]]:
        found = self._values
        if taints := found.get("taint"):
            for taint in node.spec.taints or ():
                if self._counts(taints, taint.key, taint.value or "") or (
                    self._prefixes and taint.key.startswith(tuple(self._prefixes))
                ):
                    yield "taint", taint.key, taint.value or ""
        if conditions := found.get("condition"):
            for condition in node.status.conditions or ():
                if self._counts(conditions, condition.type, condition.status):
                    yield "condition", condition.type, condition.status
        if labels := found.get("label"):
            yield from self._among("label", labels, node.metadata.labels)
        if notes := found.get("annotation"):
            yield from self._among("annotation", notes, node.metadata.annotations)

    def _among(
        self, source: Source, marks: dict[str, set[str]], given: dict[str, str] | None
    ) -> Iterator[tuple[Source, str, str]]:
        for name in marks.keys() & (given or {}).keys():
            value = (given or {})[name]
            if self._counts(marks, name, value):
                yield source, name, value

    @staticmethod
    def _counts(marks: dict[str, set[str]], name: str, value: str) -> bool:
        """Whether the mark is one that is looked for; one of any value does not count if false."""
        values = marks.get(name)
        if values is None:
            return False
        return value in values or ("" in values and value.lower() != "false")
