"""Whether a node is of a platform that a pod is known to run on: FEA017.

A pod that names no architecture, operating system or model of GPU may run on any of them as far as
kube-scheduler is concerned. What its image holds is not in the API, so its workload stays on
platforms where it has run, where its images have been pulled, or which it names itself.
"""

from collections import defaultdict
from functools import cached_property

import numpy as np

from rescheduler.kube.nodes.platforms import (
    ARCHITECTURE,
    GPU_MODEL,
    SYSTEM,
    Platform,
    full_image,
    images,
    keys_named,
    platform_of,
    requests_gpus,
)
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem

_WORDS = ("architecture", "operating system", "GPU model")


class PlatformChecks:
    """The platforms of one snapshot's nodes, and on which of them each workload runs."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[int, int, int], BoolArray | None] = {}
        self._arrays: dict[tuple[bool, ...], BoolArray] = {}

    def foreign(self, pod: int) -> BoolArray | None:
        """(nodes,) the nodes of another platform than the pod's; None where there are none."""
        platforms, of_node = self._platforms
        spec = self._snapshot.pods[pod].spec
        if len(platforms) < 2 and spec.os is None:
            return None
        workload, node = int(self._snapshot.pod_workload[pod]), int(self._snapshot.pod_node[pod])
        here = int(of_node[node]) if node >= 0 else -1
        key = (id(spec), workload, here)  # the snapshot keeps every spec alive
        if key not in self._known:
            blocked = tuple(
                bool(self._differing_parts(pod, number)) for number in range(len(platforms))
            )
            self._known[key] = self._nodes_of(blocked) if any(blocked) else None
        return self._known[key]

    def _nodes_of(self, blocked: tuple[bool, ...]) -> BoolArray:
        """(nodes,) the nodes of these platforms; one array for each choice of them."""
        mask = self._arrays.get(blocked)
        if mask is None:
            mask = np.array(blocked, dtype=np.bool_)[self._platforms[1]]
            self._arrays[blocked] = mask
        return mask

    def refusal(self, pod: int, node: int) -> Problem | None:
        """FEA017: whether the node is of another platform than any that the pod has run on."""
        platforms, of_node = self._platforms
        number = int(of_node[node])
        differing = self._differing_parts(pod, number)
        if not differing:
            return None
        name, part = self._snapshot.nodes[node].metadata.name, differing[0]
        text = f"node {name} has {_WORDS[part]} {platforms[number][part] or 'unknown'}"
        system = self._snapshot.pods[pod].spec.os
        if part == 1 and system is not None:
            return Problem("FEA017", f"{text}, and the pod says {system.name}")
        used = sorted({platform[part] or "unknown" for platform in self._platforms_used(pod)})
        return Problem("FEA017", f"{text}, and its workload runs on {', '.join(used)} only")

    @cached_property
    def _platforms(self) -> tuple[list[Platform], IntArray]:
        """The different platforms; (nodes,) the place of each node's."""
        numbers: dict[Platform, int] = {}
        of_node = [
            numbers.setdefault(platform_of(node.metadata.labels), len(numbers))
            for node in self._snapshot.nodes
        ]
        return list(numbers), np.array(of_node, dtype=np.int32)

    def _differing_parts(self, pod: int, number: int) -> list[int]:
        """In which parts the platform of this number is none that the pod is known to run on."""
        platform, spec = self._platforms[0][number], self._snapshot.pods[pod].spec
        named, used = keys_named(spec), self._platforms_used(pod)
        differing = []
        if not ARCHITECTURE & named and platform[0] not in {
            other_platform[0] for other_platform in used
        }:
            differing.append(0)
        if spec.os is not None:
            if platform[1].partition(" ")[0] not in ("", spec.os.name.lower()):
                return [1]
        elif not SYSTEM & named and platform[1] not in {
            other_platform[1] for other_platform in used
        }:
            differing.append(1)
        if differing and self._has_images(pod, platform):
            differing = []
        models = {other_platform[2] for other_platform in used}
        if requests_gpus(spec) and not GPU_MODEL & named and platform[2] not in models:
            differing.append(2)
        return differing

    def _platforms_used(self, pod: int) -> set[Platform]:
        """The platforms where the pod, and Ready pods of its workload, are."""
        platforms, of_node = self._platforms
        node = int(self._snapshot.pod_node[pod])
        own = {platforms[of_node[node]]} if node >= 0 else set()
        return own | self._of_workload[int(self._snapshot.pod_workload[pod])]

    @cached_property
    def _of_workload(self) -> dict[int, set[Platform]]:
        """Workload to the platforms where Ready pods of it are."""
        platforms, of_node = self._platforms
        by_workload = defaultdict[int, set[Platform]](set)
        snapshot = self._snapshot
        placed = np.flatnonzero((snapshot.pod_node >= 0) & (snapshot.pod_workload >= 0))
        here = of_node[snapshot.pod_node[placed]]
        pairs = snapshot.pod_workload[placed].astype(np.int64) * len(platforms) + here
        different, pair = np.unique(pairs, return_inverse=True)
        ready = [False] * len(different)
        for number, place in zip(placed.tolist(), pair.tolist(), strict=True):
            ready[place] = ready[place] or snapshot.pods[number].ready
        for workload, number in np.array(divmod(different[ready], len(platforms))).T.tolist():
            by_workload[workload].add(platforms[number])
        return by_workload

    def _has_images(self, pod: int, platform: Platform) -> bool:
        """Whether nodes of this architecture and system list all images of the pod."""
        listed = self._images[platform[:2]]
        return all(image in listed for image in images(self._snapshot.pods[pod].spec))

    @cached_property
    def _images(self) -> dict[tuple[str, ...], set[str]]:
        """Architecture and system to the images that nodes of them list."""
        platforms, of_node = self._platforms
        image_names = defaultdict[tuple[str, ...], set[str]](set)
        for node, number in zip(self._snapshot.nodes, of_node.tolist(), strict=True):
            names = image_names[platforms[number][:2]]
            for image in node.status.images or ():
                names.update(map(full_image, image.names or ()))
        return image_names
