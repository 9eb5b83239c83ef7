"""Copies of an instance side by side: python -m tests.bench.tiling N NEW_FOLDER MODEL ASSIGNMENT

n copies have an optimum at least as good as n times that of one, so size grows without inventing
numbers. Services are numbered again for each copy, and the order of machines and of processes is
drawn. Of an instance of RASA (one file) the names get the number of the copy.
"""

import copy
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench import roadef_files as files
from tests.bench.packed import text_of

_SEED = 1


def challenge(model: Path, assignment: Path, copies: int, folder: Path) -> None:
    """Write `model.txt` and `assignment.txt` into the folder."""
    one = files.read(model, assignment)
    size, count = len(one.capacity), len(one.home)
    random = np.random.default_rng(_SEED)
    places = random.permutation(copies * size)  # old number to new
    order = random.permutation(copies * count)  # new number to old
    of_machine = np.argsort(places)
    kinds = len(one.weights)
    words = [f"{kinds}", *(f"{a} {b}" for a, b in zip(one.transient, one.weights, strict=True))]
    words.append(f"{copies * size}")
    spans = [int(number.max()) + 1 for number in (one.neighborhood, one.location)]
    moving = np.full(copies * size, 2)
    for old in of_machine.tolist():
        tile, machine = divmod(old, size)
        moving[:] = 2
        moving[places[old]] = 0
        own = [
            one.neighborhood[machine] + tile * spans[0],
            one.location[machine] + tile * spans[1],
        ]
        row = [*own, *one.capacity[machine], *one.safety[machine]]
        words.append(" ".join(map(str, row)) + " " + " ".join(moving.astype(str)))
    services = len(one.least)
    words.append(f"{copies * services}")
    for tile in range(copies):
        for service, least in enumerate(one.least.tolist()):
            needs = [need + tile * services for need in one.needs[service]]
            words.append(" ".join(map(str, [least, len(needs), *needs])))
    words.append(f"{copies * count}")
    home = []
    for old in order.tolist():
        tile, process = divmod(old, count)
        service = one.service[process] + tile * services
        words.append(" ".join(map(str, [service, *one.demand[process], 1])))
        home.append(int(places[one.home[process] + tile * size]))
    words.append(f"{len(one.balances)}")
    words += [" ".join(map(str, balance)) for balance in one.balances.tolist()]
    words.append("1 10 100")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.txt").write_text("\n".join(words) + "\n")
    (folder / "assignment.txt").write_text(" ".join(map(str, home)) + "\n")


def traffic(instance: Path, copies: int, folder: Path) -> None:
    """Write `instance.json` into the folder."""
    data = json.loads(text_of(instance))
    made: dict[str, list[Any]] = {key: [] for key in data}
    for tile in range(copies):
        own = copy.deepcopy(data)
        for service in own["ServiceList"]:
            service["Service"] += f"-{tile}"
            service["ContainerList"] = [
                f"{container}-{tile}" for container in service["ContainerList"]
            ]
        for machine in own["MachineList"]:
            machine["MachineIP"] += f"-{tile}"
            held = [f"{container}-{tile}" for container in machine["InitialDeployingContainers"]]
            machine["InitialDeployingContainers"] = held
        for pair in own["TrafficList"]:
            pair["Service1"] += f"-{tile}"
            pair["Service2"] += f"-{tile}"
        for key, rows in own.items():
            made[key] += rows
    random.Random(_SEED).shuffle(made["MachineList"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "instance.json").write_text(json.dumps(made))


if __name__ == "__main__":
    number, target, *sources = sys.argv[1:]
    if len(sources) == 1:
        traffic(Path(sources[0]), int(number), Path(target))
    else:
        challenge(Path(sources[0]), Path(sources[1]), int(number), Path(target))
