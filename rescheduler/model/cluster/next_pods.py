"""What controllers will make next: the one answer to what the replacement of a pod will be."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby

from rescheduler.kube.arrays import IntArray
from rescheduler.kube.controllers import Controller
from rescheduler.kube.limit_ranges import LimitRange, apply_limit_ranges
from rescheduler.kube.objects import Labels, Pod, PodSpec
from rescheduler.kube.pods.containers import all_containers
from rescheduler.kube.pods.pod_requests import requests_key
from rescheduler.kube.pods.resources import largest, with_resources_of
from rescheduler.kube.pods.template_parts import requests_of

REVISION = "controller-revision-hash"
"""The label of a StatefulSet's pod with the revision of the template that it was made from."""
_TOGETHER = timedelta(hours=1)
"""Of two pods that were made within it, neither shows later than the other what is made now."""
_RETURNING = timedelta(days=1)
"""A recommendation comes back to what it was later than that: the recommender of the
VerticalPodAutoscaler halves the weight of what it has seen once a day."""


@dataclass(frozen=True, slots=True)
class NextPod:
    """The next pod of a controller.

    source: what shows it, in words; of the requests, what shows these. written: the names
    of the template's own containers. at: when the pod was made that shows it; None: the template
    does, without what admission adds. doubt: why its requests cannot be predicted, or "".
    """

    spec: PodSpec
    labels: Labels
    source: str
    requests_source: str
    written: frozenset[str]
    at: datetime | None = None
    doubt: str = ""


