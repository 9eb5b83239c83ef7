"""Workloads over zones, and a Spread of them."""

from typing import Any

from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread

ROOMY = Limits(
    movesPerWorkload=10,
    inFlightPerWorkload=10,
    movesPerCycle=10,
    movesPerNode=10,
    movesPerNamespace=10,
)
"""Limits that no policy test reaches."""


def spread(**spec: Any) -> Spread:
    return Spread(name="s", match=Match(all=True), **spec)


ZONES = {"topologyKey": "topology.kubernetes.io/zone"}
