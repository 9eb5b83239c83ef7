"""What a node's containers can run on: its architecture, operating system and model of GPU.

kube-scheduler looks at none of them unless a pod's node selection names their labels, and not at
`spec.os` of a pod either: its kubelet then refuses the pod (PodOSNotSupported).
"""

from collections.abc import Iterator
from typing import NamedTuple

from rescheduler.kube.nodes.accelerators import maker, product
from rescheduler.kube.objects import Labels, PodSpec
from rescheduler.kube.pods.containers import all_containers

ARCHITECTURE = frozenset({"kubernetes.io/arch", "beta.kubernetes.io/arch"})
SYSTEM = frozenset(
    {"kubernetes.io/os", "beta.kubernetes.io/os", "node.kubernetes.io/windows-build"}
)
GPU_MODEL = frozenset(
    {
        "nvidia.com/gpu.product",
        "nvidia.com/gpu.family",
        "nvidia.com/gpu.memory",
        "nvidia.com/gpu.compute.major",
        "amd.com/gpu.product-name",
        "amd.com/gpu.family",
        "amd.com/gpu.device-id",
        "gpu.intel.com/product",
        "cloud.google.com/gke-accelerator",
        "karpenter.k8s.aws/instance-gpu-name",
        "karpenter.azure.com/sku-gpu-name",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
    }
)
"""Label keys by which a pod says what it can run on."""
_MODELS = (
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "karpenter.azure.com/sku-gpu-name",
)


class Platform(NamedTuple):
    """Architecture, operating system (with its build on Windows) and GPU model; "" is unknown."""

    architecture: str
    system: str
    gpu: str


def platform_of(labels: Labels | None) -> Platform:
    """What the labels say that kubelet and the makers of GPUs put on each node."""
    label_values = labels or {}
    system = _first_value(label_values, "kubernetes.io/os", "beta.kubernetes.io/os")
    build = label_values.get("node.kubernetes.io/windows-build", "")
    return Platform(
        _first_value(label_values, "kubernetes.io/arch", "beta.kubernetes.io/arch"),
        f"{system} {build}".rstrip(),
        product(label_values) or _first_value(label_values, *_MODELS),
    )


def keys_named(spec: PodSpec) -> set[str]:
    """The label and taint keys that the pod's node selection and tolerations name."""
    keys = set(spec.nodeSelector or ())
    keys.update(toleration.key for toleration in spec.tolerations or () if toleration.key)
    affinity = spec.affinity.nodeAffinity if spec.affinity else None
    if affinity is not None:
        required = affinity.requiredDuringSchedulingIgnoredDuringExecution
        terms = list((required.nodeSelectorTerms if required else None) or ())
        preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution or ()
        terms += [term.preference for term in preferred]
        keys.update(expression.key for term in terms for expression in term.matchExpressions or ())
    return keys


def requests_gpus(spec: PodSpec) -> bool:
    """Whether a container asks for GPUs of a device plugin."""
    requirements = (
        container.resources for container in all_containers(spec) if container.resources is not None
    )
    return any(
        maker(name)
        for requirement in requirements
        for name in (*(requirement.requests or ()), *(requirement.limits or ()))
    )


def images(spec: PodSpec) -> Iterator[str]:
    """The full name of each container's image, as nodes list it."""
    return (full_image(container.image) for container in all_containers(spec))


def full_image(name: str) -> str:
    """The image with its registry and tag: `docker.io/library/app:latest` of `app`.

    Source: ParseDockerRef in github.com/distribution/reference, normalize.go.
    """
    host, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif not ("." in host or ":" in host or host == "localhost"):
        name = f"docker.io/{name}"
    return name if "@" in name or name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _first_value(labels: Labels, *keys: str) -> str:
    return next((labels[key] for key in keys if key in labels), "")
