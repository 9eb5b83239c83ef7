"""LimitRanges: the requests and limits that admission adds to pods, and those that it refuses.

Source: plugin/pkg/admission/limitranger/admission.go and pkg/apis/core/v1/defaults.go,
SetDefaults_LimitRangeItem, Kubernetes 1.36.
"""

from collections.abc import Iterable, Iterator

import msgspec

from rescheduler.kube.objects import (
    Base,
    Container,
    ObjectMeta,
    PodSpec,
    ResourceRequirements,
    Resources,
)
from rescheduler.kube.pods.containers import all_containers
from rescheduler.kube.pods.pod_requests import (
    Amounts,
    amounts,
    container_requests,
    pod_limits,
    pod_requests,
)
from rescheduler.kube.quantity import nanos


class LimitRangeItem(Base):
    """spec.limits[] of a LimitRange."""

    type: str = ""
    max: Resources | None = None
    min: Resources | None = None
    default: Resources | None = None
    defaultRequest: Resources | None = None
    maxLimitRequestRatio: Resources | None = None

    @property
    def limits(self) -> Resources:
        """What a container is limited to that does not say it."""
        return {**(self.max or {}), **(self.default or {})}

    @property
    def requests(self) -> Resources:
        """What a container asks for that does not say it."""
        return {**(self.min or {}), **self.limits, **(self.defaultRequest or {})}


class LimitRangeSpec(Base):
    """spec of a LimitRange."""

    limits: list[LimitRangeItem] | None = None


class LimitRange(Base):
    """A LimitRange."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: LimitRangeSpec = msgspec.field(default_factory=LimitRangeSpec)


def apply_limit_ranges(spec: PodSpec, ranges: Iterable[LimitRange]) -> PodSpec:
    """The spec with the requests and limits that these give to containers without."""
    items = [
        limit for made in ranges for limit in made.spec.limits or () if limit.type == "Container"
    ]
    if not items:
        return spec
    first = [_with_defaults(container, items) for container in spec.initContainers or ()]
    return msgspec.structs.replace(
        spec,
        containers=[_with_defaults(container, items) for container in spec.containers],
        initContainers=first or None,
    )


def _with_defaults(container: Container, items: Iterable[LimitRangeItem]) -> Container:
    requirements = container.resources or ResourceRequirements()
    requests, limits = container_requests(container), requirements.limits or {}
    for item in items:
        requests, limits = {**item.requests, **requests}, {**item.limits, **limits}
    resources = msgspec.structs.replace(
        requirements, requests=requests or None, limits=limits or None
    )
    return msgspec.structs.replace(container, resources=resources)


def violation(spec: PodSpec, ranges: Iterable[LimitRange]) -> str:
    """Why these do not admit a pod of this spec, whose defaults are filled in; "" if they do."""
    for made in ranges:
        for item in made.spec.limits or ():
            for what, requests, limits in _limited_parts(item.type, spec):
                if why := _outside(item, requests, limits):
                    return f"LimitRange {made.metadata.name}: {what} {why}"
    return ""


def _limited_parts(kind: str, spec: PodSpec) -> Iterator[tuple[str, Amounts, Amounts]]:
    """What an item of that type is about: its name, requests and limits."""
    if kind == "Container":
        for container in all_containers(spec):
            limits = container.resources.limits if container.resources is not None else None
            yield (
                f"container {container.name}",
                amounts(container_requests(container)),
                amounts(limits),
            )
    elif kind == "Pod":
        bare = msgspec.structs.replace(spec, overhead=None)
        yield "the pod", pod_requests(bare), pod_limits(bare)


def _outside(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> str:
    violations = (*_short(item, requests, limits), *_excessive(item, requests, limits))
    return next(iter(violations), "")


def _short(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in sorted((item.min or {}).items()):
        if name not in requests:
            yield f"has no request of {name}, but must request at least {least}"
        elif min(requests[name], limits.get(name, requests[name])) < nanos(least):
            yield f"has less than {least} of {name}"


def _excessive(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, most in sorted((item.max or {}).items()):
        if name not in limits:
            yield f"has no limit of {name}, and at most {most} is allowed"
        elif max(limits[name], requests.get(name, 0)) > nanos(most):
            yield f"has more than {most} of {name}"
    for name, ratio in sorted((item.maxLimitRequestRatio or {}).items()):
        if not requests.get(name) or not limits.get(name):
            yield f"needs a request and a limit of {name}, as their ratio is limited"
        elif limits[name] * nanos(1) > nanos(ratio) * requests[name]:
            yield f"has a limit of {name} of more than {ratio} times its request"
    for name in sorted(requests.keys() & limits.keys()) if item.type == "Container" else ():
        if requests[name] > limits[name]:
            yield f"would ask for more {name} than the limit that it is given"
