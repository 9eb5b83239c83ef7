"""Nodes whose GPUs several pods share."""

from typing import Any

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policytest.series_readings import with_devices
from tests.picture import picture

POOL = """
    zone a nvidia.com/gpu.replicas 4 | n1 nvidia.com/gpu.shared 32 | chat chat chat serve
    zone a nvidia.com/gpu.replicas 4 | n2 nvidia.com/gpu.shared 8 | -
    zone a nvidia.com/gpu.replicas 4 | n3 nvidia.com/gpu.shared 8 | chat
"""
SHARES: Any = {"chat": {"nvidia.com/gpu.shared": 1}, "serve": {"nvidia.com/gpu.shared": 1}}
IDLE: dict[str, list[str | int | float]] = {f"GPU-{number}": [0.05] for number in range(4, 8)}
LOADS: Any = {
    "n1": {
        "GPU-0": [0.1, "serve-0"],
        "GPU-1": [0.9, "chat-0=0.5", "chat-1=0.4"],
        "GPU-2": [0.2, "chat-2"],
        "GPU-3": [0.0],
        **IDLE,
    },
    "n2": {"GPU-a": [0.6], "GPU-b": [0.1]},
    "n3": {"GPU-c": [0.3, "chat-3"], "GPU-d": [0.75]},
}


def policy(**spec: Any) -> Utilization:
    given: dict[str, Any] = {
        "nodes": {"all": True},
        "match": {"all": True},
        "targets": {"gpu": {"high": "80%", "low": "70%"}},
        **spec,
    }
    return Utilization(name="u", **given)


def fleet(loads: Any = LOADS, drawn: str = POOL, requests: Any = SHARES, **spec: Any) -> Snapshot:
    readings = {"node.gpu": dict.fromkeys(loads, 0.0)}
    before = picture(drawn, requests=requests, readings=readings, policies=[policy(**spec)])
    return with_devices(before, {"node.gpu": loads})


def term(before: Snapshot, **spec: Any) -> Any:
    compiled = policy(**spec).compile(before)
    assert not isinstance(compiled, Problem), compiled
    return compiled
