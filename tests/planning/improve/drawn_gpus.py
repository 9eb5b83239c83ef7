"""Small clusters of GPUs, drawn: shares on known GPUs, whole ones, pods without any."""

import random

from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.compiled_placement import compile_placement
from rescheduler.planning.improve.placement import Placement
from tests.bench.bench_published import placed_at_random
from tests.bench.published import Row, openb, openb_policy
from tests.bench.running import wide


def placement(seed: int, nodes: int = 6, types: int = 5) -> Placement:
    """Its placement, by stranded GPUs, filled at random."""
    chance = random.Random(seed)
    machines: list[Row] = [
        {
            "sn": f"n{number}",
            "cpu_milli": str(chance.choice([16000, 32000])),
            "memory_mib": "65536",
            "gpu": str(chance.choice([1, 2, 4])),
        }
        for number in range(nodes)
    ]
    listed: list[Row] = []
    for _ in range(types):
        gpus = chance.choice([0, 1, 1, 1, 2])
        listed.append(
            {
                "name": "task",
                "cpu_milli": str(chance.choice([1000, 4000, 11000])),
                "memory_mib": str(chance.choice([1024, 8192])),
                "num_gpu": str(gpus),
                "gpu_milli": str(chance.choice([300, 500, 700, 1000]) if gpus == 1 else 1000),
            }
        )
    listed[0] |= {"num_gpu": "1", "gpu_milli": "1000"}
    drawn, placed = placed_at_random(machines, listed, 0.9, seed)
    cluster = openb(machines, drawn, placed, shares=True)
    made = compile_placement(WorkingCopy(cluster, [openb_policy()], wide(9), History()))
    assert isinstance(made, Placement), made
    return made
