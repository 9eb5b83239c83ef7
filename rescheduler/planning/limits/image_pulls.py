"""Image pulls: which images a replacement may have to pull, so that few pull at once."""

from collections.abc import Sequence
from functools import cache

from rescheduler.kube.objects import Node, PodSpec
from rescheduler.model.moves.move import Landing
from rescheduler.scheduler.plugins.image_locality import full_name, reference

_LIKELY = 0.1
"""A pull that is less probable than this does not count."""


class ImagePulls:
    """What nodes have pulled already, by the images that their kubelets report."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._held = cache(self._names)

    def images_to_pull(self, spec: PodSpec, source: int, landing: Landing) -> list[str]:
        """The images of a pod on this node that its replacement is likely to pull.

        Kubelets report their 50 largest images, and a runtime may have names of its own for them.
        So an image that the pod runs and its node does not report says nothing of other nodes;
        a node that reports no image at all says nothing of what it lacks.
        """
        images = [image for image in _images(spec) if image in self._held(source)]
        shares = zip(map(self._held, landing.nodes.tolist()), landing.probabilities, strict=True)
        reports = [(names, share) for names, share in shares if names] if images else []
        return [
            image
            for image in images
            if sum(share for names, share in reports if image not in names) >= _LIKELY
        ]

    def _names(self, node: int) -> frozenset[str]:
        images = self._nodes[node].status.images or ()
        return frozenset(_full_reference(name) for image in images for name in image.names or ())


def _images(spec: PodSpec) -> list[str]:
    """Of containers and image volumes, each once, by their qualified names."""
    containers = [*(spec.initContainers or ()), *spec.containers]
    names = [container.image for container in containers]
    names += [reference(volume.image) for volume in spec.volumes or () if volume.image]
    return list(dict.fromkeys(_full_reference(name) for name in names if name))


def _full_reference(image: str) -> str:
    """The image with its registry, and with its digest or else its tag.

    Source: ParseNormalizedNamed in github.com/distribution/reference.
    """
    name, at, digest = image.partition("@")
    if at:
        path, colon, tag = name.rpartition(":")
        name = path if colon and "/" not in tag else name
    else:
        name = full_name(name)
    registry, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif registry != "localhost" and not {".", ":"}.intersection(registry):
        name = f"docker.io/{name}"
    return f"{name}{at}{digest}"
