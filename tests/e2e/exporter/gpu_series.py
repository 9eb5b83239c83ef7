"""dcgm-exporter's series as the GPU operator installs it, with honorLabels off."""

from collections.abc import Iterator
from functools import lru_cache
from uuid import NAMESPACE_DNS, uuid5

from tests.e2e.exporter.series import GPU_OPERATOR, Sample, View, exporter_pod, labels
from tests.e2e.exporter.world import RunningNode, RunningPod

APP = "nvidia-dcgm-exporter"
MODEL = "NVIDIA H100 80GB HBM3"
# MiB of one such device.
FRAMEBUFFER = 81559.0
_MIB = 1 << 20


@lru_cache(maxsize=65536)
def _device(node: str, pod: str, device: int, hostname_label: str) -> str:
    return labels(
        gpu=str(device),
        UUID=f"GPU-{uuid5(NAMESPACE_DNS, f'{node}/{device}')}",
        pci_bus_id=f"00000000:{0x1B + device:02X}:00.0",
        device=f"nvidia{device}",
        modelName=MODEL,
        **{hostname_label: node},
        DCGM_FI_DRIVER_VERSION="570.86.15",
        container=APP,
        endpoint="gpu-metrics",
        namespace=GPU_OPERATOR,
        pod=pod,
        service=APP,
        # The exporter's own pod address: no node's.
        instance=f"10.244.{uuid5(NAMESPACE_DNS, node).int % 250}.{len(node)}:9400",
    )


def _attribution(owner: RunningPod) -> str:
    return "," + labels(
        exported_container=owner.pod.spec.containers[0].name,
        exported_namespace=owner.pod.metadata.namespace,
        exported_pod=owner.pod.metadata.name,
    )


def series(node: RunningNode, view: View) -> Iterator[Sample]:
    """Every GPU of one node; an idle one carries no exported_* label at all."""
    name = node.node.metadata.name
    pod = exporter_pod(node, APP, view.copy)
    for device in range(node.gpus):
        held = _device(name, pod, device, view.hostname_label)
        owners = [owner.pod.metadata.load for owner in node.owners_of(device)]
        busy = min(1.0, sum(load("gpu") for load in owners)) * view.factor
        used = sum(load("gpu-memory", FRAMEBUFFER * _MIB / 10) for load in owners) / _MIB
        used *= view.factor
        copies = [held + _attribution(owner) for owner in node.owners_of(device)] or [held]
        for copy in copies:
            yield from _of_one(copy, busy, used, node, device)


def _of_one(
    held: str, busy: float, used: float, node: RunningNode, device: int
) -> Iterator[Sample]:
    """The series of a GPU, or its copy for one of the pods that share it."""
    yield Sample("DCGM_FI_DEV_GPU_UTIL", held, round(busy * 100))
    yield Sample("DCGM_FI_PROF_GR_ENGINE_ACTIVE", held, busy)
    yield Sample("DCGM_FI_DEV_FB_USED", held, used)
    yield Sample("DCGM_FI_DEV_FB_FREE", held, FRAMEBUFFER - used)
    # One device has the error; a new error is a new series, as err_code is a label.
    ill = device == node.node.metadata.load("xid-device")
    xid = node.node.metadata.load("xid") if ill else 0.0
    error = f',err_code="{xid:.0f}",err_msg="..."' if xid else ""
    yield Sample("DCGM_FI_DEV_XID_ERRORS", held + error, xid)
    yield Sample("DCGM_FI_DEV_ROW_REMAP_FAILURE", held, 0.0)
