"""What of a pod's spec decides where it lands, so that it can be compared with its template.

What every API server adds to the pods of a template is no difference: defaults of requests, the
tolerations that all pods get, merged label keys, the claims of a StatefulSet.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from rescheduler.kube.objects import (
    Affinity,
    LabelSelector,
    PodSpec,
    Toleration,
    Volume,
)
from rescheduler.kube.pods.containers import every, restartable
from rescheduler.kube.pods.pod_requests import container_requests, pod_level_requests
from rescheduler.kube.quantity import nanos

REQUESTS = "requests"
_encode = msgspec.msgpack.Encoder(order="sorted").encode
_GONE = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""DefaultTolerationSeconds adds these, with effect NoExecute."""
_PRESSURE = "node.kubernetes.io/memory-pressure"
"""PodTolerationRestriction adds this one."""


def template_parts(spec: PodSpec, *, stateful: bool = False) -> dict[str, object]:
    """Each part of a spec that decides the landing, by its field; equal parts compare equal.

    stateful: whether a StatefulSet makes it, which adds a claim for each of its claim templates.
    """
    return {
        "schedulerName": spec.schedulerName,
        "priorityClassName": spec.priorityClassName,
        "nodeSelector": spec.nodeSelector or {},
        "affinity": _encode(_affinity(spec.affinity)),
        "tolerations": frozenset(_encode(each) for each in _own_tolerations(spec)),
        "topologySpreadConstraints": _encode(_spread(spec)),
        "containers": tuple(each.name for each in spec.containers),
        "initContainers": tuple(
            (each.name, restartable(each)) for each in spec.initContainers or ()
        ),
        REQUESTS: requests_of(spec),
        "runtimeClassName": spec.runtimeClassName or "",
        "overhead": {} if spec.runtimeClassName else _amounts(spec.overhead),
        "hostNetwork": spec.hostNetwork,
        "hostPort": frozenset(_host_ports(spec)),
        "volumes": frozenset(_encode(each) for each in _volumes(spec, stateful=stateful)),
        "resourceClaims": _encode(spec.resourceClaims or []),
        "os": spec.os.name if spec.os is not None else "",
    }


def images_of(spec: PodSpec, names: Collection[str]) -> dict[str, str]:
    """The images of the containers of these names."""
    return {each.name: each.image for each in every(spec) if each.name in names}


def requests_of(spec: PodSpec) -> dict[str, dict[str, int]]:
    """What each container asks for, by its name, and the pod as a whole under ""."""
    found = {each.name: _amounts(container_requests(each)) for each in every(spec)}
    return {**found, "": {name: each for name, each in pod_level_requests(spec).items() if each}}


def _amounts(resources: Mapping[str, str | int | float] | None) -> dict[str, int]:
    """Nothing is asked for by an amount of 0."""
    found = {name: nanos(amount) for name, amount in (resources or {}).items()}
    return {name: amount for name, amount in found.items() if amount}


def _own_tolerations(spec: PodSpec) -> Iterator[Toleration]:
    for each in spec.tolerations or ():
        gone = each.key in _GONE and each.effect == "NoExecute"
        if not gone and (each.key, each.effect) != (_PRESSURE, "NoSchedule"):
            yield each


def _host_ports(spec: PodSpec) -> Iterator[tuple[int, str, str]]:
    """Those of the host's network are given to pods, but not in templates."""
    for container in every(spec):
        for each in container.ports or ():
            number = each.hostPort or (each.containerPort if spec.hostNetwork else 0)
            if number:
                yield number, each.hostIP, each.protocol


def _volumes(spec: PodSpec, *, stateful: bool) -> Iterator[Volume]:
    for each in spec.volumes or ():
        claim = each.persistentVolumeClaim
        named = claim is not None and claim.claimName.startswith(f"{each.name}-")
        if each != Volume(name=each.name) and not (stateful and named):
            yield each


def _affinity(affinity: Affinity | None) -> Any:
    """The affinity as plain data, without what merged label keys have added to its selectors."""
    return _plain(affinity) if affinity is not None else {}


def _spread(spec: PodSpec) -> list[Any]:
    return [_plain(each) for each in spec.topologySpreadConstraints or ()]


def _plain(value: Any) -> Any:
    """A struct as plain data without empty fields; a merged selector as it was written."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, msgspec.Struct):
        return value
    found = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(found.get("labelSelector"), LabelSelector):
        keys = [*(found.get("matchLabelKeys") or ()), *(found.get("mismatchLabelKeys") or ())]
        found["labelSelector"] = _unmerged(found["labelSelector"], keys)
    plain = {name: _plain(each) for name, each in found.items() if each is not None}
    return {
        name: each
        for name, each in plain.items()
        if each not in ({}, []) or name in ("labelSelector", "namespaceSelector")
    }


def _unmerged(selector: LabelSelector, keys: list[str]) -> LabelSelector:
    kept = [each for each in selector.matchExpressions or () if each.key not in keys]
    return msgspec.structs.replace(selector, matchExpressions=kept or None)
