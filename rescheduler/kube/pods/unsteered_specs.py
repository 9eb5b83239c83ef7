"""Removes the affinity that steering added from bound pods: replacements lack it.

Its node affinity counted once, when the pod was placed. What replaces the pod comes from the
template again, so that is what is planned with.
"""

from collections.abc import Callable, Iterable

import msgspec

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import NodeSelectorTerm, Pod, PodSpec
from rescheduler.kube.pods.node_selection import node_affinity
from rescheduler.kube.pods.steered_affinity import HOSTNAME, steer_spec


def as_made(
    pods: Iterable[Pod], controllers: Iterable[Controller], share: Callable[[PodSpec], PodSpec]
) -> None:
    """Take what steering has added out of the specs of pods that are bound, in place.

    share: keeps specs that are equal once. What is no more than the affinity of the template with
    one more term, merged as `steered_affinity` does, was added; anything else stays.
    """
    templates = {
        controller.metadata.uid: controller.spec.template.spec
        for controller in controllers
        if controller.spec.template is not None
    }
    specs: dict[tuple[int, str], PodSpec] = {}
    kept: list[PodSpec] = []  # as long as these are alive, an id stands for one of them
    for pod in pods:
        owner = pod.controller
        template = templates.get(owner.uid) if owner is not None and pod.node else None
        if template is None or pod.spec.affinity is None or owner is None:
            continue
        key = (id(pod.spec), owner.uid)
        if key not in specs:
            kept.append(pod.spec)
            specs[key] = _as_made(pod.spec, template, share)
        pod.spec = specs[key]


def _as_made(spec: PodSpec, template: PodSpec, share: Callable[[PodSpec], PodSpec]) -> PodSpec:
    if spec.affinity == template.affinity:
        return spec
    affinity = node_affinity(spec)
    preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution or []
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution
    terms = (required.nodeSelectorTerms if required is not None else None) or []
    wished = [term.preference for term in preferred[-1:]]
    for term, require in [*((term, False) for term in wished), *((term, True) for term in terms)]:
        hostnames = _last_hostnames(term)
        if hostnames and steer_spec(template, hostnames, require=require).affinity == spec.affinity:
            return share(msgspec.structs.replace(spec, affinity=template.affinity))
    return spec


def _last_hostnames(term: NodeSelectorTerm) -> list[str]:
    last = term.matchExpressions[-1] if term.matchExpressions else None
    if last is None or (last.key, last.operator) != (HOSTNAME, "In"):
        return []
    return list(last.values or [])
