"""Small instances of the ROADEF/EURO 2012 challenge, drawn: with the rules that Kubernetes has."""

import random
from pathlib import Path


def write(folder: Path, seed: int) -> tuple[Path, Path]:
    """A model and an assignment that breaks no rule."""
    chance = random.Random(seed)
    kinds, machines, services = chance.randint(1, 3), chance.randint(2, 6), chance.randint(2, 7)
    locations = [chance.randrange(3) for _ in range(machines)]
    neighborhoods = [chance.randrange(2) for _ in range(machines)]
    service_of: list[int] = []
    home: list[int] = []
    for service in range(services):
        for machine in chance.sample(range(machines), chance.randint(1, min(3, machines))):
            service_of.append(service)
            home.append(machine)
    demand = [[chance.randint(0, 9) for _ in range(kinds)] for _ in home]
    used = [[0] * kinds for _ in range(machines)]
    for process, machine in enumerate(home):
        for kind in range(kinds):
            used[machine][kind] += demand[process][kind]
    capacity = [[amount + chance.randint(0, 15) for amount in row] for row in used]
    safety = [[chance.randint(0, amount) for amount in row] for row in capacity]
    places = [
        {neighborhoods[m] for s, m in zip(service_of, home, strict=True) if s == service}
        for service in range(services)
    ]
    needs = [
        [
            other
            for other in range(services)
            if other != service and places[service] <= places[other] and chance.random() < 0.4
        ]
        for service in range(services)
    ]
    words: list[object] = [kinds]
    for _ in range(kinds):
        words += [0, chance.randint(1, 20)]
    words.append(machines)
    for machine in range(machines):
        words += [neighborhoods[machine], locations[machine]]
        words += capacity[machine] + safety[machine] + [0] * machines
    words.append(services)
    for service in range(services):
        words += [0, len(needs[service]), *needs[service]]
    words.append(len(home))
    for process, service in enumerate(service_of):
        words += [service, *demand[process], 0]
    balances = [(0, 1, chance.randint(1, 3), 10)] if kinds > 1 and chance.random() < 0.6 else []
    words.append(len(balances))
    for balance in balances:
        words += balance
    words += [0, 0, 0]
    model, assignment = folder / f"model_{seed}.txt", folder / f"assignment_{seed}.txt"
    model.write_text(" ".join(map(str, words)) + "\n")
    assignment.write_text(" ".join(map(str, home)) + "\n")
    return model, assignment
