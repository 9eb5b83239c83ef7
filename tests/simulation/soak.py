"""Many simulated cycles over all cores, with what was reached as JSON.

    python -m tests.simulation.soak --cycles 1000000 --out soak.json

A run that breaks a promise is printed with its seed; the same seed replays it. It also fails where
too little came to pass for that to say something.
"""

import argparse
import gc
import json
import logging
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import structlog

from tests.simulation.reach import too_seldom
from tests.simulation.scenario import simulated
from tests.simulation.storms import storm

CHUNK = 50
"""Seeds of one task."""

Broken = list[tuple[int, str]]


def some(first: int, count: int) -> tuple[Counter[str], Broken]:
    """What the runs of these seeds have reached, and what they have broken."""
    reached: Counter[str] = Counter()
    broken: Broken = []
    with simulated():
        for seed in range(first, first + count):
            run = storm(seed, reached)
            broken += [(seed, violation) for violation in run.ground.broken]
    return reached, broken


def prepare() -> None:
    """Look for garbage a hundred times less often, as a cycle leaves little; log nothing."""
    gc.freeze()
    gc.set_threshold(70_000, 10, 10)
    nothing = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=nothing)


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Run, print the progress, write the result; 1 where something was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    reached: Counter[str] = Counter()
    broken: Broken = []
    began, seed, told = time.monotonic(), given.first, 0
    with ProcessPoolExecutor(given.jobs, initializer=prepare) as pool:
        while reached["cycles"] < given.cycles:
            firsts = [seed + CHUNK * number for number in range(8)]
            seed += CHUNK * len(firsts)
            for more, found in pool.map(some, firsts, [CHUNK] * len(firsts)):
                reached += more
                broken += found
                for at, violation in found[:20]:
                    _say(f"seed {at}: {violation}")
            if reached["cycles"] - told >= 5000:
                told = reached["cycles"]
                spent = time.monotonic() - began
                _say(f"{told} cycles in {spent:.0f} s, {len(broken)} broken")
    result = {
        "cycles": reached["cycles"],
        "seeds": [given.first, seed],
        "seconds": round(time.monotonic() - began),
        "broken": [{"seed": at, "what": violation} for at, violation in broken],
        "reached": dict(sorted(reached.items())),
    }
    if given.out is not None:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    _say(f"{reached['cycles']} cycles, {reached['evicted']} evictions, {len(broken)} broken")
    seldom = too_seldom(reached)
    for message in seldom:
        _say(f"too seldom: {message}")
    return 1 if broken or seldom else 0


if __name__ == "__main__":
    sys.exit(main())
