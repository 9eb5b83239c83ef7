"""`python -m tests.e2e.landing`: thousands of predicted landings against the real scheduler.

Writes a line of JSON for every decision, and prints the shares. Ends with 1 where a bar is missed.
A disagreement is made again by `--first SEED --clusters 1`.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from tests.e2e.landing.arena import Arena, temporary
from tests.e2e.landing.campaign import decisions
from tests.e2e.landing.tally import Tally


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
    parser.add_argument("--out", type=Path, default=Path("out/landing"))
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    tally = Tally()
    started = time.monotonic()
    # The API server collects garbage for most of its time; there is memory enough.
    os.environ.setdefault("GOGC", "400")
    home = temporary()
    arena = Arena(home)
    try:
        seeds = range(options.first, options.first + options.clusters)
        seed = None
        for decision in decisions(arena, seeds, options.each, options.out):
            tally.add(decision)
            if decision.seed != seed:
                seed = decision.seed
                _progress(tally, seed, time.monotonic() - started)
    finally:
        arena.stop()
    shutil.rmtree(home, ignore_errors=True)
    minutes = (time.monotonic() - started) / 60
    report = [*tally.lines(), f"{minutes:.1f} minutes", *(f"MISSED: {e}" for e in tally.missed())]
    (options.out / "report.txt").write_text("\n".join(report) + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(report) + "\n")
    return 1 if tally.missed() else 0


def _progress(tally: Tally, seed: int, seconds: float) -> None:
    count = len(tally.decisions)
    sys.stderr.write(
        f"seed {seed}: {count} decisions, {60 * count / seconds:.0f} a minute, "
        f"{len(tally.wrong())} wrong, {len(tally.differing())} with a difference\n"
    )
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
