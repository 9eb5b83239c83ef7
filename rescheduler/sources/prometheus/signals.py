"""Readings beside the load itself: broken parts, pressure, peaks, NUMA zones, RDMA.

Why the forms are what they are:
- DCGM's XID gauge holds the last error until its exporter restarts, and a new error may be a new
  series (label `err_code`, or the next pod's): so an event is a value that is not the device's in
  the whole window.
  XIDs that NVIDIA's device plugin takes for faults of the application do not
  count (k8s-device-plugin, internal/rm/health.go);
- PSI is a share of time, so its rate is divided by that of the clock, as CPU is;
- a quantile is taken over rates of a fifth of the window, which costs ten rates: once a cycle;
- the label `node` of NUMA series is the zone's number and would be mistaken for a node's name.
"""

from rescheduler.kube.nodes.accelerators import NVIDIA
from rescheduler.sources.prometheus.definition import (
    GPU,
    GPU_DEVICE,
    GPU_KEY,
    LINKS,
    OWNER,
    Definition,
    Source,
    growth_of_devices,
)
from rescheduler.sources.prometheus.devices.makers import (
    OTHERS_ECC,
    OTHERS_ECC_HOLDERS,
    others_memory_free,
    others_memory_peak,
    others_peak,
)

_APPLICATION_XIDS = (13, 31, 43, 45, 68, 109)
_MIB = 2.0**20
PEAK = 0.95
"""The quantile of readings whose name ends in `.peak`."""

_XID = "DCGM_FI_DEV_XID_ERRORS{$match}" + "".join(f" != {code}" for code in _APPLICATION_XIDS)
_NOW = f"max by ({GPU_KEY}) (DCGM_FI_DEV_XID_ERRORS{{$match}})"
_TIME = "rate(node_time_seconds{$match}[$window])"
_SHORT_TIME = "rate(node_time_seconds{$match}[$span])"


def _unlike(edge: str) -> str:
    """The error that there is now, where the device's least or largest of the window is another."""
    other = (
        f"{edge} by ({GPU_DEVICE}) ({edge}_over_time(DCGM_FI_DEV_XID_ERRORS{{$match}}[$window]))"
    )
    return f"max by ({GPU_KEY}) ({_XID}) > 0 != on ({GPU_DEVICE}) group_left () {other}"


def _worst_gpu(
    name: str,
    metric: str,
    value: str,
    highest: float,
    others: tuple[Source, ...] = (),
    held: str = "",
) -> Definition:
    """others: of other makers' devices; held: which pods have those."""
    time = f"(timestamp({metric}{{$match}}))"
    return Definition(
        name,
        "",
        highest,
        "worst",
        (Source(value, f"max by ({GPU_KEY}) {time}", maker=NVIDIA), *others),
        only="gpu",
        holders=" or ".join(filter(None, (f"max by ({GPU_KEY},{OWNER}) {time}", held))),
    )


def _pressure(name: str, metric: str) -> Definition:
    value = f"rate({metric}{{$match}}[$window]) / {_TIME}"
    source = Source(value, f"timestamp({metric}{{$match}})")
    return Definition(name, "ratio", 1.0, "single", (source,))


def _peak(inner: str) -> str:
    return f"quantile_over_time({PEAK}, ({inner})[$window:$step])"


def _link_peak(direction: str) -> Definition:
    series = f'node_network_{direction}_bytes_total{{$match device=~"{LINKS}"}}'
    inner = f"rate({series}[$span]) / ignoring (device) group_left () {_SHORT_TIME}"
    return Definition(
        f"node.network.{direction}.peak",
        "ratio",
        1e13,
        "link",
        (Source(_peak(inner), f"timestamp({series})"),),
        (Source(f'node_network_speed_bytes{{$match device=~"{LINKS}"}} > 0'),),
    )


def _gpu_quantile(metric: str, quantile: float, scale: float) -> Source:
    return Source(
        f"max by ({GPU_KEY}) (quantile_over_time({quantile:g}, {metric}{{$match}}[$window]))",
        f"max by ({GPU_KEY}) (timestamp({metric}{{$match}}))",
        scale=scale,
        maker=NVIDIA,
    )


def _rdma(direction: str) -> Definition:
    done = {"receive": "received", "transmit": "transmitted"}[direction]
    series = f"node_infiniband_port_data_{done}_bytes_total{{$match}}"
    return Definition(
        f"node.rdma.{direction}",
        "ratio",
        1e13,
        "link",
        (
            Source(
                f"max without (port) (rate({series}[$window]))"
                f" / ignoring (device) group_left () {_TIME}",
                f"max without (port) (timestamp({series}))",
            ),
        ),
        (Source("max without (port) (node_infiniband_rate_bytes_per_second{$match}) > 0"),),
        only="rdma",
    )


def _pod_rdma(direction: str, short: str) -> Definition:
    """Virtual functions of SR-IOV cards: the only way in which RDMA is reported by pod."""
    series = f"sriov_vf_{short}_bytes{{$match}}"
    owner = "on (pciAddr,node) group_left (namespace,pod) max by (pciAddr,node,namespace,pod)"
    return Definition(
        f"pod.rdma.{direction}",
        "bytes/s",
        1e13,
        "single",
        (
            Source(
                "sum by (cluster,node,namespace,pod) (max by (cluster,node,pciAddr)"
                f" (rate({series}[$window])) * {owner} (sriov_kubepoddevice{{$match}}))",
                f"max by (cluster,node) (timestamp({series}))",
            ),
        ),
        rate=True,
        only="rdma",
    )


