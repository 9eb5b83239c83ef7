"""Many clusters one after the other, and what is kept of their decisions."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rescheduler.sources.recording import save
from tests.e2e.landing.arena import Arena
from tests.e2e.landing.deciding import Deciding
from tests.e2e.landing.decision import REFUSED, WRONG, Decision
from tests.e2e.landing.mix import Mix

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
