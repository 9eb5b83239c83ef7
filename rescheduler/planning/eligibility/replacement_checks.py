"""Whether a pod's replacement will be made, and be like the pod: ELG041, ELG042.

It is made from the template that the owner has now, by the rules that the namespace has now. What
does not show in the pod was changed after it was made.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property

import msgspec
import numpy as np

from rescheduler.kube import annotations
from rescheduler.kube.controllers import Namespace
from rescheduler.kube.limit_ranges import LimitRange, apply_limit_ranges, violation
from rescheduler.kube.nesting import decode_json
from rescheduler.kube.objects import Labels, Pod, PodSpec, Toleration
from rescheduler.kube.pods.pod_security import ENFORCE, refused_by
from rescheduler.kube.pods.template_parts import REQUESTS, images_of, requests_of, template_parts
from rescheduler.model.cluster.next_pods import NextPod
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem

LIMIT_RANGES = "LimitRange"
_CLASS = "priorityClassName"
_SELECTORS = (annotations.NODE_SELECTOR, annotations.OPENSHIFT_NODE_SELECTOR)
_CACHES = timedelta(minutes=1)
"""In which API servers surely see a change of a namespace in their caches."""
_RULES = {*_SELECTORS, annotations.DEFAULT_TOLERATIONS, ENFORCE}
"""Labels and annotations of a namespace by which admission changes or refuses its pods."""


class ReplacementChecks:
    """Answers for the pods of one snapshot; pods of one template are compared once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._next = snapshot.next_pods
        self._namespaces = {namespace.metadata.name: namespace for namespace in snapshot.namespaces}
        self._ranges = defaultdict[str, list[LimitRange]](list)
        for limit_range in snapshot.limit_ranges:
            self._ranges[limit_range.metadata.namespace].append(limit_range)
        self._classes = {
            priority_class.metadata.name: priority_class
            for priority_class in snapshot.priority_classes
        }
        default = next(
            (
                priority_class
                for priority_class in snapshot.priority_classes
                if priority_class.globalDefault
            ),
            None,
        )
        self._default_class = default.metadata.name if default is not None else ""
        self._known: dict[tuple[int, str, int], Problem | None] = {}
        self._parts: dict[tuple[int, str, bool], dict[str, object]] = {}
        self._kept: list[PodSpec] = []  # as long as these are alive, an id stands for one of them

    def refusal_mask(self, pods: IntArray) -> BoolArray:
        """(k,) whether `refusal` refuses each of the pods: of like pods one is checked for all."""
        some, of_pod = self._snapshot.pod_kin
        answer = np.zeros(len(some), dtype=np.bool_)
        for kin in np.unique(of_pod[pods]).tolist():
            answer[kin] = self.refusal(self._snapshot.pods[int(some[kin])]) is not None
        refused: BoolArray = answer[of_pod[pods]]
        return refused

    def refusal(self, pod: Pod) -> Problem | None:
        """Why the replacement of the pod would not be made, or be another pod, or None."""
        owner = pod.controller
        if owner is None:
            return None
        key = (id(pod.spec), owner.uid, id(pod.metadata.labels))
        if key not in self._known:
            self._known[key] = self._evaluate(pod)
        return self._known[key]

    def _evaluate(self, pod: Pod) -> Problem | None:
        following = self._next.next_pod_of(pod)
        if following is None:
            return None
        if LIMIT_RANGES in self._snapshot.unread:
            text = "whether its replacement would be made is not known: LimitRange was not read"
            return Problem("ELG042", text)
        differing = [*self._changed_fields(pod, following)]
        if differing:
            text = f"{following.source} has other {', '.join(differing)}"
            return Problem("ELG041", f"its replacement would not be like it: {text}")
        if following.doubt:
            text = f"what its replacement asks for is not known: {following.doubt}"
            return Problem("ELG041", text)
        why = self._refused_class(following) or self._refused_here(pod, following)
        return Problem("ELG042", why) if why else None

    def _changed_fields(self, pod: Pod, following: NextPod) -> Iterator[str]:
        """The fields that its replacement will have otherwise, but for requests.

        These are predicted. Of a container that admission adds, another image is only another
        version of what adds it.
        """
        labels = pod.metadata.labels or {}
        if any(labels.get(key) != value for key, value in following.labels.items()):
            yield "labels"
        priority_class = self._classes.get(pod.spec.priorityClassName)
        if priority_class is not None and pod.spec.priority not in (None, priority_class.value):
            yield "priority"
        here, next_one = (
            images_of(pod_spec, following.written) for pod_spec in (pod.spec, following.spec)
        )
        if any(here[name] != next_one[name] for name in here.keys() & next_one.keys()):
            yield "images"
        own, theirs = self._parts_of(pod, pod.spec), self._parts_of(pod, following.spec)
        theirs = theirs | {_CLASS: theirs[_CLASS] or self._default_class}
        for name, value in own.items():
            if name != REQUESTS and value != theirs[name]:
                yield name

    def _parts_of(self, pod: Pod, spec: PodSpec) -> dict[str, object]:
        """The parts of a spec in the namespace of the pod, without what its rules add to all."""
        namespace, owner = pod.metadata.namespace, pod.controller
        stateful = owner is not None and owner.kind == "StatefulSet"
        key = (id(spec), namespace, stateful)
        parts = self._parts.get(key)
        if parts is None:
            self._kept.append(spec)
            bare = self._bare(spec, namespace)
            parts = self._parts[key] = template_parts(bare, stateful=stateful)
        return parts

    def _bare(self, spec: PodSpec, namespace: str) -> PodSpec:
        """The spec without what the namespace adds to all of its pods."""
        added = _selector(self._namespaces.get(namespace))
        defaults = _tolerations(self._namespaces.get(namespace))
        own = {k: v for k, v in (spec.nodeSelector or {}).items() if added.get(k) != v}
        return msgspec.structs.replace(
            spec,
            nodeSelector=own or None,
            tolerations=[
                toleration for toleration in spec.tolerations or () if toleration not in defaults
            ]
            or None,
        )

    def _refused_class(self, following: NextPod) -> str:
        name = following.spec.priorityClassName
        if not name or not self._classes or name in self._classes:
            return ""
        return f"its replacement would be refused: there is no PriorityClass {name}"

    def _refused_here(self, pod: Pod, following: NextPod) -> str:
        """What rules of its namespace that came later would do to the replacement."""
        ranges = self._ranges[pod.metadata.namespace]
        spec = apply_limit_ranges(following.spec, ranges)
        if following.at is not None and requests_of(spec) != requests_of(following.spec):
            return "a LimitRange would give its replacement other requests"
        if why := violation(spec, ranges):
            return f"its replacement would be refused: {why}"
        namespace = self._namespaces.get(pod.metadata.namespace)
        changed = _rules_changed_at(namespace)
        shown = changed and following.at is not None and following.at > changed + _CACHES
        if namespace is None or shown:
            return ""
        level = (namespace.metadata.labels or {}).get(ENFORCE, "")
        if why := refused_by(level, spec):
            return f"its replacement would be refused: namespace enforces {level}, which bars {why}"
        added = _selector(namespace).items() - (pod.spec.nodeSelector or {}).items()
        tolerations = [
            toleration
            for toleration in _tolerations(namespace)
            if toleration not in (pod.spec.tolerations or ())
        ]
        if not (added or tolerations):
            return ""
        newest = self._shown_since(namespace, changed)
        if added and (newest is None or not added.isdisjoint((newest.nodeSelector or {}).items())):
            return "its namespace would add to the nodeSelector of its replacement"
        if any(
            newest is None or toleration in (newest.tolerations or ()) for toleration in tolerations
        ):
            return "its namespace would add tolerations to its replacement"
        return ""

    def _shown_since(self, namespace: Namespace, changed: datetime | None) -> PodSpec | None:
        """What admission made of the namespace's newest pod, if its rules were as they are now.

        The plugins that obey them are off in most clusters, and nothing else tells. None: unknown.
        """
        newest = self._newest.get(namespace.metadata.name)
        if newest is None or changed is None:
            return None
        made = newest.metadata.creationTimestamp
        return newest.spec if made is not None and made > changed + _CACHES else None

    @cached_property
    def _newest(self) -> dict[str, Pod]:
        """The newest pod of a controller in each namespace."""
        newest: dict[str, Pod] = {}
        for pod in self._snapshot.pods:
            made, name = pod.metadata.creationTimestamp, pod.metadata.namespace
            if made is None or pod.controller is None:
                continue
            before = newest[name].metadata.creationTimestamp if name in newest else None
            if before is None or made > before:
                newest[name] = pod
        return newest


def _rules_changed_at(namespace: Namespace | None) -> datetime | None:
    """When rules of the namespace for its pods were changed last; None where that is not known."""
    writes = namespace.metadata.managedFields if namespace is not None else None
    times = [write.time for write in writes or () if not _RULES.isdisjoint(write.keys)]
    dates = [time for time in times if time is not None]
    return max(dates) if dates and len(dates) == len(times) else None


def _selector(namespace: Namespace | None) -> Labels:
    """What the namespace adds to the nodeSelector of its pods."""
    notes = (namespace.metadata.annotations if namespace is not None else None) or {}
    pairs = (part.partition("=") for key in _SELECTORS for part in notes.get(key, "").split(","))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def _tolerations(namespace: Namespace | None) -> list[Toleration]:
    """What the namespace adds to the tolerations of its pods; nothing where that is no JSON."""
    notes = (namespace.metadata.annotations if namespace is not None else None) or {}
    try:
        return decode_json(
            notes.get(annotations.DEFAULT_TOLERATIONS, "[]").encode(), list[Toleration]
        )
    except msgspec.MsgspecError:
        return []
