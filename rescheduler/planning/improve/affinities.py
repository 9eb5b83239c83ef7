"""Required affinity between pods, where it is simple enough to be kept as counters.

Simple is a term whose selector is one label, in the pod's own namespace: anti-affinity by hostname
to the pod's own label, and affinity by one key of the topology. Pods with anything else are not
moved here, and none that are selected, where one is by two labels; planning may still move them
one at a time, with the scheduler's own rules. What others with anything else forbid to pods that
come is not counted: a move is only worth planning once the scheduler's model accepts it.
"""

from dataclasses import dataclass

import numpy as np

from rescheduler.kube.objects import PodAffinity, PodAffinityTerm, PodSpec
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.model.snapshot import Snapshot

_HOSTNAME = "kubernetes.io/hostname"
_Label = tuple[str, str, str]
"""A namespace, a key and a value: the pods with this label."""


@dataclass(frozen=True, slots=True)
class _Wants:
    """What one spec wants: to be apart from its like, and near others by a key."""

    apart: tuple[str, str] | None = None
    near: tuple[tuple[str, str], ...] = ()
    key: str = ""


@dataclass(slots=True)
class Affinities:
    """group: (pods,) the label that terms select it by, as a number, -1 for none.

    apart: (pods,) its group, where no two of it may share a node, else -1.
    needs: (k, 2) a group and one that it needs in its domains. key: of these domains, "" for none.
    known: (pods,) whether all that the pod requires of others is in here.
    """

    group: IntArray
    apart: IntArray
    needs: IntArray
    key: str
    known: BoolArray


def affinities(snapshot: Snapshot) -> Affinities:
    """What the pods of the snapshot require of each other."""
    wants = [_wants(each) for each in snapshot.specs]
    of_spec = snapshot.pod_spec.tolist()
    key = next((each.key for each in wants if each is not None and each.key), "")
    pods = snapshot.pods
    numbers = _numbered(snapshot, wants)
    if not numbers:
        nobody = np.full(len(pods), -1, dtype=np.int32)
        known = np.array([each is not None for each in wants], dtype=np.bool_)[snapshot.pod_spec]
        return Affinities(nobody, nobody, np.empty((0, 2), dtype=np.int32), key, known)
    keys = {label[1] for label in numbers}
    group = np.full(len(pods), -1, dtype=np.int32)
    apart = np.full(len(pods), -1, dtype=np.int32)
    known = np.ones(len(pods), dtype=np.bool_)
    separate: set[int] = set()
    mixed = False
    needs: dict[int, set[int]] = {}
    for number, place in enumerate(of_spec):
        metadata, want = pods[number].metadata, wants[place]
        labels = metadata.labels or {}
        found = [
            numbers[label]
            for name in keys & labels.keys()
            if (label := (metadata.namespace, name, labels[name])) in numbers
        ]
        if found:
            group[number] = found[0]
            mixed |= len(found) > 1
        if want is None or len(found) > 1 or (want.key and want.key != key):
            known[number] = False
            continue
        if want.apart is not None:
            if numbers[metadata.namespace, *want.apart] == group[number]:
                separate.add(int(group[number]))
            else:
                known[number] = False
        if want.near:
            wanted = {numbers[metadata.namespace, *each] for each in want.near}
            if group[number] < 0 or needs.setdefault(int(group[number]), wanted) != wanted:
                known[number] = False
    if mixed:  # a pod that is counted in one group is missing in another
        known &= group < 0
    alone = np.isin(group, np.array(sorted(separate), dtype=np.int32))
    apart[alone] = group[alone]
    pairs = [(one, other) for one, others in needs.items() for other in sorted(others)]
    return Affinities(group, apart, np.array(pairs, dtype=np.int32).reshape(-1, 2), key, known)


def _numbered(snapshot: Snapshot, wants: list[_Wants | None]) -> dict[_Label, int]:
    """The labels by which terms select pods, numbered as they come up."""
    numbers: dict[_Label, int] = {}
    wanting = np.array([each is not None and each != _NOTHING for each in wants], dtype=np.bool_)
    for number in np.flatnonzero(wanting[snapshot.pod_spec]).tolist():
        pod, want = snapshot.pods[number], wants[int(snapshot.pod_spec[number])]
        for label in () if want is None else (*want.near, *([want.apart] if want.apart else [])):
            numbers.setdefault((pod.metadata.namespace, *label), len(numbers))
    return numbers


def _wants(spec: PodSpec) -> _Wants | None:
    """What the spec requires, None where that cannot be kept as counters."""
    if any(
        (
            spec.topologySpreadConstraints,
            spec.resourceClaims,
            spec.schedulingGates,
            spec.hostNetwork,
            any(each.persistentVolumeClaim or each.ephemeral for each in spec.volumes or ()),
            any(port.hostPort for each in spec.containers for port in each.ports or ()),
        )
    ):
        return None
    if spec.affinity is None:
        return _NOTHING
    apart, near = _required(spec.affinity.podAntiAffinity), _required(spec.affinity.podAffinity)
    labels = [_label(each) for each in (*apart, *near)]
    if None in labels or len(apart) > 1 or any(each.topologyKey != _HOSTNAME for each in apart):
        return None
    keys = {each.topologyKey for each in near}
    if len(keys) > 1:
        return None
    found = [each for each in labels if each is not None]
    return _Wants(
        found[0] if apart else None, tuple(sorted(found[len(apart) :])), next(iter(keys), "")
    )


_NOTHING = _Wants()


def _required(affinity: PodAffinity | None) -> list[PodAffinityTerm]:
    found = None if affinity is None else affinity.requiredDuringSchedulingIgnoredDuringExecution
    return found or []


def _label(term: PodAffinityTerm) -> tuple[str, str] | None:
    selector = term.labelSelector
    other = (term.namespaces, term.namespaceSelector, term.matchLabelKeys, term.mismatchLabelKeys)
    if selector is None or any(each is not None for each in other) or selector.matchExpressions:
        return None
    labels = selector.matchLabels or {}
    return next(iter(labels.items())) if len(labels) == 1 else None
