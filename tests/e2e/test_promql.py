"""What queries of readings mean, by Prometheus' own test tool on made-up series."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.kube.nodes.accelerators import AMD as MADE_BY_AMD
from rescheduler.kube.nodes.accelerators import GAUDI, INTEL
from rescheduler.policies.own_readings.definition import Series
from rescheduler.policies.own_readings.readings_document import built_in, preset_of
from rescheduler.policies.own_readings.shipped_documents import PRESETS
from rescheduler.sources.prometheus.catalog import CATALOG, fill
from tests.sources.metrics import sources_of

pytestmark = pytest.mark.e2e

GPU = 'Hostname="n1",UUID="U",gpu="0"'
OTHER = 'Hostname="n2",UUID="V",gpu="0"'
XID = "DCGM_FI_DEV_XID_ERRORS"
SERIES = {
    # Zone 0 is fuller; files' pages and slab can be given back.
    'node_memory_numa_MemTotal{node="0",instance="a"}': "100x60",
    'node_memory_numa_MemFree{node="0",instance="a"}': "10x60",
    'node_memory_numa_Active_file{node="0",instance="a"}': "8x60",
    'node_memory_numa_Inactive_file{node="0",instance="a"}': "7x60",
    'node_memory_numa_SReclaimable{node="0",instance="a"}': "5x60",
    'node_memory_numa_MemTotal{node="1",instance="a"}': "100x60",
    'node_memory_numa_MemFree{node="1",instance="a"}': "60x60",
    'node_memory_numa_Active_file{node="1",instance="a"}': "8x60",
    'node_memory_numa_Inactive_file{node="1",instance="a"}': "7x60",
    'node_memory_numa_SReclaimable{node="1",instance="a"}': "5x60",
    'node_time_seconds{instance="a"}': "1000+30x60",
    'node_pressure_cpu_waiting_seconds_total{instance="a"}': "0+6x60",
    'node_cpu_seconds_total{instance="a",cpu="0",mode="idle"}': "0+15x60",
    # After 15 minutes an error of the hardware, as a series of its own, and one of an application.
    f"DCGM_FI_DEV_XID_ERRORS{{{GPU}}}": "0x30 _x30",
    f'DCGM_FI_DEV_XID_ERRORS{{{GPU},err_code="79"}}': "_x30 79x60",
    f"DCGM_FI_DEV_XID_ERRORS{{{OTHER}}}": "0x30 31x60",
    'node_infiniband_port_data_received_bytes_total{instance="a",device="m",port="1"}': "0+3000x60",
    'sriov_vf_rx_bytes{pciAddr="p",node="n1"}': "0+3000x60",
    'sriov_kubepoddevice{pciAddr="p",node="n1",namespace="d",pod="x"}': "1x60",
}
EXPECTED: list[tuple[str, str, dict[str, float]]] = [
    ("node.numa.memory", "20m", {'{instance="a"}': 0.7}),
    ("node.cpu.pressure", "20m", {'{instance="a"}': 0.2}),
    ("node.cpu.peak", "20m", {'{instance="a"}': 0.5}),
    ("node.gpu.xid", "14m", {f"{{{GPU}}}": 0, f"{{{OTHER}}}": 0}),
    ("node.gpu.xid", "20m", {f"{{{GPU}}}": 79, f"{{{OTHER}}}": 0}),
    # It is an event, and not a state for ever.
    ("node.gpu.xid", "27m", {f"{{{GPU}}}": 0, f"{{{OTHER}}}": 0}),
    ("node.rdma.receive", "20m", {'{instance="a",device="m"}': 100}),
    ("pod.rdma.receive", "20m", {'{node="n1",namespace="d",pod="x"}': 100}),
]


AMD = 'hostname="a",gpu_id="0",card_model="MI300X",serial_number="s"'
OLD_AMD = 'hostname="o",gpu_id="0",card_model="MI250",serial_number="o"'
XPU = 'node="b",instance="i",pci_bdf="0000:01:00.0"'
GKE = 'node_name="n",location="l",cluster_name="c",project_id="p",monitored_resource="k8s_node"'
IN_POD = 'namespace_name="d",pod_name="x",location="l",cluster_name="c",container_name="m"'
OF_PRESETS = {
    # Its pod changes after 15 minutes; the other partitions of the GPU report nothing.
    f'gpu_junction_temperature{{{AMD},gpu_partition_id="0",namespace="d",pod="x"}}': "80x60",
    f'gpu_edge_temperature{{{OLD_AMD},gpu_partition_id="0",namespace="d",pod="z"}}': "60x60",
    f'gpu_power_usage{{{AMD},gpu_partition_id="0",namespace="d",pod="x"}}': "1000x30 _x30",
    f'gpu_power_usage{{{AMD},gpu_partition_id="0",namespace="d",pod="y"}}': "_x30 500x60",
    f'gpu_power_usage{{{AMD},gpu_partition_id="1"}}': "0x60",
    f"hw_power_watts{{{XPU}}}": "300x60",
    f"kubernetes_io:node_cpu_core_usage_time{{{GKE}}}": "0+60x60",
    f"kubernetes_io:node_cpu_total_cores{{{GKE}}}": "4x60",
    f'kubernetes_io:node_memory_used_bytes{{{GKE},memory_type="evictable"}}': "50x60",
    f'kubernetes_io:node_memory_used_bytes{{{GKE},memory_type="non-evictable"}}': "30x60",
    f'kubernetes_io:node_accelerator_duty_cycle{{{GKE},accelerator_id="1",make="nvidia"}}': "80x60",
    "kubernetes_io:container_cpu_core_usage_time"
    f'{{{IN_POD},monitored_resource="k8s_container"}}': "0+30x60",
    'node_disk_io_time_seconds_total{instance="a",device="nvme0n1"}': "0+15x60",
    'node_disk_io_time_seconds_total{instance="a",device="dm-0"}': "0+30x60",
    'node_time_seconds{instance="a"}': "1000+30x60",
    'node_filesystem_avail_bytes{instance="a",fstype="ext4",mountpoint="/",device="d"}': "5x60",
    'node_filesystem_size_bytes{instance="a",fstype="ext4",mountpoint="/",device="d"}': "100x60",
    'node_load1{instance="a"}': "8x60",
    'node_cpu_seconds_total{instance="a",cpu="0",mode="idle"}': "0+15x60",
    'node_cpu_seconds_total{instance="a",cpu="1",mode="idle"}': "0+15x60",
}
_NODE = '{node_name="n",location="l",cluster_name="c"}'
EXPECTED_OF_PRESETS: list[tuple[str, str, dict[str, float]]] = [
    (
        "amd",
        "node.gpu.temperature",
        {'{hostname="a",gpu_id="0"}': 80, '{hostname="o",gpu_id="0"}': 60},
    ),
    ("amd", "node.gpu.power", {'{hostname="a",gpu_id="0"}': 750}),
    ("intel", "node.gpu.power", {f'{{{XPU},device="0000:01:00.0"}}': 300}),
    ("gke-managed", "node.cpu", {_NODE: 2}),
    ("gke-managed", "node.memory", {_NODE: 30}),
    ("gke-managed", "node.gpu", {_NODE.replace("{", '{accelerator_id="1",'): 0.8}),
    (
        "gke-managed",
        "pod.cpu",
        {'{namespace_name="d",pod_name="x",location="l",cluster_name="c"}': 1},
    ),
    ("node-exporter", "node.disk.busy", {'{instance="a",device="nvme0n1"}': 0.5}),
    (
        "node-exporter",
        "node.disk.space",
        {'{instance="a",fstype="ext4",mountpoint="/",device="d"}': 0.95},
    ),
    ("node-exporter", "node.load", {'{instance="a"}': 4}),
]


def _source(maker: str, reading: str, *, beside: bool = False) -> Series:
    own = next(own_reading for own_reading in CATALOG[reading] if own_reading.devices == maker)
    if not beside:
        return own
    assert own.free is not None
    return own.free


def _mean(source: Series) -> str:
    return f"{source.value} / {source.count}"


OF_MAKERS = {
    # Its pod changes after 15 minutes; the other partitions of the GPU report nothing.
    f'gpu_gfx_activity{{{AMD},gpu_partition_id="0",namespace="d",pod="x"}}': "100x30 _x30",
    f'gpu_gfx_activity{{{AMD},gpu_partition_id="0",namespace="d",pod="y"}}': "_x30 50x60",
    f'gpu_gfx_activity{{{AMD},gpu_partition_id="1"}}': "0x60",
    f'gpu_free_vram{{{AMD},gpu_partition_id="0"}}': "750x60",
    f'hw_gpu_utilization_ratio{{{XPU},hw_gpu_task="compute-all"}}': "0.9x60",
    f'hw_gpu_utilization_ratio{{{XPU},hw_gpu_task="copy-all"}}': "0.1x60",
    'habanalabs_utilization{instance="g",namespace="habana",pod="e",UUID="u"}': "70x60",
    f'hw_memory_usage_bytes{{{XPU},hw_memory_location="device"}}': "25x60",
    f'hw_memory_size_bytes{{{XPU},hw_memory_location="device"}}': "100x60",
    f'hw_memory_usage_bytes{{{XPU},hw_memory_location="host"}}': "7x60",
}
_X, _Y = (f'{{hostname="a",gpu_id="0",serial_number="s",namespace="d",pod="{p}"}}' for p in "xy")
_AMD_GPU = '{hostname="a",gpu_id="0",serial_number="s"}'
_GAUDI = '{instance="g",namespace="habana",pod="e",UUID="u"}'
EXPECTED_OF_MAKERS: list[tuple[str, dict[str, float]]] = [
    # Each pod had it for half of the time; the partitions without a report do not thin it out.
    (_mean(_source(MADE_BY_AMD, "node.gpu")), {_X: 100, _Y: 50}),
    (
        _mean(_source(MADE_BY_AMD, "node.gpu.memory", beside=True)),
        {_AMD_GPU.replace("}", ',gpu_partition_id="0"}'): 750},
    ),
    (_source(INTEL, "node.gpu").value, {f"{{{XPU}}}": 0.9}),
    (_source(INTEL, "node.gpu.memory").value, {f"{{{XPU}}}": 25}),
    (_source(INTEL, "node.gpu.memory", beside=True).value, {f"{{{XPU}}}": 75}),
    (_mean(_source(GAUDI, "node.gpu")), {_GAUDI: 70}),
]


def test_every_query_of_readings_and_presets_is_promql(tmp_path: Path) -> None:
    documents = (*built_in(), *map(preset_of, PRESETS))
    queries = [
        text for document in documents for own in document.readings.values() for text in own.queries
    ]
    rules = [
        {"record": f"q:{n}", "expr": fill(query, 300, match)}
        for match in ("", 'cluster="c",')
        for n, query in enumerate(queries)
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", "--lint=none", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(rules)} rules found" in done.stdout


def test_the_queries_of_presets_mean_what_they_say(tmp_path: Path) -> None:
    asked = [
        (preset_of(preset).readings[name].value, "20m", values)
        for preset, name, values in EXPECTED_OF_PRESETS
    ]
    prove(tmp_path, OF_PRESETS, asked)


def test_the_queries_of_every_makers_gpus_mean_what_they_say(tmp_path: Path) -> None:
    prove(tmp_path, OF_MAKERS, [(query, "20m", values) for query, values in EXPECTED_OF_MAKERS])


BESIDE_LOAD = {
    # After 15 minutes another pod has the GPU, and then one error is counted.
    f'gpu_ecc_uncorrect_total{{{AMD},pod="x",namespace="d"}}': "3x30 _x30",
    f'gpu_ecc_uncorrect_total{{{AMD},pod="y",namespace="d"}}': "_x30 3x8 4x60",
    f'gpu_gfx_activity{{{AMD},pod="y",namespace="d"}}': "50x60",
    f'hw_gpu_utilization_ratio{{{XPU},hw_gpu_task="compute-all"}}': "0.9x60",
    'habanalabs_utilization{instance="g",UUID="u",pod_namespace="d",pod_name="x"}': "70x60",
    'habanalabs_pending_rows_with_double_bit_ecc_errors{instance="g",UUID="u"}': "0x34 1x60",
}
_OF_AMD = '{hostname="a",gpu_id="0",serial_number="s"}'
EXPECTED_BESIDE_LOAD: list[tuple[str, int, dict[str, float]]] = [
    ("node.gpu.peak", 2, {_OF_AMD: 50}),
    ("node.gpu.peak", 4, {f"{{{XPU}}}": 0.9}),
    ("node.gpu.peak", 3, {'{instance="g",UUID="u"}': 70}),
]


def test_peaks_and_errors_of_other_makers_mean_what_they_say(tmp_path: Path) -> None:
    asked = [
        (sources_of(name)[number].value, "20m", values)
        for name, number, values in EXPECTED_BESIDE_LOAD
    ]
    held = '{instance="g",UUID="u",pod_namespace="d",pod_name="x"}'
    asked.append((_mean(_source(GAUDI, "pod.gpu")), "20m", {held: 70}))
    # What `increase` gives is extrapolated, so only whether there was one is compared.
    for source, wanted in ((1, _OF_AMD), (2, '{instance="g",UUID="u"}')):
        query = sources_of("node.gpu.ecc")[source].value
        asked += [(f"({query}) > bool 0", "20m", {wanted: 1}),
                  (f"({query}) > bool 0", "14m", {wanted: 0})]  # fmt: skip
    prove(tmp_path, BESIDE_LOAD, asked)


def _of_dcgm(pod: str) -> str:
    """Labels of a GPU as one pod has it, or nobody; `exported_` where they are not honored."""
    return f"{{{GPU},{pod}}}" if pod else f"{{{GPU}}}"


HONORED = ('namespace="d",pod="x"', 'namespace="d",pod="y"')
EXPORTED = ('exported_namespace="d",exported_pod="x"', 'exported_namespace="d",exported_pod="y"')


@pytest.mark.parametrize("labels", [HONORED, EXPORTED])
@pytest.mark.parametrize("next_has_it", [True, False])
def test_an_error_that_ends_its_pod_is_seen(
    tmp_path: Path, labels: tuple[str, str], next_has_it: bool
) -> None:
    """After 15 minutes the pod's series ends, and another begins with the error."""
    before, after = _of_dcgm(labels[0]), _of_dcgm(labels[1] if next_has_it else "")
    metrics = {"node.gpu.ecc": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "node.gpu.xid": XID}
    series: dict[str, str] = {}
    asked: list[tuple[str, str, dict[str, float]]] = []
    for (name, metric), value in zip(metrics.items(), (2, 79), strict=True):
        series[f"{metric}{before}"] = "0x29 stale"
        series[f"{metric}{after}"] = f"_x30 {value}x60"
        shown = after if labels is HONORED else f"{{{GPU}}}"
        query = f"max by (Hostname,UUID,gpu) ({sources_of(name)[0].value})"
        asked += [(query, "14m", {f"{{{GPU}}}": 0}), (query, "27m", {f"{{{GPU}}}": 0})]
        asked += [(f"({sources_of(name)[0].value}) > 0", "20m", {shown: value})]
    prove(tmp_path, series, asked)


