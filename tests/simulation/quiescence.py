"""Does it come to rest? Days of virtual time under loads that are constant, or only seem to change.

python -m tests.simulation.quiescence --days 30
"""

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tests.simulation.loads import constant
from tests.simulation.metrics import LIES
from tests.simulation.scenario import Run, simulated

DAY = 86_400.0
POLICIES = """
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: hot}
spec:
  mode: Enforce
  match: {all: true}
  nodes: {all: true}
  targets: {cpu: {high: 70%, low: 60%}}
"""
"""As an operator would begin: with the default limits."""

Load = Callable[[float], float]


@dataclass(frozen=True)
class Rest:
    """What came of a story. early: moves in its first six hours; late: all after them.

    per_workload: most moves of one workload in a day. peak: the greatest true load in the end.
    """

    story: str
    days: float
    cycles: int
    early: int
    late: int
    per_workload: int
    peak: float
    broken: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.story:12} {self.days:4.0f} days, {self.cycles:5} cycles: {self.early} moves in "
            f"the first six hours, {self.late} after them, at most {self.per_workload} of one "
            f"workload in a day; the hottest node ends at {self.peak:.0%}"
        )


def _oscillating(base: float, period: float, phase: float) -> Load:
    return lambda seconds: base * (1 + 0.9 * math.sin(math.tau * (seconds / period + phase)))


def _spiking(base: float, every: float, start: float) -> Load:
    return lambda seconds: 2.5 if (seconds - start) % every < 30 else base


def build(story: str, seed: int) -> Run:
    """Eight nodes and five workloads; one node is hot in the beginning, or seems so."""
    run = Run(seed, Counter(), text=POLICIES)
    chance = random.Random(seed)
    names = [f"n{number}" for number in range(8)]
    for number, name in enumerate(names):
        run.cluster.add_node(name, zone="ab"[number % 2])
    for number in range(5):
        app = f"app{number}"
        kind = chance.choice(["Deployment", "Deployment", "StatefulSet"])
        where = [names[0 if number < 4 else 7], names[1 + number], names[1 + (number + 3) % 7]]
        run.cluster.add_workload(kind, app, where, cpu=0.5)
        base = chance.uniform(0.7, 0.9) if story == "constant" else chance.uniform(0.25, 0.35)
        match story:
            case "oscillating":
                period, phase = chance.choice([240.0, 900.0, 7200.0]), chance.random()
                run.metrics.loads[app] = _oscillating(2 * base, period, phase)
            case "spiking":
                run.metrics.loads[app] = _spiking(base, 1800.0, chance.uniform(0, 1800))
            case _:
                run.metrics.loads[app] = constant(base)
    run.cluster.pick = run.as_predicted
    run.metrics.begin()
    return run


def watch(story: str, days: float, period: float = 300.0, seed: int = 1) -> Rest:
    """Play a story; a cycle every `period` seconds."""
    with simulated():
        run = build(story, seed)
        chance = random.Random(seed)
        timeline = run.cluster.timeline
        _sample(run, 30.0 if story != "constant" else 300.0)
        cycles = 0
        while timeline.seconds < days * DAY:
            if story == "lying":
                for name in run.metrics.exporters:
                    run.metrics.set_exporter(name, chance.choice(["well", "well", *LIES]))
            timeline.advance(period)
            run.process().run()
            run.universe.log.clear()
            cycles += 1
        moves = run.ground.evicted
        days_of = Counter((move.workload, int(move.at // DAY)) for move in moves)
        return Rest(
            story=story,
            days=days,
            cycles=cycles,
            early=sum(move.at < DAY / 4 for move in moves),
            late=sum(move.at >= DAY / 4 for move in moves),
            per_workload=max(days_of.values(), default=0),
            peak=max(map(run.metrics.true_load, run.metrics.exporters)),
            broken=tuple(run.ground.broken),
        )


def _sample(run: Run, every: float) -> None:
    """Loads change between cycles too: sample them as an exporter does."""

    def scrape() -> None:
        run.metrics.scrape()
        run.cluster.timeline.after(every, scrape)

    scrape()


BOUNDS = {"constant": 0, "spiking": 0, "lying": 0, "oscillating": 4}
"""By story, how many moves a day there may be once six hours have passed."""


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Play all stories and print their figures; 1 where one does not come to rest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=float, default=30.0)
    given = parser.parse_args()
    bad = 0
    with ProcessPoolExecutor() as pool:
        for rest in pool.map(watch, BOUNDS, [given.days] * len(BOUNDS)):
            _say(rest)
            if rest.late > BOUNDS[rest.story] * rest.days or rest.broken:
                bad = 1
                _say(f"  does not come to rest, or breaks: {rest.broken[:3]}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
