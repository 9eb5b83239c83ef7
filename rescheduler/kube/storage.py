"""The storage objects that decide where a pod with volumes can be placed."""

import msgspec

from rescheduler.kube.objects import (
    Base,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    ObjectMeta,
    Resources,
)


class ClaimResources(Base):
    """spec.resources of a PersistentVolumeClaim; `requests` holds `storage`."""

    requests: Resources | None = None


class ClaimSpec(Base):
    """spec of a PersistentVolumeClaim."""

    volumeName: str = ""
    storageClassName: str | None = None
    accessModes: list[str] | None = None
    resources: ClaimResources | None = None
    selector: LabelSelector | None = None
    volumeMode: str | None = None
    volumeAttributesClassName: str | None = None


class ClaimStatus(Base):
    """status of a PersistentVolumeClaim."""

    phase: str = ""


class PersistentVolumeClaim(Base):
    """A PersistentVolumeClaim."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)
    status: ClaimStatus = msgspec.field(default_factory=ClaimStatus)


class VolumeNodeAffinity(Base):
    """nodeAffinity of a PersistentVolume."""

    required: NodeSelector | None = None


class ClaimReference(Base):
    """claimRef of a PersistentVolume: the claim that it is bound to, or reserved for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CSIVolumeSource(Base):
    """csi of a PersistentVolume."""

    driver: str = ""
    volumeHandle: str = ""


class InTreeSource(Base):
    """A volume source inside Kubernetes; only whether it is there matters."""


class PersistentVolumeSpec(Base):
    """spec of a PersistentVolume."""

    nodeAffinity: VolumeNodeAffinity | None = None
    accessModes: list[str] | None = None
    storageClassName: str = ""
    capacity: Resources | None = None
    claimRef: ClaimReference | None = None
    volumeMode: str | None = None
    volumeAttributesClassName: str | None = None
    csi: CSIVolumeSource | None = None
    hostPath: InTreeSource | None = None
    local: InTreeSource | None = None
    awsElasticBlockStore: InTreeSource | None = None
    azureDisk: InTreeSource | None = None
    azureFile: InTreeSource | None = None
    cinder: InTreeSource | None = None
    gcePersistentDisk: InTreeSource | None = None
    portworxVolume: InTreeSource | None = None
    vsphereVolume: InTreeSource | None = None

    @property
    def migrated(self) -> bool:
        """Whether the scheduler translates it to CSI before it evaluates its node affinity."""
        return any(
            (
                self.awsElasticBlockStore,
                self.azureDisk,
                self.azureFile,
                self.cinder,
                self.gcePersistentDisk,
                self.portworxVolume,
                self.vsphereVolume,
            )
        )


class PersistentVolume(Base):
    """A PersistentVolume."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: ClaimStatus = msgspec.field(default_factory=ClaimStatus)


class TopologySelectorTerm(Base):
    """allowedTopologies[] of a StorageClass; each expression's values are alternatives."""

    matchLabelExpressions: list[LabelSelectorRequirement] | None = None


class StorageClass(Base):
    """A StorageClass."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    provisioner: str = ""
    volumeBindingMode: str | None = None
    allowedTopologies: list[TopologySelectorTerm] | None = None


class CSIDriverSpec(Base):
    """spec of a CSIDriver."""

    storageCapacity: bool | None = None
    preventPodSchedulingIfMissing: bool | None = None


class CSIDriver(Base):
    """A CSIDriver."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class NodeResourceCount(Base):
    """allocatable of a driver on a node: how many volumes it can attach there."""

    count: int | None = None


class CSINodeDriver(Base):
    """spec.drivers[] of a CSINode."""

    name: str = ""
    allocatable: NodeResourceCount | None = None


class CSINodeSpec(Base):
    """spec of a CSINode."""

    drivers: list[CSINodeDriver] | None = None


class CSINode(Base):
    """A CSINode: which drivers a node has; it has the name of its node."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIStorageCapacity(Base):
    """A CSIStorageCapacity: how much room a class has for the nodes that `nodeTopology` selects."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    storageClassName: str = ""
    capacity: str | int | float | None = None
    maximumVolumeSize: str | int | float | None = None
    nodeTopology: LabelSelector | None = None


class AttachmentSource(Base):
    """spec.source of a VolumeAttachment."""

    persistentVolumeName: str | None = None


class AttachmentSpec(Base):
    """spec of a VolumeAttachment."""

    attacher: str = ""
    nodeName: str = ""
    source: AttachmentSource = msgspec.field(default_factory=AttachmentSource)


class VolumeAttachment(Base):
    """A VolumeAttachment: a volume that is, or is to be, attached to a node."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: AttachmentSpec = msgspec.field(default_factory=AttachmentSpec)
