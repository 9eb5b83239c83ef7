"""RASA's instances by our planner: python -m tests.bench.rasa INSTANCE --moves K --out NEW ...

Prints {cost, moves, seconds, bound, gained}: the cost is the share of traffic between machines,
1 less the gained affinity, as tests.bench.checkers.rasa works it out again from the file.
"""

import argparse
import json
import sys
from pathlib import Path

from rescheduler.policies.locality.term import LocalityTerm
from rescheduler.sources.kubernetes.page_decoding import collector_off
from tests.bench.checkers.rasa import judge
from tests.bench.packed import text_of
from tests.bench.published import m3_policy, rasa
from tests.bench.running import Clock, options, planned


def main() -> int:
    """Read, plan, write, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instance", type=Path)
    parser.add_argument("--moves", type=int, help="at most so many; absent: any number")
    options(parser, 10.0)
    parser.add_argument("--out", type=Path, required=True, help="JSON of containers to machines")
    given = parser.parse_args()
    cluster, policy = rasa(given.instance), m3_policy()
    clock = Clock(given.seconds, cpu=given.cpu)
    most = len(cluster.pods) if given.moves is None else given.moves
    found = planned(cluster, policy, most, clock, seed=given.seed)
    spent = clock.spent()
    term = policy.compile(cluster)
    worst = term.worst() if isinstance(term, LocalityTerm) else 1.0
    new = {
        pod.metadata.name: cluster.nodes[node].metadata.name
        for pod, node in zip(cluster.pods, found.where.tolist(), strict=True)
    }
    # Pods have names in lower case, as Kubernetes wants.
    original = {name.lower(): name for name in _containers(given.instance)}
    new = {original[name]: machine for name, machine in new.items()}
    given.out.write_text(json.dumps(new) + "\n")
    verdict = judge(given.instance, new)
    answer = {
        "cost": round(1 - verdict.gained, 6),
        "moves": verdict.moves,
        "seconds": round(spent, 3),
        "bound": round(found.bound / worst, 6),
        "gained": round(verdict.gained, 6),
        "model": round(clock.model, 3),
        "violations": list(verdict.violations[:10]),
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 1 if verdict.violations else 0


def _containers(instance: Path) -> list[str]:
    data = json.loads(text_of(instance))
    return [name for service in data["ServiceList"] for name in service["ContainerList"]]


if __name__ == "__main__":
    with collector_off():  # as the program reads and plans
        raise SystemExit(main())
