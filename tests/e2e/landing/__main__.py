"""`python -m tests.e2e.landing`: thousands of predicted landings against the real scheduler.

Writes a line of JSON for every decision, and prints the shares. Ends with 1 where a bar is missed.
All that explains a disagreement is kept below `out/disagreements`.
A disagreement is made again by `--first SEED --clusters 1`; after a change of the model, `--again
FOLDER` holds it against a run of before.
"""

import argparse
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.e2e.controlplane.build import binaries
from tests.e2e.landing.campaign import again, campaign
from tests.e2e.landing.deciding import CREATING
from tests.e2e.landing.landing_summary import LandingSummary


def main() -> int:
    """Run, print, and say whether the bars are met."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e.landing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--clusters", type=int, default=210)
    parser.add_argument("--first", type=int, default=1, help="seed of the first cluster")
    parser.add_argument("--each", type=int, default=25, help="decisions in a cluster")
    parser.add_argument("--creating", type=float, default=CREATING, help="share of creations")
    parser.add_argument("--planes", type=int, default=2, help="control planes side by side")
    parser.add_argument("--verbosity", type=int, default=0, help="of kube-scheduler's whole log")
    parser.add_argument("--out", type=Path, default=Path("out/landing"))
    parser.add_argument(
        "--again", type=Path, help="predict the decisions in this folder once more, without servers"
    )
    options = parser.parse_args()
    summary = LandingSummary()
    if options.again:
        for decision in again(options.again):
            summary.add(decision)
        return _report(summary, options.again / "again.txt")
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    binaries()
    started = time.monotonic()
    seeds = range(options.first, options.first + options.clusters)
    parts = [seeds[number :: options.planes] for number in range(options.planes)]
    with ProcessPoolExecutor(options.planes, get_context("spawn")) as pool:
        running = [
            pool.submit(
                campaign, part, options.each, options.out, options.creating, options.verbosity
            )
            for part in parts
        ]
        for future in running:
            made, broken = future.result()
            summary.broken += broken
            for decision in made:
                summary.add(decision)
    sys.stdout.write(f"{(time.monotonic() - started) / 60:.1f} minutes\n")
    return _report(summary, options.out / "report.txt")


def _report(summary: LandingSummary, path: Path) -> int:
    missed = summary.missed()
    report = "\n".join([*summary.lines(), *(f"MISSED: {miss}" for miss in missed)]) + "\n"
    path.write_text(report, encoding="utf-8")
    sys.stdout.write(report)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
