"""Many clusters one after the other, and what is kept of their decisions."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rescheduler.sources.recording import load, save
from tests.e2e.controlplane.api import ApiError
from tests.e2e.landing.comparison import compare
from tests.e2e.landing.deciding import CREATING, Deciding
from tests.e2e.landing.decision import REFUSED, Decision
from tests.e2e.landing.forecast import Forecast
from tests.e2e.landing.landing_cluster import LandingCluster, temporary
from tests.e2e.landing.landing_summary import LandingSummary
from tests.e2e.landing.mix import Mix

SMALL, LARGE = (5, 90), (120, 300)
LINES = "decisions.jsonl"
EVERY = 8
"""One of so many clusters is large enough for the scheduler to sample its nodes."""


def sizes(seed: int) -> tuple[int, int]:
    """Least and most nodes of the cluster of this seed."""
    return LARGE if seed % EVERY == 0 else SMALL


def decisions(
    landing_cluster: LandingCluster,
    seeds: Sequence[int],
    per_cluster: int,
    folder: Path | None = None,
    creating: float = CREATING,
) -> Iterator[Decision]:
    """`per_cluster` decisions in each seed's cluster, twice as many where nodes are sampled.

    folder: gets a line for every decision, and the snapshot that it was predicted on, which
    `rescheduler explain pod --snapshot` takes.
    """
    for seed in seeds:
        mix = Mix(seed, sizes(seed))
        landing_cluster.build(mix)
        count = per_cluster * 2 if sizes(seed) == LARGE else per_cluster
        name = ""
        for decision, forecast in Deciding(landing_cluster, seed, mix, creating).run(count):
            if folder is not None:
                if decision.batch == 0:
                    name = f"{seed}-{decision.step}.snapshot"
                    save(forecast.snapshot, folder / name)
                decision.snapshot = name
                with (folder / LINES).open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(decision.line()) + "\n")
            yield decision


def again(folder: Path) -> Iterator[Decision]:
    """The decisions of an earlier run, with what the model predicts of them now."""
    forecast: Forecast | None = None
    name, blurred = "", False
    with (folder / LINES).open(encoding="utf-8") as lines:
        made = [Decision(**json.loads(line)) for line in lines]
    # Two runs side by side have written alternately.
    for decision in sorted(made, key=lambda decision: (decision.seed, decision.step)):
        if decision.snapshot != name or forecast is None:
            name, forecast, blurred = decision.snapshot, None, False
            snapshot = load(folder / name)
        if blurred:
            continue  # a refused one before it may have preempted pods of the snapshot
        told, require = decision.steered, decision.require
        forecast = Forecast(snapshot, decision.index, forecast, told, require=require)
        compare(decision, forecast)
        yield decision
        blurred = decision.verdict == REFUSED
        if decision.observed and decision.kind == "evict":
            forecast.commit(decision.observed)


def campaign(
    seeds: Sequence[int], per_cluster: int, folder: Path, creating: float, verbosity: int = 0
) -> tuple[list[Decision], list[str]]:
    """The clusters of these seeds on a control plane of their own, and those that were given up.

    verbosity: of all of kube-scheduler's log, beside its scores.
    """
    # The API server collects garbage for much of its time; there is memory enough.
    os.environ.setdefault("GOGC", "400")
    summary = LandingSummary()
    home = temporary()
    landing_cluster = LandingCluster(home, lambda _: (f"--v={verbosity}",))
    started = time.monotonic()
    try:
        for seed in seeds:
            try:
                for decision in decisions(landing_cluster, [seed], per_cluster, folder, creating):
                    summary.add(decision)
            except (ApiError, TimeoutError) as error:
                summary.broken.append(f"seed {seed}: {error}")
            _progress(summary, seed, time.monotonic() - started)
    finally:
        landing_cluster.stop()
    shutil.rmtree(home, ignore_errors=True)
    return [*summary.decisions, *summary.refused], summary.broken


def _progress(summary: LandingSummary, seed: int, seconds: float) -> None:
    count = len(summary.decisions)
    sys.stderr.write(
        f"seed {seed}: {count} decisions, {60 * count / seconds:.0f} a minute, "
        f"{len(summary.wrong())} wrong, {len(summary.differing())} with a difference\n"
        + "".join(f"given up: {failure}\n" for failure in summary.broken[-1:])
    )
    sys.stderr.flush()
