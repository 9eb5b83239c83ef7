"""node_exporter's series as kube-prometheus-stack stores them: an instance, and no node label."""

from collections.abc import Iterator
from functools import lru_cache

from tests.e2e.exporter.series import MONITORING, Sample, View, exporter_pod, labels
from tests.e2e.exporter.world import RunningNode

APP = "prometheus-node-exporter"
# One series for each CPU and mode would drown a small machine; above this many CPUs a node shows
# this many, each carrying the node's mean, so that shares stay true and sums of cores do not.
_CPUS = 16
_SYSTEM_SHARE = 0.2
_PACKET = 1500.0


@lru_cache(maxsize=4096)
def _target(pod: str, address: str) -> str:
    return labels(
        container="node-exporter",
        endpoint="http-metrics",
        instance=f"{address}:9100",
        namespace=MONITORING,
        pod=pod,
        service="kube-prometheus-stack-prometheus-node-exporter",
    )


def series(node: RunningNode, view: View) -> Iterator[Sample]:
    """Every series of one node."""
    target = _target(exporter_pod(node, APP, view.copy), node.node.address)
    now, factor = view.now, view.factor
    cores = node.node.capacity("cpu")
    busy = node.busy.read(now) * factor
    idle = node.busy.read(now) + node.idle.read(now) - busy
    shown = min(int(cores), _CPUS)
    modes = {
        "idle": idle,
        "iowait": 0.0,
        "system": busy * _SYSTEM_SHARE,
        "user": busy * (1 - _SYSTEM_SHARE),
    }
    for mode, seconds in modes.items():
        value = seconds / cores
        for cpu in range(shown):
            yield Sample("node_cpu_seconds_total", f'{target},cpu="{cpu}",mode="{mode}"', value)
    yield Sample("node_time_seconds", target, now)
    total = node.node.capacity("memory")
    yield Sample("node_memory_MemTotal_bytes", target, total)
    yield Sample("node_memory_MemAvailable_bytes", target, total - node.memory_used * factor)
    card = f'{target},device="eth0"'
    yield Sample("node_network_transmit_bytes_total", card, node.transmit.read(now) * factor)
    yield Sample("node_network_receive_bytes_total", card, node.receive.read(now) * factor)
    yield Sample("node_network_speed_bytes", card, node.speed)
    for direction, counter in (("transmit", node.transmit), ("receive", node.receive)):
        packets = counter.read(now) / _PACKET
        dropped = packets * node.node.metadata.load("drops")
        yield Sample(f"node_network_{direction}_packets_total", card, packets)
        yield Sample(f"node_network_{direction}_drop_total", card, dropped)
    segments = node.transmit.read(now) / _PACKET
    yield Sample("node_netstat_Tcp_OutSegs", target, segments)
    again = segments * node.node.metadata.load("retransmits")
    yield Sample("node_netstat_Tcp_RetransSegs", target, again)
    waiting = now * node.node.metadata.load("pressure")
    yield Sample("node_pressure_cpu_waiting_seconds_total", target, waiting)
    # The loopback device: traffic that a careless sum would count, and no speed.
    loopback = f'{target},device="lo"'
    yield Sample("node_network_transmit_bytes_total", loopback, node.busy.read(now) * 1e6)
    yield Sample("node_network_receive_bytes_total", loopback, node.busy.read(now) * 1e6)
