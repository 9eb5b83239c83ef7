"""Required affinity between pods, where it is simple enough to be kept as counters.

Simple is a term whose selector is one label, in the pod's own namespace: anti-affinity by hostname
to the pod's own label, and affinity by one key of the topology. Pods with anything else are not
moved here, and none that are selected, where one is by two labels; planning may still move them
one at a time, with the scheduler's own rules. What others with anything else forbid to pods that
come is not counted: a move is only worth planning once the scheduler's model accepts it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from rescheduler.kube.objects import (
    Affinity,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
)
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot

_HOSTNAME = "kubernetes.io/hostname"
_encode = msgspec.msgpack.Encoder().encode
_Label = tuple[str, str, str]
"""A namespace, a key and a value: the pods with this label."""


@dataclass(frozen=True, slots=True)
class _Wants:
    """What one spec wants: to be apart from its like, and near others by a key."""

    apart: tuple[str, str] | None = None
    near: tuple[tuple[str, str], ...] = ()
    key: str = ""


@dataclass(slots=True)
class RequiredAffinities:
    """group: (pods,) the label that terms select it by, as a number, -1 for none.

    apart: (pods,) its group, where no two of it may share a node, else -1.
    needs: (k, 2) a group and one that it needs in its domains. key: of these domains, "" for none.
    complete: (pods,) whether all that the pod requires of others is in here.
    """

    group: IntArray
    apart: IntArray
    needs: IntArray
    key: str
    complete: BoolArray


def affinities(snapshot: Snapshot) -> RequiredAffinities:
    """What the pods of the snapshot require of each other."""
    wants, of_spec = _every_want(snapshot.specs)
    key = next(
        (spec_want.key for spec_want in wants if spec_want is not None and spec_want.key), ""
    )
    kinds = _Kinds(snapshot, of_spec[snapshot.pod_spec])
    numbers = _number_labels(kinds, wants)
    if not numbers:
        nobody = np.full(len(snapshot.pods), -1, dtype=np.int32)
        complete = np.array([spec_want is not None for spec_want in wants], dtype=np.bool_)[
            kinds.want
        ]
        return RequiredAffinities(nobody, nobody, np.empty((0, 2), dtype=np.int32), key, complete)
    keys = {label[1] for label in numbers}
    group = np.full(len(kinds), -1, dtype=np.int32)
    complete = np.ones(len(kinds), dtype=np.bool_)
    separate: set[int] = set()
    mixed = False
    needs: dict[int, set[int]] = {}
    for number, (metadata, place) in enumerate(kinds):
        want = wants[place]
        labels = metadata.labels or {}
        groups = [
            numbers[label]
            for name in keys & labels.keys()
            if (label := (metadata.namespace, name, labels[name])) in numbers
        ]
        own = groups[0] if groups else -1
        group[number] = own
        mixed |= len(groups) > 1
        if want is None or len(groups) > 1 or (want.key and want.key != key):
            complete[number] = False
            continue
        if want.apart is not None:
            if numbers[metadata.namespace, *want.apart] == own:
                separate.add(own)
            else:
                complete[number] = False
        if want.near:
            wanted = {numbers[metadata.namespace, *label] for label in want.near}
            if own < 0 or needs.setdefault(own, wanted) != wanted:
                complete[number] = False
    if mixed:  # a pod that is counted in one group is missing in another
        complete &= group < 0
    alone = np.isin(group, np.array(sorted(separate), dtype=np.int32))
    apart = np.where(alone, group, -1).astype(np.int32)
    pairs = [(one, other) for one, others in needs.items() for other in sorted(others)]
    return RequiredAffinities(
        group[kinds.of_pod],
        apart[kinds.of_pod],
        np.array(pairs, dtype=np.int32).reshape(-1, 2),
        key,
        complete[kinds.of_pod],
    )


class _Kinds:
    """Pods of one namespace, labels and wants are of one kind; kinds are as they come up.

    want: (pods,) the place of what each wants. of_pod: (pods,) the kind of each.
    """

    def __init__(self, snapshot: Snapshot, want: IntArray) -> None:
        self._snapshot, self.want = snapshot, want
        _, template = snapshot.pod_template
        both = template.astype(np.int64) * (int(want.max(initial=0)) + 1) + want
        _, first, of_pod = np.unique(both, return_index=True, return_inverse=True)
        self._first = np.sort(first)
        self.of_pod = np.argsort(np.argsort(first))[of_pod.ravel()]

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[tuple[ObjectMeta, int]]:
        """The metadata of one pod of each kind, and the place of what it wants."""
        pods = self._snapshot.pods
        for pod, want in zip(self._first.tolist(), self.want[self._first].tolist(), strict=True):
            yield pods[pod].metadata, want


def _number_labels(kinds: _Kinds, wants: list[_Wants | None]) -> dict[_Label, int]:
    """The labels by which terms select pods, numbered as they come up."""
    numbers: dict[_Label, int] = {}
    if all(spec_want is None or spec_want == _NOTHING for spec_want in wants):
        return numbers
    for metadata, place in kinds:
        want = wants[place]
        for label in () if want is None else (*want.near, *([want.apart] if want.apart else [])):
            numbers.setdefault((metadata.namespace, *label), len(numbers))
    return numbers


def _every_want(specs: Sequence[PodSpec]) -> tuple[list[_Wants | None], IntArray]:
    """What specs require, each once; (specs,) its place. None is what cannot be counters."""
    by_content: dict[bytes, int] = {}
    by_identity: dict[int, int] = {}  # the snapshot keeps every spec alive
    wants: list[_Wants | None] = [None]
    of_spec = np.zeros(len(specs), dtype=np.int32)
    for number, spec in enumerate(specs):
        if not _simple(spec):
            continue
        place = by_identity.get(id(spec.affinity))
        if place is None:
            place = by_content.setdefault(_encode(spec.affinity), len(wants))
            by_identity[id(spec.affinity)] = place
            if place == len(wants):
                wants.append(_wants(spec.affinity))
        of_spec[number] = place
    return wants, of_spec


def _simple(spec: PodSpec) -> bool:
    """Whether nothing of the spec but its affinity is about other pods."""
    if spec.topologySpreadConstraints or spec.resourceClaims or spec.schedulingGates:
        return False
    if spec.volumes and any(
        volume.persistentVolumeClaim or volume.ephemeral for volume in spec.volumes
    ):
        return False
    if spec.hostNetwork:
        return False
    return not any(
        port.hostPort
        for container in spec.containers
        if container.ports
        for port in container.ports
    )


def _wants(affinity: Affinity | None) -> _Wants | None:
    """What the affinity requires, None where that cannot be kept as counters."""
    if affinity is None:
        return _NOTHING
    apart, near = _required_terms(affinity.podAntiAffinity), _required_terms(affinity.podAffinity)
    labels = [_label(term) for term in (*apart, *near)]
    if None in labels or len(apart) > 1 or any(term.topologyKey != _HOSTNAME for term in apart):
        return None
    keys = {term.topologyKey for term in near}
    if len(keys) > 1:
        return None
    simple_labels = [label for label in labels if label is not None]
    return _Wants(
        simple_labels[0] if apart else None,
        tuple(sorted(simple_labels[len(apart) :])),
        next(iter(keys), ""),
    )


_NOTHING = _Wants()


def _required_terms(affinity: PodAffinity | None) -> list[PodAffinityTerm]:
    terms = None if affinity is None else affinity.requiredDuringSchedulingIgnoredDuringExecution
    return terms or []


def _label(term: PodAffinityTerm) -> tuple[str, str] | None:
    selector = term.labelSelector
    other = (term.namespaces, term.namespaceSelector, term.matchLabelKeys, term.mismatchLabelKeys)
    if selector is None or any(field is not None for field in other) or selector.matchExpressions:
        return None
    labels = selector.matchLabels or {}
    return next(iter(labels.items())) if len(labels) == 1 else None
