"""The catalogue of named readings: which series they come from and what their values may be.

Every query is a template: `$window` is the request's window, `$match` the source's own matchers.
Why the forms are what they are:
- an exporter that dies leaves `rate` to sink towards 0 for a whole window, and `1 - rate` to climb;
  dividing by the rate of `node_time_seconds`, which sinks alike, takes the error out;
- a device whose pod changes has two series in one window; the sum of all samples over their number
  is its average over time, where a maximum or an average of averages would not be;
- only `timestamp()` of a bare selector gives when a sample was taken, hence the companion queries.
Pods' rates are not corrected: while a cAdvisor is silent they sink until `maxAge` is reached.
"""

from rescheduler.kube.nodes.accelerators import NVIDIA
from rescheduler.sources.prometheus.definition import (
    GPU,
    GPU_KEY,
    GPU_POD_KEY,
    LINKS,
    Definition,
    Source,
    fill,
    gauge_of_devices,
)
from rescheduler.sources.prometheus.devices.makers import (
    OTHERS_LOAD,
    OTHERS_MEMORY,
    OTHERS_MEMORY_FREE,
)
from rescheduler.sources.prometheus.signals import SIGNALS

__all__ = ["CATALOG", "GPU", "Definition", "Source", "fill"]

_MIB = 2.0**20
_POD_KEY = "cluster,job,instance,node,namespace,pod"
_CONTAINERS = '$match container!="",container!="POD"'

_GPU_LOAD = (
    gauge_of_devices("DCGM_FI_PROF_GR_ENGINE_ACTIVE", GPU_POD_KEY, 1.0, NVIDIA),
    gauge_of_devices("DCGM_FI_DEV_GPU_UTIL", GPU_POD_KEY, 0.01, NVIDIA),
    *OTHERS_LOAD,
)
"""How busy each device is: the engine's share of active time, else `any kernel ran`."""
_GPU_MEMORY = (
    gauge_of_devices("DCGM_FI_DEV_FB_USED", GPU_POD_KEY, _MIB, NVIDIA),
    *OTHERS_MEMORY,
)
_GPU_MEMORY_FREE = (
    gauge_of_devices("DCGM_FI_DEV_FB_FREE", GPU_KEY, _MIB, NVIDIA),
    *OTHERS_MEMORY_FREE,
)


def _link(direction: str) -> tuple[Source, ...]:
    series = f'node_network_{direction}_bytes_total{{$match device=~"{LINKS}"}}'
    return (
        Source(
            value=f"rate({series}[$window])"
            " / ignoring (device) group_left () rate(node_time_seconds{$match}[$window])",
            fresh=f"timestamp({series})",
        ),
    )


_SPEED = (Source(f'node_network_speed_bytes{{$match device=~"{LINKS}"}} > 0'),)

_CADVISOR = (
    "max by (cluster,job,instance,node)"
    f" (timestamp(container_cpu_usage_seconds_total{{{_CONTAINERS}}}))"
)


def _pod(inner: str, part: str) -> tuple[Source, ...]:
    """Rows of a pod's parts: of a restarted container's two the larger, then all parts together."""
    return (Source(f"sum by ({_POD_KEY}) (max by ({_POD_KEY},{part}) ({inner}))", _CADVISOR),)


def _pod_link(direction: str) -> tuple[Source, ...]:
    series = (
        f"container_network_{direction}_bytes_total"
        '{$match pod!="",container=~"|POD",interface!~"lo|cali.*|veth.*|tunl.*"}'
    )
    return _pod(f"rate({series}[$window])", "interface")


CATALOG: dict[str, Definition] = {
    each.name: each
    for each in (
        Definition(
            "node.cpu",
            "ratio",
            1.0,
            "single",
            (
                Source(
                    "1 - avg without (cpu,mode)"
                    ' (rate(node_cpu_seconds_total{$match mode="idle"}[$window]))'
                    " / rate(node_time_seconds{$match}[$window])",
                    "timestamp(node_time_seconds{$match})",
                ),
                Source(
                    "rate(node_cpu_usage_seconds_total{$match}[$window])",
                    "timestamp(node_cpu_usage_seconds_total{$match})",
                    per_capacity=True,
                ),
            ),
            resource="cpu",
        ),
        Definition(
            "node.memory",
            "ratio",
            1.0,
            "single",
            (
                Source(
                    "1 - avg_over_time(node_memory_MemAvailable_bytes{$match}[$window])"
                    " / avg_over_time(node_memory_MemTotal_bytes{$match}[$window])",
                    "timestamp(node_memory_MemAvailable_bytes{$match})",
                ),
            ),
            resource="memory",
        ),
        Definition("node.network.receive", "ratio", 1e13, "link", _link("receive"), _SPEED),
        Definition("node.network.transmit", "ratio", 1e13, "link", _link("transmit"), _SPEED),
        Definition("node.gpu", "ratio", 1.0, "gpu", _GPU_LOAD, resource=GPU, only="gpu"),
        Definition(
            "node.gpu.memory",
            "ratio",
            1e15,
            "gpu-memory",
            _GPU_MEMORY,
            _GPU_MEMORY_FREE,
            only="gpu",
        ),
        Definition(
            "pod.cpu",
            "cores",
            1e5,
            "single",
            _pod(f"rate(container_cpu_usage_seconds_total{{{_CONTAINERS}}}[$window])", "container"),
            rate=True,
        ),
        Definition(
            "pod.memory",
            "bytes",
            1e15,
            "single",
            _pod(
                f"avg_over_time(container_memory_working_set_bytes{{{_CONTAINERS}}}[$window])",
                "container",
            ),
        ),
        Definition(
            "pod.network.receive",
            "bytes/s",
            1e13,
            "single",
            _pod_link("receive"),
            rate=True,
            only="own-network",
        ),
        Definition(
            "pod.network.transmit",
            "bytes/s",
            1e13,
            "single",
            _pod_link("transmit"),
            rate=True,
            only="own-network",
        ),
        Definition("pod.gpu", "GPUs", 1.0, "pod-gpu", _GPU_LOAD, only="gpu"),
        Definition(
            "pod.gpu.memory",
            "bytes",
            1e15,
            "pod-gpu",
            _GPU_MEMORY,
            only="gpu",
        ),
        *SIGNALS,
    )
}
"""Every reading by its name."""
