"""The selector that default topology spreading uses for a pod that declares no constraint."""

from collections.abc import Iterable

import msgspec

from rescheduler.kube.controllers import Controller, Service
from rescheduler.kube.objects import LabelSelector, LabelSelectorRequirement
from rescheduler.kube.selectors import matches
from rescheduler.scheduler.plugin import Replacement

_GROUPS = {
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicationController": "v1",
}


class DefaultSelectors:
    """Merges the selectors of all Services that select a pod with that of its controller.

    Source: pkg/scheduler/framework/plugins/helper/spread.go, DefaultSelector.
    """

    def __init__(self, services: Iterable[Service], controllers: Iterable[Controller]) -> None:
        self._services: dict[str, list[Service]] = {}
        for service in services:
            if service.spec.selector is not None:
                self._services.setdefault(service.metadata.namespace, []).append(service)
        self._controllers = {
            (controller.kind, controller.metadata.namespace, controller.metadata.name): controller
            for controller in controllers
            if controller.kind in _GROUPS
        }

    def selector_of(self, pod: Replacement) -> LabelSelector | None:
        """The selector, or None if nothing selects the pod; such a pod is not spread."""
        labels: dict[str, str] = {}
        for service in self._services.get(pod.namespace, ()):
            chosen = service.spec.selector or {}
            if matches(LabelSelector(matchLabels=chosen), pod.labels):
                labels.update(chosen)
        expressions: list[LabelSelectorRequirement] = []
        owned = self._of_owner(pod)
        if owned is not None:
            for key, value in (owned.matchLabels or {}).items():
                if labels.setdefault(key, value) != value:
                    expressions.append(
                        LabelSelectorRequirement(key=key, operator="In", values=[value])
                    )
            expressions += owned.matchExpressions or ()
        if not labels and not expressions:
            return None
        return LabelSelector(matchLabels=labels, matchExpressions=expressions or None)

    def _of_owner(self, pod: Replacement) -> LabelSelector | None:
        owner = pod.owner
        if owner is None or owner.apiVersion not in ("", _GROUPS.get(owner.kind)):
            return None
        controller = self._controllers.get((owner.kind, pod.namespace, owner.name))
        if controller is None or not controller.spec.selector:
            return None
        if owner.kind == "ReplicationController":
            return LabelSelector(matchLabels=controller.spec.selector)
        return msgspec.convert(controller.spec.selector, LabelSelector)
