"""How far single moves get on published instances: python -m tests.bench.bench_published

For M3 (locality) and openb (fragmentation), with at most K moves: what the planner proposes where
kube-scheduler decides who lands where, and where replacements are told (steered). The
folder of the data is named by RESCHEDULER_BENCH_DATA.
"""

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.fragmentation.free_capacity import FreeCapacity, Rows
from rescheduler.policies.fragmentation.term import FragmentationTerm
from rescheduler.policies.shared.demand import WHOLE, Devices
from tests.bench.published import (
    FOLDER,
    SHARE,
    Row,
    m3,
    m3_policy,
    openb,
    openb_policy,
    openb_rows,
)
from tests.bench.running import wide

_HOW = {False: "unsteered", True: "steered"}
_DEVICES = Devices("nvidia.com/gpu", SHARE, WHOLE)


def proposed(before: Snapshot, policy: Policy, moves: int, *, steered: bool) -> tuple[float, int]:
    """The cost that the planner promises, and with how many moves."""
    limits = wide(moves, steered=steered)
    made = plan(before, policy_set([policy], limits), History(), mode="Enforce")
    [result] = made.policies
    return result.cost.after, len(made.moves)


def _room(free_capacity: FreeCapacity, pod: int) -> BoolArray:
    """(nodes,) whether the pod fits: CPU, memory, whole GPUs, or its share on one of them."""
    asked, left = free_capacity.demand(pod), free_capacity.free_rows()
    fits: BoolArray = (left.cpu >= asked.cpu) & (left.memory >= asked.memory)
    fits &= (left.devices == WHOLE).sum(axis=1) >= asked.gpus
    fits &= left.devices.max(axis=1) >= asked.share
    return fits


def placed_at_random(
    nodes: list[Row], pods: list[Row], load: float, seed: int
) -> tuple[list[Row], dict[int, tuple[int, int]]]:
    """Pods as they are shuffled, each on a random node with room, until the GPUs are asked for.

    Once the list is used up, pods of it are drawn again. A share is on a random GPU with room.
    load: GPUs asked for by all arrivals, as a share of all, whether they found room or not.
    Source: github.com/hkust-adsl/kubernetes-scheduler-simulator, the simulator of FGD's authors:
    SortClusterPods and tuneUpPods (pkg/simulator/simulator.go), RandomScore, and the GPU selection
    `random` that their run scripts give it (pkg/simulator/plugin/open_gpu_share.go). They report
    a fragmentation of 14.48 % at load 0.9 as the mean of 10 seeds.
    """
    chance = random.Random(seed)
    total = sum(int(node["gpu"]) for node in nodes)
    waiting = chance.sample(pods, len(pods))
    drawn: list[Row] = []
    asked = 0.0
    while asked < load * total:
        row = waiting.pop() if waiting else chance.choice(pods)
        asked += int(row["num_gpu"]) * int(row["gpu_milli"]) / WHOLE
        drawn.append({**row, "name": f"task-{len(drawn)}"})
    free_capacity = FreeCapacity(openb(nodes, drawn, {}), _DEVICES)
    left: Rows = free_capacity.free_rows()
    placed: dict[int, tuple[int, int]] = {}
    for number in range(len(drawn)):
        (free,) = np.nonzero(_room(free_capacity, number))
        if not len(free):
            continue
        on, need = int(chance.choice(free.tolist())), free_capacity.demand(number)
        left.cpu[on] -= need.cpu
        left.memory[on] -= need.memory
        device = -1
        row_of = left.devices[on]
        if need.share:
            device = int(chance.choice(np.flatnonzero(row_of >= need.share).tolist()))
            row_of[device] -= need.share
        row_of[np.flatnonzero(row_of == WHOLE)[: need.gpus]] = 0
        placed[number] = (on, device)
    return drawn, placed


def bench_m3(folder: Path) -> None:
    """Gained affinity with K moves."""
    before, policy = m3(folder), m3_policy()
    term = policy.compile(before)
    if isinstance(term, Problem):
        raise TypeError(term.message)
    worst = term.worst()
    for moves in (35, 105, 350):
        for steered in (False, True):

            def run(moves: int = moves, *, steered: bool = steered) -> tuple[float, int]:
                cost, done = proposed(before, policy, moves, steered=steered)
                return 1 - cost / worst, done

            _say(f"M3 K={moves} {_HOW[steered]}", run)


def bench_openb(folder: Path) -> None:
    """Fragmentation in percent of all GPUs, from a random fill to 90 % of the GPUs."""
    nodes, rows = openb_rows(folder, "default")
    drawn, placed = placed_at_random(nodes, rows, 0.9, seed=1)
    policy = openb_policy()
    total = sum(int(node["gpu"]) for node in nodes)
    for share in (0.02, 0.1):
        moves = round(share * len(placed))
        for steered in (False, True):
            # Unsteered pods with a share of a GPU stay, since kube-scheduler knows no shares.
            before = openb(nodes, drawn, placed, shares=steered)
            term = policy.compile(before)
            if not isinstance(term, FragmentationTerm):
                raise TypeError(term)
            unit = 100 * term.stranded_amounts()["gpu"] / total / term.cost()

            def run(
                moves: int = moves,
                *,
                steered: bool = steered,
                before: Snapshot = before,
                unit: float = unit,
            ) -> tuple[float, int]:
                cost, done = proposed(before, policy, moves, steered=steered)
                return unit * cost, done

            _say(f"openb Random 90, {share:.0%} of {len(placed)} pods, {_HOW[steered]}", run)


def _say(name: str, run: Callable[[], tuple[float, int]]) -> None:
    start = time.process_time()
    value, moves = run()
    took = time.process_time() - start
    sys.stdout.write(f"{name}: {value:.4f} with {moves} moves, {took:.1f} s of CPU\n")
    sys.stdout.flush()


if __name__ == "__main__":
    bench_m3(Path(os.environ[FOLDER]))
    bench_openb(Path(os.environ[FOLDER]))
