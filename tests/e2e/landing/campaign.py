"""Many clusters one after the other, and what is kept of their decisions."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rescheduler.sources.recording import save
from tests.e2e.landing.arena import Arena, temporary
from tests.e2e.landing.deciding import Deciding
from tests.e2e.landing.decision import REFUSED, WRONG, Decision
from tests.e2e.landing.mix import Mix
from tests.e2e.landing.tally import Tally

SMALL, LARGE = (5, 90), (120, 300)
EVERY = 8
"""One of so many clusters is large enough for the scheduler to sample its nodes."""


def sizes(seed: int) -> tuple[int, int]:
    """Least and most nodes of the cluster of this seed."""
    return LARGE if seed % EVERY == 0 else SMALL


def decisions(
    arena: Arena, seeds: Sequence[int], each: int, folder: Path | None = None
) -> Iterator[Decision]:
    """`each` decisions in the cluster of every seed, twice as many where nodes are sampled.

    folder: gets a line for every decision, and the snapshot of each that was predicted otherwise,
    which `rescheduler explain pod --snapshot` takes.
    """
    for seed in seeds:
        mix = Mix(seed, sizes(seed))
        arena.build(mix)
        count = each * 2 if sizes(seed) == LARGE else each
        for decision, forecast in Deciding(arena, seed, mix).run(count):
            if folder is not None:
                with (folder / "decisions.jsonl").open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(decision.line()) + "\n")
                told = decision.verdict in WRONG or decision.differences
                if told and decision.verdict != REFUSED:
                    save(forecast.snapshot, folder / f"{seed}-{decision.step}.snapshot")
            yield decision


def campaign(seeds: Sequence[int], each: int, folder: Path) -> list[Decision]:
    """The clusters of these seeds on a control plane of their own."""
    # The API server collects garbage for much of its time; there is memory enough.
    os.environ.setdefault("GOGC", "400")
    tally = Tally()
    home = temporary()
    arena = Arena(home)
    try:
        started, seed = time.monotonic(), None
        for decision in decisions(arena, seeds, each, folder):
            tally.add(decision)
            if decision.seed != seed:
                seed = decision.seed
                _progress(tally, seed, time.monotonic() - started)
    finally:
        arena.stop()
    shutil.rmtree(home, ignore_errors=True)
    return [*tally.decisions, *tally.refused]


def _progress(tally: Tally, seed: int, seconds: float) -> None:
    count = len(tally.decisions)
    sys.stderr.write(
        f"seed {seed}: {count} decisions, {60 * count / seconds:.0f} a minute, "
        f"{len(tally.wrong())} wrong, {len(tally.differing())} with a difference\n"
    )
    sys.stderr.flush()
