"""A gang that Kueue runs and that a calm cycle stops, with a fault at every single call in between.

    python -m tests.simulation.gangs --step 4

The suite has a part of it.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator

from tests.simulation.crash_points import At, play_all
from tests.simulation.kueue import Kueue
from tests.simulation.loads import constant
from tests.simulation.objects import is_ready, leaving
from tests.simulation.policies import POLICIES, with_kueue
from tests.simulation.scenario import Run, recovered, simulated

GANG = "train"
_SIZE = 2


def hot(seed: int = 5, sees: float = 2.0) -> tuple[Run, Kueue]:
    """Both pods of a gang make one node hot, and there is room elsewhere.

    sees: seconds until Kueue sees that a Workload was deleted.
    """
    run = Run(seed, Counter(), text=with_kueue(POLICIES))
    kueue = run.with_kueue(random.Random(seed))
    kueue.sees, kueue.queues, kueue.admits = sees, 0.2, 0.2
    for number in range(5):
        run.cluster.add_node(f"n{number}", zone="ab"[number % 2])
    kueue.add(GANG, ["n0"] * _SIZE, "team", cpu=0.25)
    run.cluster.add_workload("Deployment", "web", ["n0", "n0", "n1"], cpu=0.25)
    run.metrics.loads = {GANG: constant(1.4), "web": constant(0.1)}
    run.metrics.begin()
    run.warm()
    return run, kueue


def running(run: Run) -> list[str]:
    """The nodes of its Ready pods."""
    pods = [p for p in run.cluster.of("pods") if p["metadata"]["labels"]["app"] == GANG]
    return [p["spec"]["nodeName"] for p in pods if is_ready(p) and not leaving(p)]


def play(number: int, fault: str) -> tuple[Run, At]:
    """The fault at that call of the first cycle, then another one, and one after all faults."""
    run, _ = hot(sees=20.0 if number % 2 else 400.0)
    weather = At(number, fault)
    process = run.process()
    process.weather = weather
    process.run()
    run.cluster.timeline.advance(1.0 if number % 2 else 150.0)
    run.process().run()
    recovered(run)
    return run, weather


def wrong(run: Run) -> Iterator[str]:
    """What is not as it should be in the end."""
    yield from run.ground.broken
    if len(running(run)) != _SIZE:
        yield f"the gang runs on {running(run)}"
    if len(run.ground.stops) > 1:
        yield f"it was stopped {len(run.ground.stops)} times"
    state = run.universe.state()
    left = [] if state is None else [m.pod for m in state.history.moves if m.state == "intended"]
    if state is None or left:
        yield f"intents that nobody closed: {left}"


def calls_of_a_cycle() -> int:
    """How many calls a cycle makes that stops the gang and sees it come back."""
    run, _ = hot()
    weather = At(-1, "")
    process = run.process()
    process.weather = weather
    process.run()
    assert len(run.ground.stops) == 1, "nothing was stopped"
    assert not list(wrong(run)), list(wrong(run))
    return weather.calls


def broken(fault: str, first: int = 0, step: int = 1) -> Iterator[str]:
    """What is wrong after this fault at each call from the first on, in steps."""
    with simulated():
        for number in range(first, calls_of_a_cycle(), step):
            run, weather = play(number, fault)
            where = f"{fault} at call {number} ({weather.path})"
            yield from (f"{where}: {violation}" for violation in wrong(run))


if __name__ == "__main__":
    sys.exit(play_all("crash points of gangs", broken))
