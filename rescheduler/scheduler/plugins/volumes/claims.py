"""The volume claims of a pod: which volumes they are bound to, and which wait for its node."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from rescheduler.kube import annotations
from rescheduler.kube.objects import ObjectMeta, Pod, PodSpec
from rescheduler.kube.storage import (
    ClaimSpec,
    ClaimStatus,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.scheduler.handle import Handle

_LATE = "WaitForFirstConsumer"
_NEEDED_TO_BIND = frozenset(
    {"StorageClass", "CSIDriver", "CSIStorageCapacity", "CSINode", "VolumeAttachment"}
)


@dataclass(slots=True)
class PodClaims:
    """The claims of one shape.

    bound: the volumes of its bound claims. waiting: unbound claims that the scheduler binds.
    exclusive: names of claims that only one pod in the cluster may use.
    hopeless: why no node is feasible whatever it offers, or "".
    """

    bound: list[PersistentVolume] = field(default_factory=list)
    waiting: list[PersistentVolumeClaim] = field(default_factory=list)
    exclusive: list[str] = field(default_factory=list)
    hopeless: str = ""


class Claims:
    """Claims, volumes and classes by name."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._claims, self._volumes = snapshot.claim_index, snapshot.volume_index
        self._classes = {
            storage_class.metadata.name: storage_class for storage_class in snapshot.storage_classes
        }
        self._unread = frozenset(snapshot.unread)
        self._default = _default_class(snapshot.storage_classes)

    @classmethod
    def new(cls, handle: Handle) -> "Claims":
        """Those of the cluster, for all volume plugins."""
        return cls(handle.snapshot)

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """The claim of that name."""
        return self._claims.get((namespace, name))

    def volume(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """The volume that the claim names, bound to it or not."""
        return self._volumes.get(claim.spec.volumeName)

    def storage_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        """The class of a claim; the default one stands in at creation, not here."""
        return self._classes.get(class_of(claim))

    def pod_claims(self, namespace: str, spec: PodSpec) -> PodClaims:
        """The claims of a pod that has no problem."""
        answer = PodClaims()
        for claim, name in self._required_claims(namespace, spec):
            if claim is None:
                answer.hopeless = f"claim {namespace}/{name} is not there"
            elif claim.metadata.deletionTimestamp is not None:
                answer.hopeless = f"claim {namespace}/{name} is being deleted"
            elif claim.status.phase == "Lost":
                answer.hopeless = f"claim {namespace}/{name} is Lost"
            elif _is_bound(claim):
                volume = self._volumes.get(claim.spec.volumeName)
                if volume is None:
                    answer.hopeless = f"volume {claim.spec.volumeName} is not there"
                else:
                    answer.bound.append(volume)
            elif self._late(claim) and not claim.spec.volumeName:
                answer.waiting.append(claim)
            else:
                answer.hopeless = f"claim {namespace}/{name} is bound to no volume yet"
            if claim is not None and "ReadWriteOncePod" in (claim.spec.accessModes or ()):
                answer.exclusive.append(name)
        return answer

    def problem(self, pod: Pod) -> str | None:
        """Why the scheduler's answer cannot be predicted, or None."""
        if not pod.spec.volumes:
            return None
        namespace = pod.metadata.namespace
        for volume in pod.spec.volumes:
            if volume.ephemeral is None or pod.node:
                continue
            made = self.claim(namespace, f"{pod.metadata.name}-{volume.name}")
            if made is not None and (_is_bound(made) or selected_node(made)):
                return f"the claim of its volume {volume.name} is bound already, but not the pod"
        for claim, name in self._required_claims(namespace, pod.spec):
            reason = self._unclear(claim, name)
            if reason:
                return reason
        # A pod that runs has its claims; where they show otherwise, something has changed.
        return self.pod_claims(namespace, pod.spec).hopeless or None if pod.node else None

    def _unclear(self, claim: PersistentVolumeClaim | None, name: str) -> str:
        if claim is None:
            return ""
        volume = self._volumes.get(claim.spec.volumeName)
        if _is_bound(claim):
            if volume is None:
                return ""
            if volume.spec.migrated:
                return f"volume {volume.metadata.name} is of a kind that is translated to CSI"
            missing = self._unread & {"CSINode", "VolumeAttachment"}
            if volume.spec.csi is not None and missing:
                kinds = ", ".join(sorted(missing))
                return f"volume {volume.metadata.name} is a driver's, and {kinds} was not read"
            return ""
        missing = self._unread & _NEEDED_TO_BIND
        if missing:
            return f"claim {name} is not bound, and {', '.join(sorted(missing))} was not read"
        if not claim.status.phase and not self._late(claim):
            return f"claim {name} is created again, and bound before the pod is scheduled"
        return ""

    def _late(self, claim: PersistentVolumeClaim) -> bool:
        """Whether the claim is bound only when the scheduler has chosen a node."""
        storage_class = self.storage_class(claim)
        return storage_class is not None and storage_class.volumeBindingMode == _LATE

    def _required_claims(
        self, namespace: str, spec: PodSpec
    ) -> Iterator[tuple[PersistentVolumeClaim | None, str]]:
        """Each claim that the pod refers to, or will have when it has been made, and its name."""
        for volume in spec.volumes or ():
            if volume.persistentVolumeClaim is not None:
                name = volume.persistentVolumeClaim.claimName
                yield self._claims.get((namespace, name)), name
            elif volume.ephemeral is not None:
                yield self.ephemeral_claim(namespace, volume.name, volume.ephemeral), volume.name

    def ephemeral_claim(
        self, namespace: str, name: str, ephemeral: dict[str, object]
    ) -> PersistentVolumeClaim:
        """The claim that will be made for an ephemeral volume; it has no phase yet."""
        template = ephemeral.get("volumeClaimTemplate") or {}
        raw = template.get("spec") or {} if isinstance(template, dict) else {}
        spec = msgspec.convert(raw, ClaimSpec)
        if spec.storageClassName is None:
            spec.storageClassName = self._default
        return PersistentVolumeClaim(
            metadata=ObjectMeta(name=name, namespace=namespace),
            spec=spec,
            status=ClaimStatus(),
        )


def class_of(claimed: PersistentVolumeClaim | PersistentVolume) -> str:
    """The class of a claim or volume; the annotation from before the field still counts."""
    notes = claimed.metadata.annotations or {}
    return notes.get(annotations.BETA_CLASS, claimed.spec.storageClassName or "")


def selected_node(claim: PersistentVolumeClaim) -> str:
    """The node for which the claim is being provisioned already, or ""."""
    return (claim.metadata.annotations or {}).get(annotations.SELECTED_NODE, "")


def names(spec: PodSpec) -> list[str]:
    """The names of the claims that a pod's volumes refer to."""
    return [
        volume.persistentVolumeClaim.claimName
        for volume in spec.volumes or ()
        if volume.persistentVolumeClaim is not None
    ]


def _is_bound(claim: PersistentVolumeClaim) -> bool:
    return claim.status.phase == "Bound" and bool(claim.spec.volumeName)


def _default_class(classes: list[StorageClass]) -> str:
    """The class of a new claim that names none: the newest of the default ones."""
    chosen = [
        storage_class
        for storage_class in classes
        if (storage_class.metadata.annotations or {}).get(annotations.DEFAULT_CLASS) == "true"
    ]
    chosen.sort(key=lambda storage_class: storage_class.metadata.name)
    chosen.sort(
        key=lambda storage_class: (
            created.timestamp() if (created := storage_class.metadata.creationTimestamp) else 0
        ),
        reverse=True,
    )
    return chosen[0].metadata.name if chosen else ""
