"""Plugin ImageLocality: a node that has the pod's large images is better."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from rescheduler.kube.objects import Node, PodSpec
from rescheduler.model.cluster.readings import IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.plugin import MAX_SCORE, Plugin, Replacement, Score, ScoreArray
from rescheduler.scheduler.profile import Profile

_MEBIBYTE = 1024 * 1024
_FLOOR = 23 * _MEBIBYTE
_CEILING = 1000 * _MEBIBYTE
"""Per container. Source: pkg/scheduler/framework/plugins/imagelocality/image_locality.go."""


def full_name(image: str) -> str:
    """The image with `:latest` where it has no tag, which is all the scheduler normalizes."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


class ImageLocality(Plugin):
    """Images never move in a snapshot, so the score of a list of images is computed once."""

    name: ClassVar[str] = "ImageLocality"
    weight: ClassVar[int] = 1
    needs_pre_score: ClassVar[bool] = False

    def __init__(self, nodes: Sequence[Node], profile: Profile) -> None:
        self._count = len(nodes)
        self._profile = profile
        self._size: dict[str, int] = {}
        self._nodes: dict[str, list[int]] = {}
        self._known: dict[tuple[tuple[str, ...], int], ScoreArray | None] = {}
        for number, node in enumerate(nodes):
            for image in node.status.images or ():
                for name in image.names or ():
                    holders = self._nodes.get(name)
                    if holders is None:
                        self._size[name] = image.sizeBytes
                        self._nodes[name] = [number]
                    elif holders[-1] != number:
                        holders.append(number)

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """As the profile's version counts image volumes."""
        return cls(handle.snapshot.nodes, profile)

    def score(self, pod: Replacement) -> Score | None:
        """More bytes of the pod's images, weighted by how widespread they are, are better."""
        images, containers = self._images(pod.spec)
        key = (tuple(sorted(images)), containers)
        if key not in self._known:
            self._known[key] = self._scores(images, containers)
        scores = self._known[key]
        return None if scores is None else partial(_take, scores)

    def _images(self, spec: PodSpec) -> tuple[list[str], int]:
        """The names to search for, and how many containers the ceiling counts."""
        containers = [*(spec.initContainers or ()), *spec.containers]
        names = [full_name(container.image) for container in containers]
        volumes = [reference(volume.image) for volume in spec.volumes or () if volume.image]
        count = len(containers)
        if self._profile.image_volumes:
            names += [full_name(volume) for volume in volumes]
        if self._profile.image_volumes_in_threshold:
            count += len(volumes)
        return names, count

    def _scores(self, images: list[str], containers: int) -> ScoreArray | None:
        """(nodes,) the score of every node; None where it is zero everywhere."""
        total = np.zeros(self._count, dtype=np.int64)
        for image in images:
            holders = self._nodes.get(image)
            if holders:
                total[holders] += int(self._size[image] * (len(holders) / self._count))
        ceiling = _CEILING * containers
        if ceiling <= _FLOOR:
            return None
        scores = MAX_SCORE * (np.clip(total, _FLOOR, ceiling) - _FLOOR) // (ceiling - _FLOOR)
        return scores if scores.any() else None


def reference(volume: dict[str, Any]) -> str:
    """The image of an image volume, "" where none is named."""
    return str(volume.get("reference", ""))


def _take(scores: ScoreArray, nodes: IntArray) -> ScoreArray:
    return scores[nodes]
