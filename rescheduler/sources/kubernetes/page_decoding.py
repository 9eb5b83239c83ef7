"""List pages of the API server, from bytes to structs that share what is equal.

Pods of one template become pods of one PodSpec: the node's name and the volumes that only carry
configuration are taken out, and what is then equal is kept once. An object that cannot be decoded
is set aside with its name and never fails the list.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import msgspec

from rescheduler.kube import annotations
from rescheduler.kube.controllers import Controller
from rescheduler.kube.limit_ranges import LimitRange
from rescheduler.kube.nesting import decode_json
from rescheduler.kube.objects import (
    Base,
    Condition,
    ContainerImage,
    Labels,
    Node,
    Pod,
    PodSpec,
    Resources,
    Volume,
)
from rescheduler.kube.owner_references import LONGEST_NAME
from rescheduler.kube.quantity import nanos
from rescheduler.model.cluster.snapshot import Undecodable

T = TypeVar("T", bound=Base)

_PASSED = frozenset({"Initialized", "PodScheduled", "ContainersReady", "PodReadyToStartContainers"})
"""Conditions that matter only until they are True."""


class Meta(msgspec.Struct):
    """metadata of a list."""

    token: str = msgspec.field(name="continue", default="")


class RawPage(msgspec.Struct):
    """A page whose objects are not decoded yet. items: UNSET where it is no list at all."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


class Unreadable(ValueError):
    """A page that is not a list of Kubernetes objects."""


