"""How the conformance kit draws Allocations."""

from typing import Any

from hypothesis import strategies as st

from rescheduler.policies.allocation.policy import Allocation
from rescheduler.policies.base import Policy


def allocations() -> st.SearchStrategy[Policy]:
    """Targets and balances of what the kit's pods ask for."""
    everything: Any = {"all": True}
    targets = st.sampled_from([0.0, 0.05, 0.5, 1.0])
    resource = st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "example.com/gpu-milli"])
    weight = st.sampled_from([1.0, 0.25, 30.0])
    search_strategy = st.builds(
        lambda name, target, weight: {"resource": name, "target": target, "weight": weight},
        resource,
        targets,
        weight,
    )
    balance = st.sampled_from(
        [
            {"resource": "cpu", "needs": "nvidia.com/gpu", "ratio": 0.5, "weight": 2},
            {"resource": "nvidia.com/gpu", "needs": "cpu", "ratio": 3},
        ]
    )
    return st.builds(
        lambda resources, balances, strategy: Allocation(
            name="a",
            match=everything,
            nodes=everything,
            resources=resources,
            balances=[] if strategy == "Pack" else balances,
            strategy=strategy,
        ),
        st.lists(
            search_strategy, min_size=1, max_size=3, unique_by=lambda target: target["resource"]
        ),
        st.lists(balance, max_size=2),
        st.sampled_from(["Relieve", "Balance", "Pack"]),
    )
