"""What an assignment of containers gains in affinity (RASA, ICDE 2024), and whether it is allowed.

From the instance's file alone: python -m tests.bench.checkers.rasa INSTANCE NEW. NEW is a JSON
object of containers to machines.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tests.bench.packed import text_of

_SLACK = 1e-9
"""The file's numbers are shares of the total, rounded."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """gained: affinity, 0 to 1. violations: each broken rule in words."""

    gained: float
    moves: int
    violations: tuple[str, ...]


def judge(instance: Path, new: dict[str, str]) -> Verdict:
    """The verdict on this assignment of all containers."""
    data = json.loads(text_of(instance))
    machines = {machine_row["MachineIP"]: machine_row for machine_row in data["MachineList"]}
    before = {
        container: name
        for name, machine in machines.items()
        for container in machine["InitialDeployingContainers"]
    }
    violations = []
    there: dict[str, Counter[str]] = {}
    cpu: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    sizes, moves, homeless = {}, 0, 0
    for service in data["ServiceList"]:
        name, allowed = service["Service"], service["CompatibleMachines"]
        sizes[name] = len(service["ContainerList"])
        found: Counter[str] = Counter()
        for container in service["ContainerList"]:
            machine = new.get(container, "")
            if machine not in machines:
                homeless += 1
                continue
            if allowed != "*" and machine not in allowed:
                violations.append(f"{container} may not be on {machine}")
            found[machine] += 1
            cpu[machine] += service["RequestCPU"]
            memory[machine] += service["RequestMem"]
            moves += before.get(container) != machine
        there[name] = found
    if homeless:
        violations.append(f"{homeless} containers are nowhere")
    for name, machine in machines.items():
        if cpu[name] > machine["TotalCPU"] + _SLACK or memory[name] > machine["TotalMem"] + _SLACK:
            violations.append(f"machine {name} is overfull")
    gained = total = 0.0
    for pair in data["TrafficList"]:
        one, other = pair["Service1"], pair["Service2"]
        total += pair["Traffic"]
        near = sum(
            min(Fraction(count, sizes[one]), Fraction(there[other][machine], sizes[other]))
            for machine, count in there[one].items()
        )
        gained += pair["Traffic"] * float(near)
    return Verdict(gained / total if total else 0.0, moves, tuple(violations))


if __name__ == "__main__":
    verdict = judge(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
    answer = {"gained": verdict.gained, "moves": verdict.moves}
    sys.stdout.write(json.dumps({**answer, "violations": list(verdict.violations[:10])}) + "\n")
    raise SystemExit(bool(verdict.violations))
