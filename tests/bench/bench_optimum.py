"""How near a plan comes to the optimum: python -m tests.bench.bench_optimum

Drawn clusters, loose and tight, per policy and mixed. One line each: what the plan gains as a share
of the optimum, its own bound as a multiple of that, its moves and CPU seconds. Ends with the median
and the worst of both, and how many plans had a bound.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from tests.bench.drawn_load import DrawnLoad, drawn, policies
from tests.bench.optimum import Optimum, optimum
from tests.planning.random_worlds import FREE

KINDS = (("Utilization",), ("Spread",), ("Utilization", "Spread"))


@dataclass(frozen=True, slots=True)
class Compared:
    """share: of the optimum that the plan gains. bound: the plan's own, as a multiple of it."""

    share: float
    bound: float | None
    moves: int
    seconds: float
    proven: bool


def limits(moves: int, *, steered: bool) -> Limits:
    """As many moves as that, and nothing else in the way."""
    wide: dict[str, Any] = FREE | {
        "movesPerCycle": moves,
        "movesPerDay": 900,
        "margin": 0.0,
        "gainShare": 0.0,
        "minReplicas": 1,
    }
    return Limits.model_validate(
        wide | ({"steering": {"by": "AdmissionPolicy"}} if steered else {})
    )


def planned(cluster: DrawnLoad, kinds: Sequence[str], moves: int, *, steered: bool = True) -> Plan:
    """The plan with these limits."""
    chosen = policies(kinds)
    wide = policy_set(chosen, limits(moves, steered=steered))
    return plan(cluster.read(chosen), wide, History(), mode="Enforce")


def gain(made: Plan) -> float:
    """What the moves of a plan lower the cost by, where they most likely land."""
    return sum(policy.cost.before - policy.cost.after for policy in made.policies)


def compared(
    cluster: DrawnLoad, kinds: Sequence[str], moves: int, best: Optimum, *, steered: bool = True
) -> Compared:
    """The plan beside the optimum."""
    start = time.process_time()
    made = planned(cluster, kinds, moves, steered=steered)
    spent = time.process_time() - start
    bound = None if made.search is None else made.search.bound
    found = gain(made)
    return Compared(
        found / best.bound,
        None if bound is None else bound / max(best.gain, found),
        len(made.moves),
        spent,
        best.bound <= best.gain * 1.001,
    )


def main() -> int:
    """All of them."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.bench_optimum", description=__doc__
    )
    parser.add_argument("--nodes", type=int, default=60)
    parser.add_argument("--moves", type=int, nargs="+", default=[5, 20, 60])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0, help="for the optimum, at most")
    parser.add_argument("--unsteered", action="store_true")
    options = parser.parse_args()
    every: list[Compared] = []
    for load in ("loose", "tight"):
        for kinds in KINDS:
            for moves in options.moves:
                for seed in range(options.seeds):
                    cluster = drawn(options.nodes, load, seed)
                    best = optimum(cluster, kinds, moves, options.seconds)
                    found = compared(cluster, kinds, moves, best, steered=not options.unsteered)
                    every.append(found)
                    _say(f"{load} {'+'.join(kinds)} {moves} {seed}", found)
    shares = [comparison.share for comparison in every]
    bounds = [comparison.bound for comparison in every if comparison.bound is not None]
    sys.stdout.write(
        f"of the optimum: {np.median(shares):.1%} in the median, {min(shares):.1%} at worst; "
        f"bound: {len(bounds)} of {len(every)} have one"
        + (f", {np.median(bounds):.2f} in the median, {max(bounds):.2f} at worst" if bounds else "")
        + "\n"
    )
    return 0


def _say(name: str, found: Compared) -> None:
    bound = "-" if found.bound is None else f"{found.bound:.3f}"
    sys.stdout.write(
        f"{name:36} {found.share:>7.1%} bound {bound:>6} moves {found.moves:>3} "
        f"{found.seconds:>6.2f} s of CPU{'' if found.proven else ' (optimum not proven)'}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
