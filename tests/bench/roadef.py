"""ROADEF/EURO 2012 by our planner: python -m tests.bench.roadef MODEL ASSIGNMENT --moves K ...

Prints {cost, moves, seconds, bound} in the challenge's units. The cost is worked out again by
tests.bench.checkers.roadef from the files. What Kubernetes has no word for no plan keeps, and the
judge says so: the least number of locations of a service, and what a process holds on both machines
while it moves. The time begins when the snapshot and the scheduler's model stand, as that of a plan
does in a cycle; what these took is `model`.
"""

import argparse
import json
import sys
from pathlib import Path

from rescheduler.sources.kubernetes.page_decoding import collector_off
from tests.bench import roadef_files as files
from tests.bench.checkers.roadef import judge
from tests.bench.running import Clock, options, planned


def main() -> int:
    """Read, plan, write, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("assignment", type=Path)
    parser.add_argument("--moves", type=int, help="at most so many; absent: any number")
    parser.add_argument("--no-dependencies", action="store_true", help="leave them out")
    options(parser, 10.0)
    parser.add_argument("--out", type=Path, required=True, help="the new assignment")
    given = parser.parse_args()
    instance = files.read(given.model, given.assignment)
    if given.no_dependencies:
        instance.needs[:] = [[] for _ in instance.needs]
    cluster = files.cluster(instance)
    policy, scale = files.policy(instance)
    clock = Clock(given.seconds, cpu=given.cpu)
    most = len(instance.home) if given.moves is None else given.moves
    found = planned(cluster, policy, most, clock, seed=given.seed)
    spent, new = clock.spent(), found.where
    given.out.write_text(" ".join(map(str, new.tolist())) + "\n")
    verdict = judge(given.model, given.assignment, given.out)
    answer = {
        "cost": verdict.cost,
        "moves": verdict.moves,
        "seconds": round(spent, 3),
        "bound": int(found.bound * scale),
        "model": round(clock.model, 3),
        "violations": list(verdict.violations[:10]),
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    with collector_off():  # as the program reads and plans
        raise SystemExit(main())
