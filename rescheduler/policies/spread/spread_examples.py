"""What Spread charges, in numbers."""

from rescheduler.policies.worked_example import Worked

EXAMPLES = (
    Worked(
        "It takes two moves until the fullest zone has at most `maxSkew` more than the emptiest: "
        "after the first there are 4 and 1 pods, after the second 3 and 2.",
        {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1},
        "zone a | n1 | web web web web web\nzone b | n2 | -",
        ("the skew after two moves: 3 - 2 = 1", "cost: 2 * 1.0 = 2"),
    ),
    Worked(
        "A soft constraint weighs half.",
        {
            "constraints": [
                {
                    "topologyKey": "topology.kubernetes.io/zone",
                    "maxSkew": 1,
                    "whenUnsatisfiable": "ScheduleAnyway",
                }
            ]
        },
        "zone a | n1 | web web web web web\nzone b | n2 | -",
        ("cost: 2 * 0.5 = 1",),
    ),
)
