"""Google Kubernetes Engine without any exporter: its system metrics, asked in PromQL.

Cloud Monitoring's Prometheus API has `kubernetes.io/node/cpu/core_usage_time` as
`kubernetes_io:node_cpu_core_usage_time`, with the labels of the monitored resource: `node_name`,
`namespace_name`, `pod_name`, `cluster_name`, `location`. They are sampled every minute and visible
up to four minutes later, so policies need `maxAge: 6m`. The matchers of `--prometheus-selector` are
such as `cluster_name="c1",location="europe-west4"`.
"""

from rescheduler.policies.own_readings.definition import Capacity, OwnReading, ReadingLabels

_NODE = '$match monitored_resource="k8s_node"'
_POD = '$match monitored_resource="k8s_container"'
_NODE_KEY = "cluster_name,location,node_name"
_POD_KEY = "cluster_name,location,namespace_name,pod_name"
_GPU = ["nvidia.com/gpu"]
_OF_NODE = ReadingLabels(node="node_name")
_OF_POD = ReadingLabels(namespace="namespace_name", pod="pod_name")
_OF_NODE_DEVICE = ReadingLabels(node="node_name", device="accelerator_id")
_OF_POD_DEVICE = ReadingLabels(namespace="namespace_name", pod="pod_name", device="accelerator_id")
_HELD = 'memory_type="non-evictable"'
"""What the kernel cannot take back, as the working set without its file pages."""


def _mean(metric: str, of: str, key: str) -> str:
    return f"sum by ({key}) (avg_over_time(kubernetes_io:{metric}{{{of}}}[$window]))"


def _newest(metric: str, of: str, key: str) -> str:
    return f"max by ({key}) (timestamp(kubernetes_io:{metric}{{{of}}}))"


def _device(metric: str, of: str, key: str) -> str:
    return f"max by ({key},accelerator_id) (avg_over_time(kubernetes_io:{metric}{{{of}}}[$window]))"


GKE_MANAGED: dict[str, OwnReading] = {
    "node.cpu": OwnReading(
        value=f"sum by ({_NODE_KEY})"
        f" (rate(kubernetes_io:node_cpu_core_usage_time{{{_NODE}}}[$window]))",
        fresh=_newest("node_cpu_core_usage_time", _NODE, _NODE_KEY),
        unit="cores",
        capacity=Capacity(query=_mean("node_cpu_total_cores", _NODE, _NODE_KEY)),
        labels=_OF_NODE,
    ),
    "node.memory": OwnReading(
        value=_mean("node_memory_used_bytes", f"{_NODE},{_HELD}", _NODE_KEY),
        fresh=_newest("node_memory_used_bytes", f"{_NODE},{_HELD}", _NODE_KEY),
        unit="bytes",
        capacity=Capacity(query=_mean("node_memory_total_bytes", _NODE, _NODE_KEY)),
        labels=_OF_NODE,
    ),
    "node.gpu": OwnReading(
        value=f"{_device('node_accelerator_duty_cycle', _NODE, _NODE_KEY)} / 100",
        fresh=_newest("node_accelerator_duty_cycle", _NODE, f"{_NODE_KEY},accelerator_id"),
        unit="ratio",
        capacity=Capacity(allocatable=True),
        labels=_OF_NODE_DEVICE,
        combine="Total",
        resources=_GPU,
    ),
    "node.gpu.memory": OwnReading(
        value=_device("node_accelerator_memory_used", _NODE, _NODE_KEY),
        fresh=_newest("node_accelerator_memory_used", _NODE, f"{_NODE_KEY},accelerator_id"),
        unit="bytes",
        capacity=Capacity(query=_device("node_accelerator_memory_total", _NODE, _NODE_KEY)),
        labels=_OF_NODE_DEVICE,
        combine="Total",
        resources=_GPU,
    ),
    "pod.cpu": OwnReading(
        value=f"sum by ({_POD_KEY})"
        f" (rate(kubernetes_io:container_cpu_core_usage_time{{{_POD}}}[$window]))",
        fresh=_newest("container_cpu_core_usage_time", _POD, _POD_KEY),
        unit="cores",
        labels=_OF_POD,
    ),
    "pod.memory": OwnReading(
        value=_mean("container_memory_used_bytes", f"{_POD},{_HELD}", _POD_KEY),
        fresh=_newest("container_memory_used_bytes", f"{_POD},{_HELD}", _POD_KEY),
        unit="bytes",
        labels=_OF_POD,
    ),
    "pod.gpu": OwnReading(
        value=f"{_device('container_accelerator_duty_cycle', _POD, _POD_KEY)} / 100",
        fresh=_newest("container_accelerator_duty_cycle", _POD, f"{_POD_KEY},accelerator_id"),
        unit="GPUs",
        labels=_OF_POD_DEVICE,
        resources=_GPU,
    ),
    "pod.gpu.memory": OwnReading(
        value=_device("container_accelerator_memory_used", _POD, _POD_KEY),
        fresh=_newest("container_accelerator_memory_used", _POD, f"{_POD_KEY},accelerator_id"),
        unit="bytes",
        labels=_OF_POD_DEVICE,
        resources=_GPU,
    ),
}
