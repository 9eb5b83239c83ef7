"""What Allocation charges, in numbers."""

from rescheduler.policies.worked_example import Worked

_CLUSTER = """
zone a | n1 cpu 10 | big small
zone a | n2 cpu 20 | small
"""
_REQUESTS = {"big": {"cpu": 6}, "small": {"cpu": 3}}

EXAMPLES = (
    Worked(
        "The unit is what those request on average that request any, idle or not.",
        {"resources": [{"resource": "cpu", "target": "80%"}]},
        _CLUSTER,
        (
            "the average pod, in cores: (6 + 3 + 3) / 3 = 4",
            "n1, in cores above the target: 9 - 80% * 10 = 1",
            "cost: 1 / 4 = 0.25",
        ),
        requests=_REQUESTS,
    ),
    Worked(
        "The mean weighs each node by its size, and a node may be above it by the tolerance.",
        {"strategy": "Balance", "tolerance": "10%", "resources": [{"resource": "cpu"}]},
        _CLUSTER,
        (
            "the mean: (9 + 3) / (10 + 20) = 0.4",
            "n1, in cores above the mean and the tolerance: 9 - (40% + 10%) * 10 = 4",
            "cost: 4 / 4 = 1",
        ),
        requests=_REQUESTS,
    ),
    Worked(
        "What is free without the other is charged in pods of the other.",
        {"balances": [{"resource": "nvidia.com/gpu", "needs": "cpu", "ratio": 4}]},
        "zone a | n1 gpu 2 cpu 8 | web\nzone a | n2 cpu 8 | -",
        (
            "cores that 2 free GPUs need, less those that are free: 4 * 2 - (8 - 3) = 3",
            "cost: 3 / 3 = 1",
        ),
        requests={"web": {"cpu": 3}},
    ),
)
