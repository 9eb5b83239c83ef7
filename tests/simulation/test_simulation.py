"""Whole cycles of the real program under seeded faults, held against I01-I37 by the server's log.

Everything is real down to the HTTP request: settings, sources, planner, guards, re-check, lease,
ledger, acting. `make storms` plays more of the same, `make soak` much more.
"""

from collections import Counter

import pytest

from rescheduler.model.moves.plan import Outcome, plan_in
from tests.simulation.invariants import ELSEWHERE, ON_END, ON_REQUEST
from tests.simulation.invariants_of_evictions import ON_EVICTION
from tests.simulation.matrix import sure
from tests.simulation.reach import too_seldom
from tests.simulation.scenario import simulated
from tests.simulation.storms import storm

CYCLES = 1_850
"""Fewer may meet no rare fault. `.ci/run` plays 13,700 others, by `make storms`."""


@pytest.mark.long
def test_whatever_goes_wrong_no_promise_is_broken() -> None:
    reached: Counter[str] = Counter()
    broken: list[str] = []
    seed = 0
    with simulated():
        while reached["cycles"] < CYCLES:
            run = storm(seed, reached)
            broken += [f"seed {seed}: {violation}" for violation in run.ground.broken]
            seed += 1
    assert not broken, "\n".join(broken[:40])
    assert too_seldom(reached) == [], reached


def test_a_seed_replays_a_run() -> None:
    with simulated():
        first, again = (storm(11, Counter()) for _ in range(2))
    assert first.universe.digest() == again.universe.digest()
    assert len(first.universe.log) > 200


def test_audit_and_enforce_make_the_same_plan() -> None:
    with simulated():
        run = sure(3, Counter(), nodes=5)
        audit = run.process("Audit").run().report
        enforce = run.process().run().report
    assert audit is not None
    assert isinstance(enforce, Outcome)
    made, carried_out = plan_in(audit).moves, enforce.plan.moves
    assert [(m.pod, m.source, m.landing) for m in made] == [
        (m.pod, m.source, m.landing) for m in carried_out
    ]
    assert len(made) > 0
    assert run.ground.broken == []


def test_every_promise_is_checked_or_said_where() -> None:
    checked = {check.__name__[:3].upper() for check in (*ON_EVICTION, *ON_REQUEST, *ON_END)}
    assert checked | set(ELSEWHERE) == {f"I{number:02}" for number in range(1, 38)}