@contextmanager
def collector_off() -> Iterator[None]:
    """Without the cyclic garbage collector, which would cost more than the decoding."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@cache
def _page(kind: type[T]) -> Any:
    return msgspec.defstruct(
        f"{kind.__name__}Page",
        [
            ("metadata", Meta, msgspec.field(default_factory=Meta)),
            ("items", list[kind] | msgspec.UnsetType | None, msgspec.UNSET),  # type: ignore[valid-type]
        ],
    )


def decode_page(body: bytes, kind: type[T], name: str) -> tuple[list[T], str, list[Undecodable]]:
    """The objects of a page, the token of the next one or "", and what could not be decoded.

    name: the kind as people write it.

    Raises:
        Unreadable: the page as a whole is not a list.
    """
    bad: list[Undecodable] = []
    try:
        page = decode_json(body, _page(kind))
        items = page.items
    except msgspec.DecodeError:
        try:
            page = decode_json(body, RawPage)
        except msgspec.DecodeError as error:
            raise Unreadable(str(error)) from error
        items = page.items and list(_one_by_one(page.items, kind, name, bad))
    if items is msgspec.UNSET:
        raise Unreadable("it has no `items`")
    return items or [], page.metadata.token, bad


def problem_of(finish: Callable[[T], str | None], item: T) -> str | None:
    """What is wrong with this object, or None; also where to find out fails, as it is of that.

    finish: says what is wrong with it, as `Sharing.pod`.
    """
    try:
        return finish(item)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


def _one_by_one(
    raws: list[msgspec.Raw], kind: type[T], name: str, bad: list[Undecodable]
) -> Iterator[T]:
    for raw in raws:
        try:
            yield decode_json(raw, kind)
        except msgspec.DecodeError as error:
            bad.append(_set_aside(raw, name, str(error)))


def _set_aside(raw: msgspec.Raw, kind: str, message: str) -> Undecodable:
    """What is still known about an object that does not decode."""
    try:
        loose = decode_json(raw, dict[str, Any])
    except msgspec.DecodeError:
        loose = None

    def text(*path: str) -> str:
        at: Any = loose
        for step in path:
            at = at.get(step) if isinstance(at, dict) else None
        return at if isinstance(at, str) else ""

    return Undecodable(
        kind=kind,
        namespace=text("metadata", "namespace"),
        name=text("metadata", "name"),
        message=message,
        node=text("spec", "nodeName"),
    )


class Sharing:
    """Keeps one copy of what is equal, so that 150,000 pods hold some thousand specs."""

    def __init__(self, annotations: frozenset[str] = frozenset()) -> None:
        """annotations: names of those that are kept besides the ones that are always read."""
        self._known: dict[tuple[type, bytes], Any] = {}
        self._texts: dict[str, str] = {}
        self._annotations = annotations
        self._kept: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._encode = msgspec.msgpack.Encoder().encode

    def share(self, value: T | list[Any] | Labels) -> Any:
        """An equal value that was seen before, or this one."""
        return self._known.setdefault((type(value), self._encode(value)), value)

    def text(self, value: str) -> str:
        """An equal string that was seen before, or this one."""
        return self._texts.setdefault(value, value)

    def pod(self, pod: Pod) -> str | None:
        """Move the node's name out of the spec and share the parts of one pod, in place.

        Returns what is wrong with the pod, or None.
        """
        metadata, spec, status = pod.metadata, pod.spec, pod.status
        pod.node = self.text(spec.nodeName or "")
        spec.nodeName = None
        if spec.volumes is not None:
            spec.volumes = volumes_that_matter(spec.volumes)
        key = (PodSpec, self._encode(spec))
        shared_spec = self._known.get(key)
        if shared_spec is None:
            problem = _spec_problem(spec)
            if problem is not None:
                return problem
            for container in spec.containers:
                container.image = self.text(container.image)
            spec.schedulerName = spec.schedulerName[:LONGEST_NAME]
            self._known[key] = shared_spec = spec
        pod.spec = shared_spec
        metadata.namespace = self.text(metadata.namespace)
        metadata.annotations = self.keep_annotations(metadata.annotations)
        if metadata.labels is not None:
            metadata.labels = self.share(metadata.labels)
        if metadata.ownerReferences is not None:
            metadata.ownerReferences = self.share(metadata.ownerReferences)
        if status.containerStatuses is not None:
            status.containerStatuses = self.share(status.containerStatuses)
        if status.initContainerStatuses is not None:
            status.initContainerStatuses = self.share(status.initContainerStatuses)
        if status.conditions is not None:
            status.conditions = self._informative(status.conditions)
        status.phase = self.text(status.phase)
        return None if metadata.name and metadata.uid else "it has no name or no uid"

    def _informative(self, conditions: list[Condition]) -> list[Condition]:
        """The conditions without the milestones that were passed long ago."""
        text = self.text
        kept = [
            condition
            for condition in conditions
            if condition.status != "True" or condition.type not in _PASSED
        ]
        for condition in kept:
            condition.type, condition.status = text(condition.type), text(condition.status)
        return kept

    def keep_annotations(self, notes: Labels | None) -> Labels | None:
        """Only the annotations that the rescheduler reads."""
        if not notes:
            return None
        keys = tuple(notes)
        kept = self._kept.get(keys)
        if kept is None:
            read = [key for key in keys if key in self._annotations or annotations.is_read(key)]
            self._kept[keys] = kept = tuple(read)
        return self.share({key: notes[key] for key in kept}) if kept else None

    def node(self, node: Node) -> str | None:
        """Share the images of one node, in place. Returns what is wrong with the node, or None."""
        images = node.status.images
        if images is not None:
            node.status.images = [self._image(image) for image in images]
        node.metadata.annotations = self.keep_annotations(node.metadata.annotations)
        if not node.metadata.name:
            return "it has no name"
        return _quantity_problem(node.status.allocatable) or _quantity_problem(node.status.capacity)

    def _image(self, image: ContainerImage) -> ContainerImage:
        return self.share(image)  # type: ignore[no-any-return]


def volumes_that_matter(volumes: list[Volume]) -> list[Volume] | None:
    """The volumes that matter: one with configuration, secrets or tokens is but a name here."""
    return [volume for volume in volumes if _holds_something(volume)] or None


def _holds_something(volume: Volume) -> bool:
    return volume != Volume(name=volume.name)


def written_problem(item: Any) -> str | None:
    """Which quantity of a LimitRange or of a controller's template is none, or None."""
    template = item.spec.template if isinstance(item, Controller) else None
    if template is not None:
        return _spec_problem(template.spec)
    for limit in (item.spec.limits or ()) if isinstance(item, LimitRange) else ():
        amount_maps = (
            limit.max,
            limit.min,
            limit.default,
            limit.defaultRequest,
            limit.maxLimitRequestRatio,
        )
        for amounts in amount_maps:
            if (problem := _quantity_problem(amounts)) is not None:
                return problem
    return None


def _spec_problem(spec: PodSpec) -> str | None:
    for container in (*spec.containers, *(spec.initContainers or ())):
        if container.resources is not None:
            problem = _quantity_problem(container.resources.requests) or _quantity_problem(
                container.resources.limits
            )
            if problem is not None:
                return f"container {container.name}: {problem}"
    if spec.resources is not None:
        problem = _quantity_problem(spec.resources.requests) or _quantity_problem(
            spec.resources.limits
        )
        if problem is not None:
            return problem
    return _quantity_problem(spec.overhead)


def _quantity_problem(resources: Resources | None) -> str | None:
    for name, quantity in (resources or {}).items():
        try:
            negative = nanos(quantity) < 0
        except ValueError as error:
            return f"{name}: {error}"
        if negative:
            return f"{name}: {quantity!r} is negative"
        if isinstance(quantity, int) and quantity >= 2**63:
            return f"{name}: {quantity} is more than any quantity"
    return None
