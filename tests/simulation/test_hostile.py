"""Whatever a tenant does in its own namespace, others are moved as before."""

from collections import Counter

from tests.simulation.hostile import storm
from tests.simulation.scenario import simulated

STORMS = 12
"""`make storms` plays more."""
ACTS = (
    "hang",
    "starve",
    "scale",
    "opt",
    "write_budget",
    "delete",
    "turn_odd",
    "write_rules",
    "write_events",
    "write_workload",
    "export",
)


def test_a_hostile_tenant_changes_no_verdict_of_another() -> None:
    reached: Counter[str] = Counter()
    broken: list[str] = []
    with simulated():
        for seed in range(STORMS):
            broken += storm(seed, reached)
    assert not broken, "\n".join(broken[:20])
    assert reached["evicted of others"] >= STORMS
    assert reached["evicted of the tenant"] > 0
    for act in ACTS:
        assert reached[act] > 0, act
