"""The volume claims of a pod: which volumes they are bound to, or why that cannot be modelled."""

from collections.abc import Iterable

from rescheduler.model.objects import PodSpec
from rescheduler.model.storage import PersistentVolume, PersistentVolumeClaim


class Claims:
    """Claims and volumes by name."""

    def __init__(
        self, claims: Iterable[PersistentVolumeClaim], volumes: Iterable[PersistentVolume]
    ) -> None:
        self._claims = {(each.metadata.namespace, each.metadata.name): each for each in claims}
        self._volumes = {each.metadata.name: each for each in volumes}

    def problem(self, namespace: str, spec: PodSpec) -> str | None:
        """Why the scheduler's answer depends on something not modelled, or None.

        Binding of unbound claims, and claims that the scheduler would wait for, are not modelled.
        """
        for volume in spec.volumes or ():
            if volume.ephemeral is not None:
                return f"volume {volume.name} is a claim that is made anew for the replacement"
        for name in names(spec):
            claim = self._claims.get((namespace, name))
            if claim is None:
                return f"claim {namespace}/{name} is not in the snapshot"
            if claim.metadata.deletionTimestamp is not None:
                return f"claim {namespace}/{name} is being deleted"
            if claim.status.phase != "Bound" or not claim.spec.volumeName:
                return f"claim {namespace}/{name} is {claim.status.phase or 'not bound'}"
            if claim.spec.volumeName not in self._volumes:
                return f"volume {claim.spec.volumeName} is not in the snapshot"
        return None

    def volumes(self, namespace: str, spec: PodSpec) -> list[PersistentVolume]:
        """The volumes that the pod's claims are bound to; only for a pod without a problem."""
        return [
            self._volumes[self._claims[namespace, name].spec.volumeName] for name in names(spec)
        ]

    def exclusive(self, namespace: str, spec: PodSpec) -> list[str]:
        """The names of the pod's claims that only one pod in the cluster may use."""
        return [
            name
            for name in names(spec)
            if "ReadWriteOncePod" in (self._claims[namespace, name].spec.accessModes or ())
        ]


def names(spec: PodSpec) -> list[str]:
    """The names of the claims that a pod's volumes refer to."""
    return [
        each.persistentVolumeClaim.claimName
        for each in spec.volumes or ()
        if each.persistentVolumeClaim is not None
    ]
