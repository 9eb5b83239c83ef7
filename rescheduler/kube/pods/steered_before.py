"""Pods that were steered when they were made: the next pod of their controller will not be.

Its node affinity counted once, when the pod was placed. What replaces the pod comes from the
template again, so that is what is planned with.
"""

from collections.abc import Callable, Iterable

import msgspec

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import NodeSelectorTerm, Pod, PodSpec
from rescheduler.kube.pods.node_selection import node_affinity
from rescheduler.kube.pods.steered import HOSTNAME, steered


def as_made(
    pods: Iterable[Pod], controllers: Iterable[Controller], share: Callable[[PodSpec], PodSpec]
) -> None:
    """Take what steering has added out of the specs of pods that are bound, in place.

    share: keeps specs that are equal once. What is no more than the affinity of the template with
    one more term, merged as `steered_affinity` does, was added; anything else stays.
    """
    templates = {
        each.metadata.uid: each.spec.template.spec
        for each in controllers
        if each.spec.template is not None
    }
    known: dict[tuple[int, str], PodSpec] = {}
    kept: list[PodSpec] = []  # as long as these are alive, an id stands for one of them
    for pod in pods:
        owner = pod.controller
        template = templates.get(owner.uid) if owner is not None and pod.node else None
        if template is None or pod.spec.affinity is None or owner is None:
            continue
        key = (id(pod.spec), owner.uid)
        if key not in known:
            kept.append(pod.spec)
            known[key] = _as_made(pod.spec, template, share)
        pod.spec = known[key]


def _as_made(spec: PodSpec, template: PodSpec, share: Callable[[PodSpec], PodSpec]) -> PodSpec:
    if spec.affinity == template.affinity:
        return spec
    affinity = node_affinity(spec)
    preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution or []
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution
    terms = (required.nodeSelectorTerms if required is not None else None) or []
    wished = [each.preference for each in preferred[-1:]]
    for term, require in [*((term, False) for term in wished), *((term, True) for term in terms)]:
        hostnames = _last_hostnames(term)
        if hostnames and steered(template, hostnames, require=require).affinity == spec.affinity:
            return share(msgspec.structs.replace(spec, affinity=template.affinity))
    return spec


def _last_hostnames(term: NodeSelectorTerm) -> list[str]:
    last = term.matchExpressions[-1] if term.matchExpressions else None
    if last is None or (last.key, last.operator) != (HOSTNAME, "In"):
        return []
    return list(last.values or [])