class NextPods:
    """The next pods of a snapshot, by the UID of their controllers.

    Admission changes what a template says, and the newest pod shows how: if it was made from the
    template as it is now. Whether it was, the revision of a StatefulSet says. The template of a Job
    stays, and so does that of a ReplicaSet with an owner, which makes another one for another
    template, as long as that owner alone has written it. Else `managedFields` say since when it is
    as it is; anybody may have emptied them, and then nothing tells.

    Requests are those of the newest pod that was never changed in place (`metadata.generation` is
    1), as a webhook such as that of a VerticalPodAutoscaler sets other ones from day to day. Where
    these are not the template's, pods that were changed in place show what that recommends now: the
    next pod asks for the larger of both, by resource, if no newer pod shows what is made now. Where
    all pods, and several, were changed to the same, it asks for the larger of the template and
    them. Else a resize was of that pod alone, and the next one is as if there had been none; where
    no other pod shows it, that is in doubt.
    """

    def __init__(
        self,
        pods: Sequence[Pod],
        controllers: Iterable[Controller],
        limit_ranges: Iterable[LimitRange] = (),
    ) -> None:
        self._pods = pods
        all_controllers = [*controllers]
        self._controllers = {
            controller.metadata.uid: controller
            for controller in all_controllers
            if controller.spec.template is not None
        }
        self._tracked = any(controller.metadata.managedFields for controller in all_controllers)
        self._ranges = defaultdict[str, list[LimitRange]](list)
        for limit_range in limit_ranges:
            self._ranges[limit_range.metadata.namespace].append(limit_range)
        self._known: dict[str, NextPod] = {}
        self._replaced: dict[tuple[int, str], Pod | None] = {}
        self._requests: dict[int, object] = {}

    def next_pod_of(self, pod: Pod) -> NextPod | None:
        """The next pod of its controller; None where no template is known."""
        owner = pod.controller
        if owner is None or owner.uid not in self._controllers:
            return None
        if owner.uid not in self._known:
            self._known[owner.uid] = self._evaluate(self._controllers[owner.uid])
        return self._known[owner.uid]

    def replacement(self, number: int) -> Pod:
        """The pod as its replacement will be: it, with the requests and limits of the next pod.

        The pod itself where it asks for that already, and where it still waits for a node: it is
        placed as it is. What else differs is a matter of ELG041.
        """
        pod = self._pods[number]
        owner = pod.controller
        if not pod.node or owner is None or owner.uid not in self._uneven:
            return pod
        key = (id(pod.spec), owner.uid)
        if key not in self._replaced:
            following = self.next_pod_of(pod)
            spec = pod.spec if following is None else with_resources_of(pod.spec, following.spec)
            same = spec is pod.spec or requests_key(spec) == requests_key(pod.spec)
            self._replaced[key] = None if same else Pod(spec=spec)
        made = self._replaced[key]
        if made is None:
            return pod
        return Pod(metadata=pod.metadata, spec=made.spec, status=pod.status, node=pod.node)

    @cached_property
    def renewed(self) -> Mapping[int, Pod]:
        """The pods whose replacements ask for something else, by number, as these will be."""
        replacements = {}
        for numbers in self._uneven.values():
            for number in numbers:
                replacement = self.replacement(number)
                if replacement is not self._pods[number]:
                    replacements[number] = replacement
        return dict(sorted(replacements.items()))

    def replacement_requests(
        self, now: tuple[list[PodSpec], IntArray]
    ) -> tuple[list[PodSpec], IntArray]:
        """As `pod_asking` of the snapshot, which is `now`, of what the replacements ask for."""
        if not self.renewed:
            return now
        specs, of_next = [*now[0]], now[1].copy()
        groups = {requests_key(spec): number for number, spec in enumerate(specs)}
        numbers: dict[int, int] = {}
        for pod, replacement in self.renewed.items():
            spec = replacement.spec
            if id(spec) not in numbers:
                numbers[id(spec)] = groups.setdefault(requests_key(spec), len(specs))
                specs += [spec] if numbers[id(spec)] == len(specs) else []
            of_next[pod] = numbers[id(spec)]
        return specs, of_next

    def is_gated(self, pod: Pod) -> bool:
        """Whether a replacement waits behind scheduling gates, though the pod no longer does."""
        controller = self._controllers.get(pod.controller.uid) if pod.controller else None
        template = controller.spec.template if controller is not None else None
        return template is not None and bool(template.spec.schedulingGates)

    def _evaluate(self, controller: Controller) -> NextPod:
        template = controller.spec.template
        if template is None:
            raise AssertionError("only controllers with a template are known here")
        labels = (template.metadata.labels if template.metadata is not None else None) or {}
        name = f"{controller.kind} {controller.metadata.name}"
        written = frozenset(container.name for container in all_containers(template.spec))
        # The affinity of a Pending one may be what steers it.
        bound = [
            self._pods[number]
            for number in self._numbers.get(controller.metadata.uid, ())
            if self._pods[number].node and self._pods[number].metadata.deletionTimestamp is None
        ]
        made = [pod for pod in bound if _made_from_template(pod, controller, tracked=self._tracked)]
        unchanged = [pod for pod in made if not _was_changed(pod)]
        ranges = self._ranges[controller.metadata.namespace]
        requested_spec, because, doubt = self._ask(
            apply_limit_ranges(template.spec, ranges), name, bound, made
        )
        # Of one pod that was changed in place nothing tells what it was before.
        shown = unchanged or (made if len(made) > 1 else [])
        if not shown:
            spec = with_resources_of(template.spec, requested_spec)
            source = f"the template of {name}"
            return NextPod(spec, labels, source, because, written, doubt=doubt)
        newest = max(shown, key=_order)
        own = newest.metadata.labels or {}
        return NextPod(
            with_resources_of(newest.spec, requested_spec),
            {key: own[key] for key in labels if key in own},
            f"the newest pod of {name}",
            because,
            written,
            newest.metadata.creationTimestamp,
            doubt,
        )

    def _ask(
        self, template: PodSpec, name: str, bound: list[Pod], made: list[Pod]
    ) -> tuple[PodSpec, str, str]:
        """A spec with the requests of the next pod, what shows them, and why they are doubtful."""
        unchanged = sorted((pod for pod in made if not _was_changed(pod)), key=_order)
        changed = [pod for pod in made or bound if _was_changed(pod)]
        if unchanged:
            newest = unchanged[-1]
            base, because, doubt = newest.spec, "its newest sibling", self._doubt(unchanged)
            least = _created_at(newest) - _TOGETHER.total_seconds()
            # Where admission sets no requests, a resize in place was of that pod alone.
            sets = self._requests_of(base) != requests_of(template)
            resized = [self._requests_of(pod.spec) for pod in changed]
            if not sets and any(
                requests != self._requests_of(base) and resized.count(requests) > 1
                for requests in resized
            ):
                doubt = doubt or (
                    f"several pods of {name} were resized in place to the same, as an autoscaler "
                    "would that sets the requests of the next one too"
                )
            changed = [pod for pod in changed if sets and _created_at(pod) >= least]
        else:
            base, because, doubt = template, "its template", ""
            others = [pod for pod in bound if not _was_changed(pod)]
            resized = [self._requests_of(pod.spec) for pod in changed]
            if any(self._requests_of(pod.spec) != requests_of(base) for pod in others):
                doubt = f"the template of {name} has other requests"
            elif others:
                changed = []
            elif any(requests != requests_of(base) for requests in resized) and (
                len(resized) < 2 or any(requests != resized[0] for requests in resized)
            ):
                changed = []
                doubt = (
                    f"pods of {name} were resized in place, and nothing shows whether its next "
                    "one will be like them"
                )
        live = {id(pod.spec): pod.spec for pod in changed}
        requested_spec = largest(base, live.values()) if live else base
        if live and requests_of(requested_spec) != requests_of(base):
            because = f"{because} or pods that were resized in place"
        return requested_spec, because, doubt

    def _doubt(self, unchanged: list[Pod]) -> str:
        """Why what admission sets is no function of time alone, or "".

        unchanged: the pods that show it, the newest last. Pods that were made at the same time are
        alike then, and what was set before does not come back soon.
        """
        newest = unchanged[-1]
        wanted = self._requests_of(newest.spec)
        other: Pod | None = None
        for at, pods in groupby(reversed(unchanged), key=_created_at):
            if at < _created_at(newest) - _RETURNING.total_seconds():
                break
            group = list(pods)
            odd = [pod for pod in group if self._requests_of(pod.spec) != wanted]
            returned = other is not None and len(odd) < len(group)
            if (odd and at == _created_at(newest)) or returned:
                names = newest.metadata.name, (other or odd[0]).metadata.name
                said = " and ".join(sorted(names))
                return f"what admission sets is not predictable: {said} have different requests"
            other = other or (odd[0] if odd else None)
        return ""

    def _requests_of(self, spec: PodSpec) -> object:
        # The snapshot keeps every spec alive, so an id stands for one spec.
        if id(spec) not in self._requests:
            self._requests[id(spec)] = requests_of(spec)
        return self._requests[id(spec)]

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """UID of each controller with a template to the numbers of its pods."""
        by_controller = defaultdict[str, list[int]](list)
        owners: dict[int, str] = {}  # by the list of owners, which like pods share
        for number, pod in enumerate(self._pods):
            references = pod.metadata.ownerReferences
            uid = owners.get(id(references))
            if uid is None:
                owner = pod.controller
                uid = owners[id(references)] = "" if owner is None else owner.uid
            if uid in self._controllers:
                by_controller[uid].append(number)
        return by_controller

    @cached_property
    def _uneven(self) -> dict[str, list[int]]:
        """The controllers whose pods are not alike: by UID, the numbers of all its pods."""
        uneven_pods = {}
        for uid, numbers in self._numbers.items():
            pods = [self._pods[number] for number in numbers]
            if any(map(_was_changed, pods)):
                uneven_pods[uid] = numbers
                continue
            specs = {id(pod.spec): pod.spec for pod in pods}
            if len(specs) > 1 and len({requests_key(spec) for spec in specs.values()}) > 1:
                uneven_pods[uid] = numbers
        return uneven_pods


def _was_changed(pod: Pod) -> bool:
    """Whether it was changed since it was made: its generation counts that."""
    return pod.metadata.generation > 1


def _created_at(pod: Pod) -> float:
    """When it was made, as seconds since 1970; unknown: -inf."""
    made = pod.metadata.creationTimestamp
    return made.timestamp() if made is not None else float("-inf")


def _order(pod: Pod) -> tuple[float, str]:
    return _created_at(pod), pod.metadata.name


def _made_from_template(pod: Pod, controller: Controller, *, tracked: bool) -> bool:
    """Whether the pod was surely made from the template that its controller has now.

    tracked: whether the API server keeps `managedFields`.
    """
    if controller.kind == "StatefulSet":
        revision = (pod.metadata.labels or {}).get(REVISION)
        return bool(revision) and revision == controller.status.updateRevision
    if controller.kind == "Job":
        return True
    writes = [field for field in controller.metadata.managedFields or () if field.of_template]
    if controller.metadata.controller is not None and (
        not tracked or [write.of_creator for write in writes] == [True]
    ):
        return True
    times = [write.time for write in writes]
    if not times or pod.metadata.creationTimestamp is None:
        return False
    return all(time is not None and time < pod.metadata.creationTimestamp for time in times)
