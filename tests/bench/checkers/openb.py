"""How fragmented a cluster of GPUs is (FGD, ATC'23), and whether its pods fit.

From the nodes, the list of pods that says how popular each type is, and the placement, a JSON
list of [pod row, node, devices] for each pod that is placed: python -m tests.bench.checkers.openb
NODES PODS PLACEMENT [BEFORE]
"""

import csv
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.bench.packed import text_of

WHOLE = 1000

Task = tuple[int, int, int, int]
"""Milli-CPU, MiB, GPUs, thousandths of each."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """fragmented: percent of all GPUs. load: percent of all GPUs that are in use."""

    fragmented: float
    load: float
    moves: int
    violations: tuple[str, ...]


@dataclass(slots=True)
class _Node:
    cpu: int
    memory: int
    left: list[int]


def judge(
    nodes: Path,
    popular: list[dict[str, str]],
    placement: list[tuple[dict[str, str], str, list[int]]],
    before: list[tuple[dict[str, str], str, list[int]]],
) -> Verdict:
    """The verdict. popular: the rows whose types have a say; one for one with `before`."""
    rooms = {
        row["sn"]: _Node(int(row["cpu_milli"]), int(row["memory_mib"]), [WHOLE] * int(row["gpu"]))
        for row in rows(nodes)
    }
    total = sum(len(node.left) for node in rooms.values())
    violations = []
    used = 0
    for row, name, devices in placement:
        cpu, memory, gpus, share = task(row)
        room = rooms[name]
        room.cpu -= cpu
        room.memory -= memory
        if len(set(devices)) != gpus or not all(0 <= device < len(room.left) for device in devices):
            violations.append(f"{row['name']} asks for {gpus} GPUs and has {devices}")
            continue
        for device in devices:
            room.left[device] -= share
            used += share
    for name, room in rooms.items():
        if room.cpu < 0 or room.memory < 0 or min(room.left, default=0) < 0:
            violations.append(f"node {name} is overfull")
    if len(placement) != len(before):
        violations.append(f"{len(before)} pods were placed, and {len(placement)} are")
    moves = sum(one[1] != other[1] for one, other in zip(before, placement, strict=False))
    say = Counter(task(row) for row in popular)
    lost = sum(_fragmented(room, say) for room in rooms.values()) / sum(say.values())
    return Verdict(100 * lost / WHOLE / total, 100 * used / WHOLE / total, moves, tuple(violations))


def _fragmented(room: _Node, say: Counter[Task]) -> float:
    """The idle GPUs of the node that types cannot use, in thousandths, times their numbers."""
    idle = sum(room.left)
    lost = 0
    for (cpu, memory, gpus, share), count in say.items():
        enough = [remainder for remainder in room.left if remainder >= share]
        fits = room.cpu >= cpu and room.memory >= memory and len(enough) >= gpus
        usable = sum(enough) if gpus and fits else 0
        lost += count * (idle - usable)
    return lost


def task(row: dict[str, str]) -> Task:
    """What a row asks for."""
    gpus = int(row["num_gpu"])
    share = int(row["gpu_milli"]) if gpus == 1 else WHOLE
    return int(row["cpu_milli"]), int(row["memory_mib"]), gpus, share if gpus else 0


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file, packed or not."""
    return list(csv.DictReader(text_of(path).splitlines()))


def main() -> int:
    """Judge a placement that tests.bench.openb has written, against the one that it began with."""
    nodes, pods = Path(sys.argv[1]), rows(Path(sys.argv[2]))
    after, before = (
        [
            (pods[number], name, devices)
            for number, name, devices in json.loads(Path(path).read_text())
        ]
        for path in (sys.argv[3], sys.argv[-1])
    )
    verdict = judge(nodes, pods, after, before)
    answer = {
        "fragmented": verdict.fragmented,
        "load": verdict.load,
        "moves": verdict.moves,
        "violations": list(verdict.violations[:10]),
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    raise SystemExit(main())
