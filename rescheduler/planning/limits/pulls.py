"""Which images a replacement may have to pull: a registry throttles those who come as a herd."""

from collections.abc import Iterable, Sequence
from functools import cache

from rescheduler.kube.objects import Node, PodSpec
from rescheduler.scheduler.plugins.image_locality import full_name


class Pulls:
    """What nodes have pulled already, by the images that their kubelets report."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._held = cache(self._names)

    def of(self, spec: PodSpec, nodes: Iterable[int]) -> list[str]:
        """The pod's images that one of these nodes lacks.

        A node that reports no image at all says nothing of what it lacks.
        """
        held = [names for names in map(self._held, nodes) if names]
        containers = [*(spec.initContainers or ()), *spec.containers]
        images = dict.fromkeys(full_name(each.image) for each in containers if each.image)
        return [image for image in images if any(image not in names for names in held)]

    def _names(self, node: int) -> frozenset[str]:
        images = self._nodes[node].status.images or ()
        return frozenset(name for each in images for name in each.names or ())
