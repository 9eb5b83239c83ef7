"""What Utilization charges, in numbers."""

from typing import Any

from rescheduler.policies.worked_example import Worked

_BAND: Any = {"targets": {"cpu": {"high": "80%", "low": "70%"}}}
_TWO = """
zone a | n1 cpu 8  | web web web web web web log log
zone a | n2 cpu 16 | -
"""
_ONE = """
zone a | n1 cpu 8  | web
zone a | n2 cpu 16 | -
"""
_LOADS: Any = {"node.cpu": {"n1": "85%", "n2": 0}, "pod.cpu": {"web": 1.0, "log": 0.1}}

EXAMPLES = (
    Worked(
        "The unit: 1% is of the largest node, which has 16 cores, so the two `log` do not count.",
        _BAND,
        _TWO,
        (
            "idle below, in cores: 1% * 16 = 0.16",
            "the average pod, in cores: (6 * 1.0) / 6 = 1",
            "above low and above high, in cores: (85% - 70%) * 8 = 1.2; (85% - 80%) * 8 = 0.4",
            "cost: (1.2 + 0.4) / 2 / 1 = 0.8",
        ),
        readings=_LOADS,
    ),
    Worked(
        "A pod that is too young for a value counts in the average with 85% of the CPU that it "
        "requests (70% of the memory).",
        _BAND,
        "zone a | n1 cpu 8  | web web web web web web new\nzone a | n2 cpu 16 | -",
        (
            "the young pod, in cores: 85% * 2 = 1.7",
            "the average pod, in cores: (6 * 1.0 + 1.7) / 7 = 1.1",
            "cost: ((85% - 70%) * 8 + (85% - 80%) * 8) / 2 / 1.1 = 0.727",
        ),
        requests={"new": {"cpu": 2}},
        readings={"node.cpu": {"n1": "85%", "n2": 0}, "pod.cpu": {"web": 1.0}},
        young={"new": 60},
    ),
    Worked(
        "Where only idle pods use any, these are the average, and at least a thousandth of the "
        "largest node; where no pod uses any, the largest node is.",
        _BAND,
        _ONE,
        (
            "the average pod, in cores: 16 = 16",
            "cost: ((85% - 70%) * 8 + (85% - 80%) * 8) / 2 / 16 = 0.05",
        ),
        readings={"node.cpu": {"n1": "85%", "n2": 0}, "pod.cpu": {"web": 0}},
    ),
    Worked(
        "A group without a target of a resource is no part of its mean.",
        {
            "strategy": "Balance",
            "tolerance": "10%",
            "targets": {"cpu": {"high": "90%"}},
            "groups": [
                {
                    "nodes": {"matchLabels": {"kubernetes.io/hostname": "n3"}},
                    "targets": {"memory": {"high": "90%"}},
                }
            ],
        },
        """
        zone a | n1 cpu 8  | web web web web
        zone a | n2 cpu 16 | web web
        zone a | n3 cpu 8  | web web web web web web
        """,
        (
            "the mean of n1 and n2: (60% * 8 + 20% * 16) / (8 + 16) = 0.333",
            "above the mean, in cores: (60% - 33.3333%) * 8 = 2.133",
            "above the mean and the tolerance, in cores: (60% - 43.3333%) * 8 = 1.333",
            "cost: (2.1333 + 1.3333) / 2 / 1.2 = 1.444",
        ),
        readings={
            "node.cpu": {"n1": "60%", "n2": "20%", "n3": "90%"},
            "pod.cpu": {"web": 1.2},
            "node.memory": {"n1": "10%", "n2": "10%", "n3": "10%"},
            "pod.memory": {"web": 1000000},
        },
    ),
    Worked(
        "Of one resource the worse load counts, and the resources are added up. A link of 10 Gbit "
        "a second carries 1.25 GB a second.",
        {"targets": {"cpu": {"high": "80%"}, "network": {"high": "50%"}}},
        "zone a | n1 cpu 8 | web web web web\nzone a | n2 cpu 8 | -",
        (
            "cpu: (85% - 80%) * 8 / 1.6 = 0.25",
            "network, received, in GB/s: (70% - 50%) * 1.25 / 1.5 = 0.167",
            "network, sent, in GB/s: (60% - 50%) * 1.25 / 1.4 = 0.089",
            "cost: 0.25 + 0.1667 = 0.417",
        ),
        readings={
            "node.cpu": {"n1": "85%", "n2": 0},
            "pod.cpu": {"web": 1.6},
            "node.network.receive": {"n1": "70%", "n2": 0},
            "node.network.transmit": {"n1": "60%", "n2": 0},
            "pod.network.receive": {"web": 1500000000},
            "pod.network.transmit": {"web": 1400000000},
        },
    ),
)
