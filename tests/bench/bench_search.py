"""Plan on many drawn clusters, and compare the worst planning time with the median.

    python -m tests.bench.bench_search [--clusters 50] [--nodes 600] [--workloads 120]

Each cluster has a zone that came later, so that nearly every Deployment is uneven; one pod of each
may move. The search must not take much longer where many moves compete for the last of a cycle, or
where some turn out to be worth nothing. Ends with 1 where the worst is over 3 times the median.
"""

import argparse
import gc
import sys
import time
from dataclasses import dataclass
from statistics import median

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.bench.grown import Size, grown

CAPS = (100, 110, 118)
"""Moves a cycle: fewer than there are Deployments, nearly as many, and all but two."""
MOST = 3.0
"""How many times the median the worst may be."""


@dataclass(frozen=True, slots=True)
class Run:
    """One plan. seconds: CPU; early: candidates refused because the cycle has its moves."""

    seed: int
    seconds: float
    moves: int
    early: int


def policies(cap: int) -> PolicySet:
    """Own constraints, hosts and rules; so many moves a cycle, one of each workload."""
    return policy_set(
        [
            Spread.model_validate(
                {"name": "own-constraints", "match": {"all": True}, "constraints": "FromPods"}
            ),
            Spread.model_validate(
                {
                    "name": "hosts",
                    "match": {"all": True},
                    "constraints": [{"topologyKey": "kubernetes.io/hostname", "maxPerDomain": 1}],
                }
            ),
            Conformity.model_validate(
                {
                    "name": "rules",
                    "match": {"all": True},
                    "nodeTaints": {"effects": ["NoSchedule"]},
                    "nodeAffinity": {"required": True},
                    "podAntiAffinity": True,
                }
            ),
        ],
        Limits(
            movesPerCycle=cap,
            movesPerHour=cap,
            movesPerNode=cap,
            movesPerNamespace=cap,
            movesPerWorkload=1,
        ),
    )


def timed(seed: int, cluster: Snapshot, cap: int) -> Run:
    """Plan on the cluster."""
    gc.collect()
    start = time.process_time()
    made = plan(cluster, policies(cap), History(), mode="Audit")
    seconds = time.process_time() - start
    return Run(seed, seconds, len(made.moves), made.totals.refused.get("PAC001", 0))


def report(cap: int, runs: list[Run]) -> bool:
    """Say how long they took; answers whether the worst is near enough to the median."""
    middle = median(run.seconds for run in runs)
    worst = max(runs, key=lambda run: run.seconds)
    ratio = worst.seconds / middle
    moves = [run.moves for run in runs]
    wrong = sum(run.early > 0 and run.moves < cap for run in runs)
    sys.stdout.write(
        f"{cap:>5} {middle:>9.2f} {worst.seconds:>9.2f} {ratio:>6.1f} {worst.seed:>6} "
        f"{min(moves):>4}-{max(moves):<4} {wrong:>6}\n"
    )
    return ratio <= MOST and not wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_search", description=__doc__)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=600)
    parser.add_argument("--workloads", type=int, default=120)
    options = parser.parse_args()
    size = Size(options.nodes, options.workloads)
    runs: dict[int, list[Run]] = {cap: [] for cap in CAPS}
    for seed in range(options.clusters):
        cluster = grown(seed, size)
        for cap in CAPS:
            runs[cap].append(timed(seed, cluster, cap))
    pods = size.workloads * size.replicas
    sys.stdout.write(
        f"{options.clusters} clusters of {size.nodes:,} nodes and {pods:,} pods; CPU seconds\n"
        "  cap    median     worst  ratio   seed  moves     wrong\n"
    )
    kept = [report(cap, found) for cap, found in runs.items()]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
