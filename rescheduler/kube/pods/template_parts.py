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
from rescheduler.kube.pods.containers import all_containers, restartable
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
        "tolerations": frozenset(_encode(toleration) for toleration in _own_tolerations(spec)),
        "topologySpreadConstraints": _encode(_spread(spec)),
        "containers": tuple(container.name for container in spec.containers),
        "initContainers": tuple(
            (container.name, restartable(container)) for container in spec.initContainers or ()
        ),
        REQUESTS: requests_of(spec),
        "runtimeClassName": spec.runtimeClassName or "",
        "overhead": {} if spec.runtimeClassName else _amounts(spec.overhead),
        "hostNetwork": spec.hostNetwork,
        "hostPort": frozenset(_host_ports(spec)),
        "volumes": frozenset(_encode(volume) for volume in _volumes(spec, stateful=stateful)),
        "resourceClaims": _encode(spec.resourceClaims or []),
        "os": spec.os.name if spec.os is not None else "",
    }


def images_of(spec: PodSpec, names: Collection[str]) -> dict[str, str]:
    """The images of the containers of these names."""
    return {
        container.name: container.image
        for container in all_containers(spec)
        if container.name in names
    }


def requests_of(spec: PodSpec) -> dict[str, dict[str, int]]:
    """What each container asks for, by its name, and the pod as a whole under ""."""
    requests = {
        container.name: _amounts(container_requests(container))
        for container in all_containers(spec)
    }
    return {
        **requests,
        "": {name: request for name, request in pod_level_requests(spec).items() if request},
    }


def _amounts(resources: Mapping[str, str | int | float] | None) -> dict[str, int]:
    """An amount of 0 requests nothing."""
    all_amounts = {name: nanos(amount) for name, amount in (resources or {}).items()}
    return {name: amount for name, amount in all_amounts.items() if amount}


def _own_tolerations(spec: PodSpec) -> Iterator[Toleration]:
    for toleration in spec.tolerations or ():
        gone = toleration.key in _GONE and toleration.effect == "NoExecute"
        if not gone and (toleration.key, toleration.effect) != (_PRESSURE, "NoSchedule"):
            yield toleration


def _host_ports(spec: PodSpec) -> Iterator[tuple[int, str, str]]:
    """Those of the host's network are given to pods, but not in templates."""
    for container in all_containers(spec):
        for port in container.ports or ():
            number = port.hostPort or (port.containerPort if spec.hostNetwork else 0)
            if number:
                yield number, port.hostIP, port.protocol


def _volumes(spec: PodSpec, *, stateful: bool) -> Iterator[Volume]:
    for volume in spec.volumes or ():
        claim = volume.persistentVolumeClaim
        named = claim is not None and claim.claimName.startswith(f"{volume.name}-")
        if volume != Volume(name=volume.name) and not (stateful and named):
            yield volume


def _affinity(affinity: Affinity | None) -> Any:
    """The affinity as plain data, without what merged label keys have added to its selectors."""
    return _plain(affinity) if affinity is not None else {}


def _spread(spec: PodSpec) -> list[Any]:
    return [_plain(constraint) for constraint in spec.topologySpreadConstraints or ()]


def _plain(value: Any) -> Any:
    """A struct as plain data without empty fields; a merged selector as it was written."""
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if not isinstance(value, msgspec.Struct):
        return value
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(fields.get("labelSelector"), LabelSelector):
        keys = [*(fields.get("matchLabelKeys") or ()), *(fields.get("mismatchLabelKeys") or ())]
        fields["labelSelector"] = _without_merged_keys(fields["labelSelector"], keys)
    plain = {
        name: _plain(field_value) for name, field_value in fields.items() if field_value is not None
    }
    return {
        name: field_value
        for name, field_value in plain.items()
        if field_value not in ({}, []) or name in ("labelSelector", "namespaceSelector")
    }


def _without_merged_keys(selector: LabelSelector, keys: list[str]) -> LabelSelector:
    kept = [
        expression for expression in selector.matchExpressions or () if expression.key not in keys
    ]
    return msgspec.structs.replace(selector, matchExpressions=kept or None)
