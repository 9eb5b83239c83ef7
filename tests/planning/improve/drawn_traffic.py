"""Small instances of RASA, drawn: services of a few containers, some of which exchange traffic."""

import json
import random
from pathlib import Path
from typing import Any

from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.compiled_placement import compile_placement
from rescheduler.planning.improve.placement import Placement
from tests.bench.published import m3_policy, rasa
from tests.bench.running import wide


def write(folder: Path, seed: int, machines: int = 5, services: int = 8) -> Path:
    """An instance whose containers are where there is room; of some there is little."""
    chance = random.Random(seed)
    sizes = [chance.randint(1, 6) for _ in range(services)]
    asked = [chance.choice([1, 2, 3]) for _ in range(services)]
    names = [
        [f"s{service}-{number}" for number in range(sizes[service])] for service in range(services)
    ]
    there: list[list[str]] = [[] for _ in range(machines)]
    used = [0] * machines
    for service in range(services):
        for name in names[service]:
            machine = chance.randrange(machines)
            there[machine].append(name)
            used[machine] += asked[service]
    pairs = {tuple(sorted(chance.sample(range(services), 2))) for _ in range(services)}
    data: dict[str, list[Any]] = {
        "MachineList": [
            {
                "MachineIP": f"m{host}",
                "TotalCPU": (used[host] + chance.randint(0, 4)) / 100,
                "TotalMem": 1.0,
                "InitialDeployingContainers": there[host],
            }
            for host in range(machines)
        ],
        "ServiceList": [
            {
                "Service": f"s{service}",
                "RequestCPU": asked[service] / 100,
                "RequestMem": 0.001,
                "CompatibleMachines": "*",
                "ContainerList": names[service],
            }
            for service in range(services)
        ],
        "TrafficList": [
            {"Service1": f"s{one}", "Service2": f"s{other}", "Traffic": chance.randint(1, 9) / 100}
            for one, other in sorted(pairs)
        ],
    }
    path = folder / f"rasa_{seed}.json"
    path.write_text(json.dumps(data))
    return path


def placement(path: Path) -> Placement:
    """Its placement, by traffic between machines."""
    made = compile_placement(WorkingCopy(rasa(path), [m3_policy()], wide(9), History()))
    assert isinstance(made, Placement), made
    return made
