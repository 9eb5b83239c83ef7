"""Small clusters under load, and Utilization bound to them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rescheduler.model.cluster.readings import Reading, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.shared.loads.term import UtilizationTerm
from rescheduler.policies.utilization.policy import Utilization
from tests.picture import picture

EVERYWHERE = np.arange(4, dtype=np.int32)
COLD = """
    zone a | n1 | web web web
    zone a | n2 | web
    zone a | n3 | web web
    zone a | n4 | -
"""
COLD_LOADS: dict[str, Any] = {
    "node.cpu": {"n1": "30%", "n2": "10%", "n3": "20%", "n4": 0},
    "pod.cpu": {"web": 0.8},
}


def bound(before: Snapshot, policy: Utilization) -> UtilizationTerm:
    """The policy's term on that cluster."""
    made = policy.compile(before)
    assert isinstance(made, UtilizationTerm), made
    return made


def altered(before: Snapshot, name: str, **fields: Any) -> Snapshot:
    """The snapshot with other fields in one reading."""
    entries: list[Reading] = [
        replace(reading, **fields) if reading.name == name else reading
        for reading in before.readings.entries
    ]
    return replace(before, readings=Readings(tuple(entries)))


def packing(**spec: Any) -> Utilization:
    """A policy of strategy Pack, unless given otherwise."""
    given = {
        "nodes": {"all": True},
        "match": {"all": True},
        "targets": {"cpu": {"high": "70%"}},
        "strategy": "Pack",
        "cold": "25%",
        **spec,
    }
    return Utilization(name="u", **given)


def packed(policy: Utilization, loads: Mapping[str, Any] = COLD_LOADS) -> tuple[Snapshot, Any]:
    """The cluster with cold nodes under this load, and the policy bound to it."""
    before = picture(COLD, readings=loads, policies=[policy])
    return before, bound(before, policy)


def average_pod(term: UtilizationTerm) -> float:
    """The unit of the term's cost, of its first target."""
    return float(term._unit[0])