def test_an_error_before_its_counter_was_reset_is_seen(tmp_path: Path) -> None:
    metric, query = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", sources_of("node.gpu.ecc")[0].value
    series = {f"{metric}{{{GPU}}}": "3x30 4x4 0x60", f"{metric}{{{OTHER}}}": "7x29 _x1 0x60"}
    shown: dict[str, float] = {f"{{{GPU}}}": 1, f"{{{OTHER}}}": 0}
    prove(tmp_path, series, [(f"({query}) > bool 0", "20m", shown)])


def test_the_queries_of_signals_mean_what_they_say(tmp_path: Path) -> None:
    prove(
        tmp_path,
        SERIES,
        [(sources_of(name)[0].value, time, values) for name, time, values in EXPECTED],
    )


def prove(
    folder: Path, series: dict[str, str], queries: list[tuple[str, str, dict[str, float]]]
) -> None:
    """Assert what each template gives at that time on these series."""
    asked: list[dict[str, Any]] = [
        {
            "expr": f"round({fill(template, 600, '')}, 0.001)",
            "eval_time": time,
            "exp_samples": [{"labels": labels, "value": value} for labels, value in values.items()],
        }
        for template, time, values in queries
    ]
    given = [{"series": name, "values": values} for name, values in series.items()]
    document = {
        "evaluation_interval": "30s",
        "rule_files": [],
        "tests": [{"interval": "30s", "input_series": given, "promql_expr_test": asked}],
    }
    file = folder / "queries.yaml"
    file.write_text(yaml.safe_dump(document))
    done = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
