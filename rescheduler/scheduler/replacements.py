"""What a pod's replacement is made from: the pod as it was admitted, not as it is now."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Container, Pod, PodSpec, ResourceRequirements, Resources
from rescheduler.kube.pods.containers import every
from rescheduler.kube.pods.pod_requests import container_requests
from rescheduler.kube.quantity import nanos


class Replacements:
    """The specs of replacements.

    Admission (limit ranges, autoscalers, webhooks) changes a pod before it is scheduled, and will
    change its replacement alike; so the old pod's spec is better than its owner's template. But a
    pod that was resized in place since (`metadata.generation` above 1) has requests that its
    replacement will not have. These come from the youngest sibling that was never changed, or from
    the template where there is none.

    Where all pods of a controller, and several, were resized to the same, a vertical autoscaler
    does it, whose webhook will change the replacement alike: it asks for as much as the template
    does, or they do.
    """

    def __init__(self, pods: Sequence[Pod], controllers: Sequence[Controller]) -> None:
        self._pods = pods
        self._templates = {
            each.metadata.uid: each.spec.template.spec
            for each in controllers
            if each.spec.template is not None
        }
        self._siblings: dict[str, list[Pod]] | None = None
        self._known: dict[tuple[int, str], PodSpec] = {}

    def gated(self, pod: Pod) -> bool:
        """Whether a replacement waits behind scheduling gates, though the pod no longer does."""
        template = self._templates.get(pod.controller.uid) if pod.controller else None
        return template is not None and bool(template.schedulingGates)

    def renewed(self) -> dict[int, Pod]:
        """The pods whose replacements differ from them, by number, as these will be."""
        answer = {}
        for number, pod in enumerate(self._pods):
            if pod.metadata.generation > 1:
                replacement = self.of(pod)
                if replacement is not pod:
                    answer[number] = replacement
        return answer

    def of(self, pod: Pod) -> Pod:
        """The pod as its replacement will be; the pod itself where nothing has changed."""
        owner = pod.controller
        if pod.metadata.generation <= 1 or owner is None or owner.uid not in self._templates:
            return pod
        key = (id(pod.spec), owner.uid)
        spec = self._known.get(key)
        if spec is None:
            spec = self._known[key] = self._original(pod.spec, owner.uid)
        if spec is pod.spec:
            return pod
        return Pod(metadata=pod.metadata, spec=spec, status=pod.status, node=pod.node)

    def _original(self, spec: PodSpec, owner: str) -> PodSpec:
        template = self._templates[owner]
        if _requests(spec) == _requests(template):
            return spec
        siblings = self._pods_of(owner)
        own = [each.spec for each in siblings if each.metadata.generation > 1]
        resized = [each for each in own if _requests(each) != _requests(template)]
        alike = all(_requests(each) == _requests(resized[0]) for each in resized)
        if alike and len(resized) == len(siblings) > 1:
            return _largest(spec, [template, *(each.spec for each in siblings)])
        born = [
            (each.metadata.creationTimestamp, number)
            for number, each in enumerate(siblings)
            if each.metadata.generation <= 1 and each.metadata.creationTimestamp is not None
        ]
        newest = max(born, key=lambda each: (each[0], -each[1]), default=None)
        original = template if newest is None else siblings[newest[1]].spec
        containers = _resized(spec.containers, original.containers)
        first = _resized(spec.initContainers or [], original.initContainers or [])
        return msgspec.structs.replace(
            spec,
            containers=containers,
            initContainers=first or None,
            resources=original.resources,
        )

    def _pods_of(self, owner: str) -> list[Pod]:
        """The pods of the controller with that UID, where it has a template."""
        if self._siblings is None:
            self._siblings = defaultdict(list)
            for pod in self._pods:
                if (by := pod.controller) is not None and by.uid in self._templates:
                    self._siblings[by.uid].append(pod)
        return self._siblings[owner]


def _largest(spec: PodSpec, others: Sequence[PodSpec]) -> PodSpec:
    """The spec where each container asks for the most that its like does in any of the others."""

    def most(containers: Sequence[Container]) -> list[Container]:
        return [
            msgspec.structs.replace(
                container,
                resources=_most(
                    [
                        ResourceRequirements(
                            requests=container_requests(like),
                            limits=like.resources.limits if like.resources else None,
                        )
                        for other in others
                        for like in every(other)
                        if like.name == container.name
                    ]
                ),
            )
            for container in containers
        ]

    wide = [each.resources for each in others if each.resources is not None]
    return msgspec.structs.replace(
        spec,
        containers=most(spec.containers),
        initContainers=most(spec.initContainers or []) or None,
        resources=_most(wide) if wide else None,
    )


def _most(asked: Sequence[ResourceRequirements]) -> ResourceRequirements:
    """The most of each resource that any of them asks for, and is limited to."""

    def largest(amounts: Iterable[Resources | None]) -> Resources:
        found: Resources = {}
        for each in amounts:
            for name, amount in (each or {}).items():
                if name not in found or nanos(amount) > nanos(found[name]):
                    found[name] = amount
        return found

    return ResourceRequirements(
        requests=largest(each.requests for each in asked),
        limits=largest(each.limits for each in asked),
    )


def _requests(spec: PodSpec) -> tuple[dict[str, Resources], Resources | None]:
    containers = every(spec)
    own = {each.name: container_requests(each) for each in containers}
    return own, spec.resources.requests if spec.resources else None


def _resized(containers: Sequence[Container], originals: Sequence[Container]) -> list[Container]:
    """The containers with the resources that they had first."""
    first = {each.name: each.resources for each in originals}
    return [
        msgspec.structs.replace(each, resources=first[each.name]) if each.name in first else each
        for each in containers
    ]
