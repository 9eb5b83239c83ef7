"""A full cluster that only swaps and chains repair, with a fault at every single call in between.

    python -m tests.simulation.chains --step 4

The suite has a part of it.
"""

import sys
from collections import Counter
from collections.abc import Iterator

from rescheduler.actions.steering.steering_format import read
from tests.fakes.steering import TABLE_KEY
from tests.simulation.crash_points import At, play_all
from tests.simulation.objects import is_ready
from tests.simulation.scenario import PERIOD, Run, simulated

POLICIES = """
apiVersion: rescheduler.io/v1alpha1
kind: Limits
metadata: {name: default}
spec:
  movesPerHour: 20
  movesPerCycle: 4
  movesPerWorkload: 4
  batchSize: 1
  coolDown: 1m
  coolDownCap: 2h
  readyTimeout: 60s
  minPodAge: 2m
  minReadyTime: 20s
  steering: {by: AdmissionPolicy, strength: Require}
---
apiVersion: rescheduler.io/v1alpha1
kind: Conformity
metadata: {name: rules}
spec:
  mode: Enforce
  match: {all: true}
  nodeAffinity: {required: true}
"""
FAST = {"fast1", "fast2"}
NEEDED = 4
"""Evictions: two pods leave nodes with an SSD, and two that want one come."""
_MOST_CYCLES = 8
_SEED = 5


def full(seed: int = _SEED) -> Run:
    """As `tests/e2e/full_cluster.py`: no node has room for a pod that is where it must not be."""
    run = Run(seed, Counter(), text=POLICIES)
    cluster = run.cluster
    cluster.steers = True
    cluster.put(*TABLE_KEY, {"data": {}})
    for number, (name, cpu) in enumerate(
        {"slow1": 4.0, "slow2": 7.0, "fast1": 4.0, "fast2": 4.0, "hub1": 4.0}.items()
    ):
        node = cluster.add_node(name, zone="ab"[number % 2], cpu=cpu)
        node["metadata"]["labels"]["disk"] = "ssd" if name in FAST else "none"
    for app, cpu, where in (
        ("ssd", 4.0, ["slow1", "slow2"]),
        ("hdd", 3.0, ["fast1", "fast2"]),
        ("web", 0.5, ["hub1", "hub1"]),
    ):
        wants = {"disk": "ssd"} if app == "ssd" else None
        labels = {"pod-template-hash": "1"}
        cluster.add_workload("Deployment", app, where, cpu=cpu, labels=labels, selector=wants)
        cluster.add_pdb(app)
    run.metrics.begin()
    run.warm()
    return run


def play(number: int, fault: str, calm: int = 0) -> tuple[Run, At]:
    """The fault at that call of the cycle after so many calm ones; then others until it is whole.

    The first cycle makes a chain of two moves, and the second one the other: the budgets of the
    workloads allow no more at a time.
    """
    run = full()
    for _ in range(calm):
        run.process().run()
        run.cluster.timeline.advance(PERIOD)
    weather = At(number, fault)
    process = run.process()
    process.weather = weather
    process.run()
    run.cluster.timeline.advance(1.0 if number % 2 else 150.0)
    for _ in range(_MOST_CYCLES):
        run.process().run()
        run.cluster.timeline.advance(PERIOD)
        if repaired(run):
            break
    # Anybody who comes last finds nothing to do, and leaves nothing.
    run.process().run()
    return run, weather


def placed(run: Run, app: str) -> list[str]:
    """The nodes of an app's Ready pods."""
    pods = [p for p in run.cluster.of("pods") if p["metadata"]["labels"]["app"] == app]
    return sorted(str(pod["spec"].get("nodeName")) for pod in pods if is_ready(pod))


def repaired(run: Run) -> bool:
    """Whether all that want an SSD are where one is."""
    return placed(run, "ssd") == sorted(FAST)


def wrong(run: Run) -> Iterator[str]:
    """What is not as it should be in the end."""
    yield from run.ground.broken
    uids = [eviction.uid for eviction in run.ground.evicted]
    if len(set(uids)) < len(uids) or len(uids) != NEEDED:
        yield f"evicted {uids}, and {NEEDED}, each once, are right"
    if not repaired(run):
        yield f"not repaired: ssd on {placed(run, 'ssd')}, hdd on {placed(run, 'hdd')}"
    pending = [p["metadata"]["name"] for p in run.cluster.of("pods") if not is_ready(p)]
    if pending:
        yield f"not Ready in the end: {pending}"
    entries, broken = read(run.cluster.objects[TABLE_KEY].get("data") or {})
    if entries or broken:
        yield f"left in the table: {entries} {broken}"
    state = run.universe.state()
    left = [] if state is None else [m.pod for m in state.history.moves if m.state == "intended"]
    if state is None or left:
        yield f"intents that nobody closed: {left}"


def calls_of_a_cycle(calm: int) -> int:
    """How many calls the cycle after so many calm ones makes where nothing goes wrong."""
    run, weather = play(-1, "killed", calm)
    assert not list(wrong(run)), list(wrong(run))
    assert sorted(Counter(eviction.process.name for eviction in run.ground.evicted).values()) == [
        2,
        2,
    ]
    return weather.calls


def broken(fault: str, first: int = 0, step: int = 1) -> Iterator[str]:
    """What is wrong after this fault at each call of either cycle from the first on, in steps."""
    with simulated():
        for calm in (0, 1):
            for number in range(first, calls_of_a_cycle(calm), step):
                run, weather = play(number, fault, calm)
                where = f"{fault} at call {number} of cycle {calm + 1} ({weather.path})"
                yield from (f"{where}: {violation}" for violation in wrong(run))


if __name__ == "__main__":
    sys.exit(play_all("crash points of chains", broken))
