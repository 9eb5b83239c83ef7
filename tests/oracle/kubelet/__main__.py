"""`python -m tests.oracle.kubelet`: random pods before kubelet's own managers and the program.

Ends with 1 where a bar is missed. `--seed N` judges one case and shows it.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.e2e.controlplane.build import binaries
from tests.oracle.kubelet.comparing import Comparison, compare

MOST_FALSE_ADMITS, MOST_FALSE_REFUSALS, LEAST_AGREEMENT = 0.003, 0.012, 0.99


def main() -> int:
    """Judge, print, and say whether the bars are met."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.kubelet", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=1, help="seed of the first case")
    parser.add_argument("--seed", type=int, help="this case alone")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--show", type=int, default=20, help="seeds of so many differences")
    options = parser.parse_args()
    judge = binaries()["kubelet-admission"]
    if options.seed is not None:
        comparison = compare(judge, [options.seed])
    else:
        seeds = range(options.first, options.first + options.cases)
        parts = [seeds[number :: options.processes] for number in range(options.processes)]
        comparison = Comparison()
        with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
            for subtotal in pool.map(compare, [judge] * len(parts), parts):
                comparison.join(subtotal)
    sys.stdout.write(f"{comparison.table()}\n")
    comparison.differing.sort(
        key=lambda verdict: (bool(verdict.case.machine.untold), verdict.case.seed)
    )
    for verdict in comparison.differing[: options.show]:
        told = ", ".join(sorted(verdict.case.machine.untold or verdict.case.features))
        why = verdict.answer.message or "admitted"
        sys.stdout.write(f"seed {verdict.case.seed}: {verdict.kind}: {why} ({told})\n")
    return 1 if missed(comparison) else 0


def missed(comparison: Comparison) -> bool:
    """Whether the program differs from kubelet more than it may, where the API tells enough."""
    agree, admits, refusals = comparison.shares(comparison.told)
    return agree < LEAST_AGREEMENT or admits > MOST_FALSE_ADMITS or refusals > MOST_FALSE_REFUSALS


if __name__ == "__main__":
    sys.exit(main())
