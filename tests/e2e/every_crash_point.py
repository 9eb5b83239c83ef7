"""Killed around every single write of a run, in both modes: `make crash-points`, an hour.

Not collected with the suite: its name does not begin with `test_`.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.between import When
from tests.e2e.crashing import ONCE, SERVICE, Crashes, Point
from tests.e2e.full_cluster import fill, repair, whole
from tests.e2e.loop import budgets_watched
from tests.e2e.program import Program
from tests.e2e.stopping import stop_and_continue

pytestmark = pytest.mark.e2e

WHENS: tuple[When, When] = ("before", "after")


@pytest.mark.parametrize("mode", [ONCE, SERVICE], ids=["once", "service"])
def test_a_kill_around_every_write_repeats_and_forgets_nothing(
    crashes: Crashes, mode: Sequence[str]
) -> None:
    writes = crashes.calm()
    assert {write.kind for write in writes} == {"lease", "state", "eviction", "event"}
    for number, effect in enumerate(writes):
        crashes.crash(Point(effect.kind, effect.nth, "before"), mode)
        crashes.crash(Point(effect.kind, effect.nth, "after"), mode)
        if number % 8 == 7:
            crashes.recover()
            crashes.tilt()
    crashes.recover()
    # A write late in a run is not reached where a workload is left alone for an open intent.
    assert len(crashes.reached) >= 1.6 * len(writes)


def test_a_service_that_was_stopped_evicts_nothing_more_in_its_cycle(
    crashes: Crashes, actor: Program, tmp_path: Path
) -> None:
    first = stop_and_continue(crashes, actor, SERVICE, tmp_path / "first.log")
    assert "eviction" not in {effect.kind for effect in first.continued}
    assert '"verdict": "good"' not in first.said


def test_a_kill_around_every_write_of_a_chain_ends_well(chained: Crashes) -> None:
    writes = chained.calm()
    repair(chained)
    whole(chained)
    missed = []
    points = [Point(write.kind, write.nth, when) for write in writes for when in WHENS]
    for full, point in enumerate(points, start=2):
        fill(chained.cluster)
        with budgets_watched(chained.cluster) as breaches:
            if not chained.crash(point):
                missed.append(str(point))
            repair(chained)
            whole(chained, evicted=4 * full)
        assert not breaches(), str(point)
    # The last writes of a run differ with what its replacements do meanwhile.
    assert len(missed) <= 0.1 * len(points), f"never reached: {missed}"