_DROPS = " + ".join(
    f'rate(node_network_{direction}_drop_total{{$match device=~"{LINKS}"}}[$window])'
    for direction in ("receive", "transmit")
)
_PACKETS = " + ".join(
    f'rate(node_network_{direction}_packets_total{{$match device=~"{LINKS}"}}[$window])'
    for direction in ("receive", "transmit")
)
_ZONE = "node_memory_numa_{}{{$match}}"
_FREE = ("MemFree", "Active_file", "Inactive_file", "SReclaimable")
"""What a zone has available, as MemAvailable counts it for the whole node, without the watermarks:
the page cache on the lists of files, which has no shared memory, and slab that can be reclaimed.
Source: Linux, mm/show_mem.c, si_mem_available()."""

SIGNALS: tuple[Definition, ...] = (
    _worst_gpu(
        "node.gpu.xid",
        "DCGM_FI_DEV_XID_ERRORS",
        f"({_unlike('min')}) or ({_unlike('max')}) or 0 * {_NOW}",
        1e4,
    ),
    _worst_gpu(
        "node.gpu.ecc",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        growth_of_devices("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", GPU_KEY, GPU_DEVICE),
        1e9,
        OTHERS_ECC,
        OTHERS_ECC_HOLDERS,
    ),
    _worst_gpu(
        "node.gpu.remap",
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        f"max by ({GPU_KEY}) (DCGM_FI_DEV_ROW_REMAP_FAILURE{{$match}})",
        1e9,
    ),
    Definition(
        "node.network.drops",
        "ratio",
        1.0,
        "worst",
        (
            Source(
                f"clamp_max(({_DROPS}) / clamp_min({_PACKETS}, 10), 1)",
                f'timestamp(node_network_receive_drop_total{{$match device=~"{LINKS}"}})',
            ),
        ),
    ),
    Definition(
        "node.network.retransmits",
        "ratio",
        1.0,
        "single",
        (
            Source(
                "clamp_max(rate(node_netstat_Tcp_RetransSegs{$match}[$window])"
                " / clamp_min(rate(node_netstat_Tcp_OutSegs{$match}[$window]), 100), 1)",
                "timestamp(node_netstat_Tcp_OutSegs{$match})",
            ),
        ),
    ),
    _pressure("node.cpu.pressure", "node_pressure_cpu_waiting_seconds_total"),
    _pressure("node.memory.pressure", "node_pressure_memory_stalled_seconds_total"),
    Definition(
        "node.numa.memory",
        "ratio",
        1.0,
        "single",
        (
            Source(
                "max without (node) (1 - ("
                + " + ".join(f"avg_over_time({_ZONE.format(each)}[$window])" for each in _FREE)
                + f") / avg_over_time({_ZONE.format('MemTotal')}[$window]))",
                f"max without (node) (timestamp({_ZONE.format('MemTotal')}))",
            ),
        ),
    ),
    Definition(
        "node.cpu.peak",
        "ratio",
        1.0,
        "single",
        (
            Source(
                _peak(
                    "1 - avg without (cpu,mode)"
                    ' (rate(node_cpu_seconds_total{$match mode="idle"}[$span]))'
                    f" / {_SHORT_TIME}"
                ),
                "timestamp(node_time_seconds{$match})",
            ),
        ),
        resource="cpu",
    ),
    Definition(
        "node.memory.peak",
        "ratio",
        1.0,
        "single",
        (
            Source(
                f"1 - quantile_over_time({1 - PEAK:.2g},"
                " node_memory_MemAvailable_bytes{$match}[$window])"
                " / avg_over_time(node_memory_MemTotal_bytes{$match}[$window])",
                "timestamp(node_memory_MemAvailable_bytes{$match})",
            ),
        ),
        resource="memory",
    ),
    _link_peak("receive"),
    _link_peak("transmit"),
    Definition(
        "node.gpu.peak",
        "ratio",
        1.0,
        "gpu",
        (
            _gpu_quantile("DCGM_FI_PROF_GR_ENGINE_ACTIVE", PEAK, 1.0),
            _gpu_quantile("DCGM_FI_DEV_GPU_UTIL", PEAK, 0.01),
            *others_peak(PEAK),
        ),
        resource=GPU,
        only="gpu",
    ),
    Definition(
        "node.gpu.memory.peak",
        "ratio",
        1e15,
        "gpu-memory",
        (_gpu_quantile("DCGM_FI_DEV_FB_USED", PEAK, _MIB), *others_memory_peak(PEAK)),
        (_gpu_quantile("DCGM_FI_DEV_FB_FREE", 1 - PEAK, _MIB), *others_memory_free(1 - PEAK)),
        only="gpu",
    ),
    _rdma("receive"),
    _rdma("transmit"),
    _pod_rdma("receive", "rx"),
    _pod_rdma("transmit", "tx"),
)
"""They stand in the catalogue like all others."""
