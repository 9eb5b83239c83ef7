"""What a plan gains where moves are proposed together: python -m tests.bench.bench_better

Drawn clusters of nodes with 8 GPUs, filled at random by pods of 1 to 8 of them, with replacements
steered. One line each: what is gained move by move and by the plan that is kept, with how many
evictions, and the CPU seconds of the search and of what comes after it. Ends with 1 where a plan
that is kept is worse.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterable

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.effort import UNHURRIED
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.better_plan import better
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.policies.limits import Limits
from tests.cluster import deployment, node, pod, snapshot
from tests.planning.gpu_worlds import whole_gpus
from tests.planning.random_worlds import FREE
from tests.planning.scenarios import GPU, ROOM

_GPUS = (1, 1, 1, 2, 2, 4, 8)
_REPLICAS = (2, 3, 4, 6)


def filled(nodes: int, load: float, seed: int) -> Snapshot:
    """Deployments of pods on random nodes with room, until so much of the GPUs is asked for."""
    draw = random.Random(seed)
    free = [8] * nodes
    pods: list[Pod] = []
    controllers: list[Controller] = []
    while sum(free) > (1 - load) * 8 * nodes:
        gpus, name = draw.choice(_GPUS), f"app-{len(controllers) // 2}"
        asked = {GPU: str(gpus), "cpu": str(draw.choice((2, 4, 6)) * max(1, gpus // 2))}
        open_to = [place for place in range(nodes) if free[place] >= gpus]
        places = draw.sample(open_to, min(len(open_to), draw.choice(_REPLICAS)))
        top, owner = deployment(name, replicas=len(places))
        controllers += [top, owner]
        for number, place in enumerate(places):
            free[place] -= gpus
            pod_object = pod(
                f"{name}-{number}",
                f"n{place}",
                owner=owner,
                labels={"app": name},
                requests=asked,
            )
            pods.append(pod_object)
    machines = [node(f"n{number}", allocatable=ROOM) for number in range(nodes)]
    return snapshot(machines, pods, controllers=controllers)


def line(cluster: Snapshot, name: str, others: Iterable[str], cap: int) -> float:
    """Plan, and say what was gained; answers the share that is gained more."""
    limits = FREE | {"movesPerDay": 900, "movesPerCycle": cap}
    limits |= {"steering": {"by": "AdmissionPolicy"}}
    copy = WorkingCopy(cluster, [whole_gpus(*others)], Limits.model_validate(limits), History())
    evaluator = Evaluator(copy)
    start = time.process_time()
    found = search(evaluator)
    searched = time.process_time()
    kept = better(evaluator, found, UNHURRIED)
    spent = time.process_time() - searched
    one, other = _gain(found), _gain(kept)
    more = other / one - 1 if one else 0.0
    sys.stdout.write(
        f"{name:26} {cap:>4} {one:>9.3f} {len(found.moves):>5} {other:>9.3f} {len(kept.moves):>5} "
        f"{more:>+8.2%} {searched - start:>7.2f} {spent:>+7.2f}\n"
    )
    return more


def _gain(found: SearchResult) -> float:
    return sum(move.gain for move in found.moves)


def main() -> int:
    """All of them, and the mean."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_better", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[60, 300])
    parser.add_argument("--caps", type=int, nargs="+", default=[10, 50, 200])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    sys.stdout.write(
        f"{'nodes, load, seed':26} {'cap':>4} {'one by one':>15} {'kept':>15} {'more':>8} "
        f"{'CPU s':>7} {'more':>7}\n"
    )
    found = [
        line(
            filled(nodes, load, seed), f"{nodes} {load:.0%} {seed} {'+'.join(others)}", others, cap
        )
        for nodes in options.nodes
        for load in (0.6, 0.85)
        for seed in range(options.seeds)
        for others in ((), ("cpu",))
        for cap in options.caps
    ]
    mean = sum(found) / len(found)
    won = sum(gain > 0 for gain in found)
    sys.stdout.write(f"{mean:+.2%} on average, at most {max(found):+.2%}; {won} of {len(found)}\n")
    return 0 if min(found) >= -1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
