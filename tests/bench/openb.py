"""openb by our planner: python -m tests.bench.openb NODES PODS --moves 2% --out NEW ...

Fills the nodes as FGD's authors do (pods drawn from the list, on a random node with room, until
the GPUs that they ask for are the load), then moves at most so many of the placed pods. Prints
{cost, moves, seconds, bound}: the cost is the fragmentation in percent of all GPUs, as
tests.bench.checkers.openb works it out again.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from rescheduler.policies.shared.demand import WHOLE
from rescheduler.sources.kubernetes.page_decoding import collector_off
from tests.bench.bench_published import placed_at_random
from tests.bench.checkers.openb import judge, rows, task
from tests.bench.published import Row, openb, openb_policy
from tests.bench.running import Clock, options, planned


def main() -> int:
    """Read or fill, plan, write, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=Path)
    parser.add_argument("pods", type=Path)
    parser.add_argument("--load", type=float, default=0.9, help="asked for by all that arrive")
    parser.add_argument("--fill", type=int, default=1, help="the seed of the fill")
    parser.add_argument("--moves", default="2%", help="a number, or a share of the placed pods")
    options(parser, 5.0)
    parser.add_argument("--out", type=Path, required=True, help="JSON of [row, node, devices]")
    given = parser.parse_args()
    nodes, listed = rows(given.nodes), rows(given.pods)
    drawn, placed = placed_at_random(nodes, listed, given.load, given.fill)
    cluster = openb(nodes, drawn, placed, shares=True)
    text = given.moves
    most = round(float(text[:-1]) / 100 * len(placed)) if text.endswith("%") else int(text)
    clock = Clock(given.seconds, cpu=given.cpu)
    found = planned(cluster, openb_policy(), most, clock, seed=given.seed)
    spent = clock.spent()
    moved = {
        pod: int(found.where[pod])
        for pod in np.flatnonzero(found.where != cluster.pod_node).tolist()
    }
    number = {task(row): index for index, row in reversed(list(enumerate(listed)))}
    before = _with_devices(nodes, drawn, placed, {})
    after = _with_devices(nodes, drawn, placed, moved)
    verdict = judge(given.nodes, drawn, after, before)
    given.out.write_text(
        json.dumps([(number[task(row)], name, devices) for row, name, devices in after]) + "\n"
    )
    first = judge(given.nodes, drawn, before, before)
    [result] = found.plan.policies
    unit = first.fragmented / result.cost.before if result.cost.before else 0.0
    answer = {
        "cost": round(verdict.fragmented, 4),
        "moves": verdict.moves,
        "seconds": round(spent, 3),
        "bound": round(found.bound * unit, 4),
        "before": round(first.fragmented, 4),
        "load": round(verdict.load, 2),
        "model": round(clock.model, 3),
        "violations": [*first.violations[:3], *verdict.violations[:10]],
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 1 if verdict.violations else 0


def _with_devices(
    nodes: list[Row],
    drawn: list[Row],
    placed: dict[int, tuple[int, int]],
    moved: dict[int, int],
) -> list[tuple[Row, str, list[int]]]:
    """Who has which devices: shares stay where they were, then whole ones, then shares that came.

    Those take the fullest device with room, the largest first, as a device plugin would.
    """
    left = [[WHOLE] * int(node["gpu"]) for node in nodes]
    of: dict[int, list[int]] = {}
    later: list[tuple[int, int, int]] = []
    for pod, (node, device) in placed.items():
        _, _, gpus, share = task(drawn[pod])
        of[pod] = []
        if gpus == 1 and share < WHOLE and pod not in moved:
            left[node][device] -= share
            of[pod] = [device]
        elif gpus:
            later.append((-share, pod, moved.get(pod, node)))
    for negative, pod, node in sorted(later):
        gpus, share = task(drawn[pod])[2], -negative
        fits = sorted((room, device) for device, room in enumerate(left[node]) if room >= share)
        of[pod] = [device for _, device in fits[:gpus]]
        for device in of[pod]:
            left[node][device] -= share
    return [
        (drawn[pod], nodes[moved.get(pod, node)]["sn"], of[pod])
        for pod, (node, _) in placed.items()
    ]


if __name__ == "__main__":
    with collector_off():  # as the program reads and plans
        raise SystemExit(main())
