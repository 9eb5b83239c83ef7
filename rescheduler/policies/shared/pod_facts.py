"""What a match asks of pods beside names and labels, for all pods of a snapshot at once.

Each is found once for each group of like pods, and spread over these.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rescheduler.kube.objects import Pod, Volume
from rescheduler.kube.pods.pod_requests import pod_requests
from rescheduler.kube.storage import PersistentVolumeClaim
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.match import NO_OWNER, ClaimMatch

_BUDGET = "PodDisruptionBudget"


def run_by(kinds: Sequence[str], snapshot: Snapshot) -> BoolArray:
    """(pods,) whether one of these kinds runs each: at the top of its owners, or right above it."""
    chosen = [
        workload.kind in kinds or workload.controller_kind in kinds
        for workload in snapshot.workloads
    ]
    return np.array([*chosen, NO_OWNER in kinds], dtype=np.bool_)[snapshot.pod_workload]


def owner_kinds(snapshot: Snapshot) -> set[str]:
    """The kinds that run pods of the snapshot."""
    kinds = {workload.kind for workload in snapshot.workloads}
    return kinds | {workload.controller_kind for workload in snapshot.workloads}


def requests_any(names: Sequence[str], snapshot: Snapshot) -> BoolArray:
    """(pods,) whether each requests any of these resources."""
    specs, of_pod = snapshot.pod_asking
    spec_requests = map(pod_requests, specs)
    chosen = [any(amount.get(name, 0) > 0 for name in names) for amount in spec_requests]
    return np.array(chosen, dtype=np.bool_)[of_pod]


def requested_resources(snapshot: Snapshot) -> set[str]:
    """The resources that pods of the snapshot request."""
    specs, _ = snapshot.pod_asking
    return {name for spec in specs for name, amount in pod_requests(spec).items() if amount > 0}


def uses_claim(match: ClaimMatch, snapshot: Snapshot, *, unknown: bool) -> BoolArray:
    """(pods,) whether each uses such a claim. unknown: the answer for a claim that is not known."""
    kin, of_pod = snapshot.pod_kin
    claims = snapshot.claim_index
    chosen = [
        _claims(snapshot.pods[index], match, claims, unknown=unknown) for index in kin.tolist()
    ]
    return np.array(chosen, dtype=np.bool_)[of_pod]


def _claims(
    pod: Pod,
    match: ClaimMatch,
    claims: Mapping[tuple[str, str], PersistentVolumeClaim],
    *,
    unknown: bool,
) -> bool:
    volumes = [volume for volume in pod.spec.volumes or () if _of_claim(volume)]
    if match.storageClasses is None:
        return bool(volumes)
    class_names = [_storage_class(pod, volume, claims) for volume in volumes]
    return any(unknown if name is None else name in match.storageClasses for name in class_names)


def _of_claim(volume: Volume) -> bool:
    return volume.persistentVolumeClaim is not None or volume.ephemeral is not None


def _storage_class(
    pod: Pod, volume: Volume, claims: Mapping[tuple[str, str], PersistentVolumeClaim]
) -> str | None:
    """The StorageClass of the volume's claim; None where it is not known.

    That of an ephemeral volume is made with the name of the pod and of the volume.
    """
    name = f"{pod.metadata.name}-{volume.name}"
    if volume.persistentVolumeClaim is not None:
        name = volume.persistentVolumeClaim.claimName
    claim = claims.get((pod.metadata.namespace, name))
    if claim is not None:
        return claim.spec.storageClassName or ""
    template = (volume.ephemeral or {}).get("volumeClaimTemplate") or {}
    class_name = (template.get("spec") or {}).get("storageClassName")
    return class_name if isinstance(class_name, str) else None


def has_resource_claims(snapshot: Snapshot) -> BoolArray:
    """(pods,) whether each has ResourceClaims."""
    kin, of_pod = snapshot.pod_kin
    chosen = [bool(snapshot.pods[index].spec.resourceClaims) for index in kin.tolist()]
    return np.array(chosen, dtype=np.bool_)[of_pod]


def storage_classes(snapshot: Snapshot) -> set[str]:
    """The names of StorageClasses, and of those that claims name."""
    named = {claim.spec.storageClassName for claim in snapshot.claims} - {None, ""}
    return {storage_class.metadata.name for storage_class in snapshot.storage_classes} | {
        str(one) for one in named
    }


def has_budget(snapshot: Snapshot, *, exists: bool, unknown: bool) -> BoolArray:
    """(pods,) whether a PodDisruptionBudget selects each, or where `exists` is False, none does.

    unknown: the answer where one that might select the pod could not be read.
    """
    doubtful = {
        undecodable.namespace for undecodable in snapshot.undecodable if undecodable.kind == _BUDGET
    }
    representatives, of_pod = snapshot.pod_template
    unsure = [
        _BUDGET in snapshot.unread or snapshot.pods[index].metadata.namespace in doubtful
        for index in representatives.tolist()
    ]
    answers = snapshot.budgeted if exists else ~snapshot.budgeted
    doubt = np.array(unsure, dtype=np.bool_)[of_pod] & ~snapshot.budgeted
    return np.where(doubt, unknown, answers)
