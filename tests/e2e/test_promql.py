"""What the queries of signals mean, by Prometheus' own test tool on made-up series."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.sources.prometheus.catalog import CATALOG, fill

pytestmark = pytest.mark.e2e

GPU = 'Hostname="n1",UUID="U",gpu="0"'
OTHER = 'Hostname="n2",UUID="V",gpu="0"'
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


def test_the_queries_of_signals_mean_what_they_say(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = [
        {
            "expr": f"round({fill(CATALOG[name].sources[0].value, 600, '')}, 0.001)",
            "eval_time": time,
            "exp_samples": [{"labels": labels, "value": value} for labels, value in values.items()],
        }
        for name, time, values in EXPECTED
    ]
    given = [{"series": series, "values": values} for series, values in SERIES.items()]
    document = {
        "evaluation_interval": "30s",
        "rule_files": [],
        "tests": [{"interval": "30s", "input_series": given, "promql_expr_test": asked}],
    }
    file = tmp_path / "signals.yaml"
    file.write_text(yaml.safe_dump(document))
    done = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
