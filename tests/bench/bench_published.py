"""How far single moves get on published instances: python -m tests.bench.bench_published

For M3 (locality) and openb (fragmentation), with at most K moves: what the planner proposes where
kube-scheduler decides who lands where, and what the terms would choose if they could (steered). The
folder of the data is named by RESCHEDULER_BENCH_DATA.
"""

import os
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Shift
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.fragmentation.free_capacity import FreeCapacity, Rows
from rescheduler.policies.fragmentation.term import FragmentationTerm
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.term import LocalityTerm
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

_DEVICES = Devices("nvidia.com/gpu", SHARE, WHOLE)


def limits(moves: int) -> Limits:
    """As many moves as that, and nothing else in the way."""
    many: dict[str, Any] = dict.fromkeys(
        ("movesPerNode", "movesPerNamespace", "movesPerWorkload"), 1000
    )
    return Limits(
        movesPerCycle=moves,
        movesPerHour=1000,
        margin=0.0,
        gainShare=0.0,
        minReplicas=1,
        **many,
    )


def unsteered(before: Snapshot, policy: Policy, moves: int) -> tuple[float, int]:
    """The cost that the planner promises, and with how many moves."""
    made = plan(before, policy_set([policy], limits(moves)), History(), mode="Enforce")
    [result] = made.policies
    return result.cost.after, len(made.moves)


def steered(
    before: Snapshot, term: LocalityTerm | FragmentationTerm, moves: int
) -> tuple[float, int]:
    """The cost after the best single move to a node with room, again and again; lazily."""
    free_capacity = FreeCapacity(before, _DEVICES)
    node = before.pod_node.copy()
    everywhere = np.arange(len(before.nodes), dtype=np.int32)
    bounds = dict(zip(*_bounded(term), strict=True))
    alike = isinstance(term, FragmentationTerm)
    done = 0
    while done < moves and bounds:
        best = (0.0, -1, -1)
        missing: dict[int, float] = {}  # what no node with room gives to pods of a demand
        for pod in sorted(bounds, key=bounds.__getitem__, reverse=True):
            if bounds[pod] <= best[0] + 1e-9:
                break
            number = int(free_capacity.of_pod[pod])
            if bounds[pod] - missing.get(number, 0.0) <= best[0] + 1e-9:
                continue
            free = _room(free_capacity, pod)
            full = not free[node[pod]]
            free[node[pod]] = False
            change = np.where(free, term.deltas(pod, everywhere), np.inf)
            to = int(change.argmin())
            if alike and full:
                missing[number] = bounds[pod] + float(change[to])
            bounds[pod] = float(-change[to])
            best = max(best, (bounds[pod], pod, to))
        gain, pod, to = best
        if gain <= 1e-9:
            break
        shift = Shift(pod, int(node[pod]), to)
        term.commit(shift)
        free_capacity.commit(shift)
        node[pod] = to
        done += 1
        bounds = dict(zip(*_bounded(term), strict=True))
    return term.cost(), done


def _bounded(term: LocalityTerm | FragmentationTerm) -> tuple[list[int], list[float]]:
    pods: IntArray = term.candidates()
    return pods.tolist(), term.bounds(pods).tolist()


def _room(free_capacity: FreeCapacity, pod: int) -> BoolArray:
    """(nodes,) whether the pod fits: CPU, memory, whole GPUs, or its share on one of them."""
    asked, left = free_capacity.demand(pod), free_capacity.left()
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
    total = sum(int(each["gpu"]) for each in nodes)
    waiting = chance.sample(pods, len(pods))
    drawn: list[Row] = []
    asked = 0.0
    while asked < load * total:
        row = waiting.pop() if waiting else chance.choice(pods)
        asked += int(row["num_gpu"]) * int(row["gpu_milli"]) / WHOLE
        drawn.append({**row, "name": f"task-{len(drawn)}"})
    free_capacity = FreeCapacity(openb(nodes, drawn, {}), _DEVICES)
    left: Rows = free_capacity.left()
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
    for moves in (35, 105, 350):
        for name, how in (("unsteered", _m3_unsteered), ("steered", _m3_steered)):
            _say(f"M3 K={moves} {name}", partial(_of_m3, how, folder, moves))


def _of_m3(
    how: Callable[[Snapshot, int], tuple[float, int]], folder: Path, moves: int
) -> tuple[float, int]:
    return how(m3(folder), moves)


def _m3_unsteered(before: Snapshot, moves: int) -> tuple[float, int]:
    policy = m3_policy()
    term = policy.compile(before)
    worst = term.worst() if isinstance(term, LocalityTerm) else 1.0
    cost, done = unsteered(before, policy, moves)
    return 1 - cost / worst, done


def _m3_steered(before: Snapshot, moves: int) -> tuple[float, int]:
    term = m3_policy().compile(before)
    if not isinstance(term, LocalityTerm):
        raise TypeError(term)
    cost, done = steered(before, term, moves)
    return 1 - cost / term.worst(), done


def bench_openb(folder: Path) -> None:
    """Fragmentation in percent of all GPUs, from a random fill to 90 % of the GPUs."""
    nodes, rows = openb_rows(folder, "default")
    drawn, placed = placed_at_random(nodes, rows, 0.9, seed=1)
    before = openb(nodes, drawn, placed)
    total = sum(int(each["gpu"]) for each in nodes)
    for share in (0.0, 0.02, 0.1):
        moves = round(share * len(placed))

        def run(moves: int = moves) -> tuple[float, int]:
            term = openb_policy().compile(before)
            if not isinstance(term, FragmentationTerm):
                raise TypeError(term)
            _, done = steered(before, term, moves)
            return 100 * term.stranded()["gpu"] / total, done

        name = f"openb Random 90, {share:.0%} of {len(placed)} pods"
        _say(f"{name}, steered", run)
        if moves:
            _say(f"{name}, unsteered", partial(_openb_unsteered, before, moves, total))


def _openb_unsteered(before: Snapshot, moves: int, gpus: int) -> tuple[float, int]:
    """By the planner: pods with a share of a GPU stay, since kube-scheduler knows no shares."""
    policy = openb_policy()
    term = policy.compile(before)
    if not isinstance(term, FragmentationTerm):
        raise TypeError(term)
    cost, done = unsteered(before, policy, moves)
    return 100 * term.stranded()["gpu"] * cost / term.cost() / gpus, done


def _say(name: str, run: Callable[[], tuple[float, int]]) -> None:
    start = time.process_time()
    value, moves = run()
    took = time.process_time() - start
    sys.stdout.write(f"{name}: {value:.4f} with {moves} moves, {took:.1f} s of CPU\n")
    sys.stdout.flush()


if __name__ == "__main__":
    bench_m3(Path(os.environ[FOLDER]))
    bench_openb(Path(os.environ[FOLDER]))
