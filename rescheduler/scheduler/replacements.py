"""What a pod's replacement is made from: the pod as it was admitted, not as it is now."""

from collections.abc import Sequence

import msgspec

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Container, Pod, PodSpec, Resources
from rescheduler.kube.pods.containers import every
from rescheduler.kube.pods.pod_requests import container_requests


class Replacements:
    """The specs of replacements.

    Admission (limit ranges, autoscalers, webhooks) changes a pod before it is scheduled, and will
    change its replacement alike; so the old pod's spec is better than its owner's template. But a
    pod that was resized in place since (`metadata.generation` above 1) has requests that its
    replacement will not have. These come from the youngest sibling that was never changed, or from
    the template where there is none.
    """

    def __init__(self, pods: Sequence[Pod], controllers: Sequence[Controller]) -> None:
        self._pods = pods
        self._templates = {
            each.metadata.uid: each.spec.template.spec
            for each in controllers
            if each.spec.template is not None
        }
        self._siblings: dict[str, Pod] | None = None
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
        sibling = self._youngest().get(owner)
        original = template if sibling is None else sibling.spec
        containers = _resized(spec.containers, original.containers)
        first = _resized(spec.initContainers or [], original.initContainers or [])
        return msgspec.structs.replace(
            spec,
            containers=containers,
            initContainers=first or None,
            resources=original.resources,
        )

    def _youngest(self) -> dict[str, Pod]:
        if self._siblings is None:
            self._siblings = {}
            for pod in self._pods:
                owner = pod.controller
                created = pod.metadata.creationTimestamp
                if owner is None or created is None or pod.metadata.generation > 1:
                    continue
                other = self._siblings.get(owner.uid)
                before = other.metadata.creationTimestamp if other else None
                if before is None or created > before:
                    self._siblings[owner.uid] = pod
        return self._siblings


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
