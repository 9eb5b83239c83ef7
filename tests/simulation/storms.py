"""Storms: seeded runs of cycles under random faults and churn, some with gangs that Kueue runs."""

import random
from collections import Counter
from collections.abc import Callable

import msgspec

from tests.simulation.hiding import Hiding, count_unread
from tests.simulation.objects import STATE
from tests.simulation.policies import POLICIES, SPREAD, TAINTED, with_kueue
from tests.simulation.process import Process
from tests.simulation.scenario import PERIOD, Run, recovered
from tests.simulation.tainting import favor_the_first, tainted
from tests.simulation.weather import Meddling, Storm

KUEUE_SHARE = 1 / 8
"""In so many of them Kueue runs gangs; the others are as if there was no Kueue."""
TAINTED_SHARE = 1 / 5
"""In so many of the others replacements are steered by soft taints."""

HIDING_SHARE = 1 / 10
"""In so many of all, pods cannot be read any more once their evictions got no answer."""


def storm(seed: int, reached: Counter[str], cycles: int = 8, policies: str = POLICIES) -> Run:
    """Cycles under random faults and churn, then calm ones, all held against the invariants."""
    chance = random.Random(seed ^ 0x5EED)
    run = _begun(seed, reached, policies, chance)
    universe, cluster = run.universe, run.cluster
    rate = chance.choice([0.0, 0.01, 0.015, 0.02])
    hidden = random.Random(f"hidden {seed}")
    hiding = hidden.random() < HIDING_SHARE
    lasting: Process | None = None
    for _ in range(cycles):
        if chance.random() < 0.6:
            run.churn()
        else:
            run.mend()
        if universe.kueue is not None:
            run.stir(universe.kueue)
        if lasting is None or lasting.dead or chance.random() < 0.5:
            audit = chance.random() < 0.08
            offset = chance.choice([0.0] * 16 + [5.0, -20.0, 3600.0, -3600.0])
            lasting = run.process("Audit" if audit else "Enforce", offset=offset)
            lasting.lasting = chance.random() < 0.5
        weather = Hiding(Storm(chance, rate), hidden) if hiding else Storm(chance, rate)
        lasting.weather = weather if universe.kueue is None else Meddling(weather, universe.kueue)
        if chance.random() < 0.05:
            other = run.process()
            cluster.timeline.after(chance.uniform(0.1, 3.0), _started(lasting, other))
        lasting.run()
        reached["a taint outlived its cycle"] += bool(tainted(universe))
        if run.saved is None and STATE in cluster.objects:
            run.saved = msgspec.json.encode(cluster.objects[STATE])
        if not lasting.lasting or lasting.stop.reason():
            lasting = None
        cluster.timeline.advance(chance.choice([5.0, 60.0, PERIOD, PERIOD, 900.0]))
    if hiding:
        count_unread(universe, reached)
    recovered(run)
    return run


def _begun(seed: int, reached: Counter[str], policies: str, chance: random.Random) -> Run:
    """A cluster with its scheduler, its delays and its loads."""
    text = policies + (SPREAD if chance.random() < 0.4 else "")
    queued = random.Random(f"kueue {seed}")
    with_gangs = queued.random() < KUEUE_SHARE
    tainting = random.Random(seed ^ 0x7A2).random() < TAINTED_SHARE and not with_gangs
    text = text.replace(*TAINTED) if tainting else text
    run = Run(seed, reached, text=with_kueue(text) if with_gangs else text)
    if with_gangs:
        run.with_kueue(queued)
    run.populate()
    if tainting:
        favor_the_first(run.universe, run.ground)
    run.choose_scheduler()
    if chance.random() < 0.8 or with_gangs:
        run.warm()
    cluster = run.cluster
    run.universe.servers = chance.choice([[0.0], [0.0], [0.0, 2.0], [-8.0, 0.0, 8.0]])
    cluster.starting = chance.choice([2.0, 4.0, 4.0, 30.0, 90.0])
    cluster.grace = chance.choice([1.0, 3.0, 30.0])
    if chance.random() < 0.15:
        cluster.sound = lambda _: chance.random() < 0.5
    return run


def _started(first: Process, other: Process) -> Callable[[], None]:
    def start() -> None:
        if first.cycle is not None and not first.busy and not other.dead:
            first.apart(other.run)

    return start
