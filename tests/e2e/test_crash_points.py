"""Killed right before or after a write, it evicts nothing twice and forgets no budget.

`make crash-points` does the same for every write of a run.
"""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.crashing import ONCE, SERVICE, Crashes, Point, end, intents, state
from tests.e2e.loop import install
from tests.e2e.program import Program
from tests.e2e.stopping import stop_and_continue

pytestmark = pytest.mark.e2e

# Write by write: the lock 1; the fence 1, noted on lock 2; then each move: its intent 2, noted on
# lock 3, the eviction, its events, the answer 3, noted on lock 4, where it landed 4. In the first
# run what policies select is written and noted before the first intent.
# Those that leave an intent that was not carried out come first: it is closed two minutes later.
POINTS = (
    (Point("state", 2, "after"), ONCE),
    (Point("eviction", 1, "before"), ONCE),
    (Point("lease", 3, "after"), SERVICE),
    (Point("eviction", 1, "before"), SERVICE),
    (Point("lease", 1, "before"), ONCE),
    (Point("lease", 1, "after"), ONCE),
    (Point("state", 1, "before"), ONCE),
    (Point("state", 1, "after"), SERVICE),
    (Point("state", 2, "before"), ONCE),
    (Point("eviction", 1, "after"), ONCE),
    (Point("eviction", 2, "after"), SERVICE),
    (Point("event", 1, "before"), ONCE),
    (Point("state", 3, "after"), ONCE),
    (Point("lease", 11, "before"), ONCE),
)


def test_a_kill_around_any_write_repeats_and_forgets_nothing(crashes: Crashes) -> None:
    missed = [(point, mode) for point, mode in POINTS if not crashes.crash(point, mode)]
    assert any("before" in str(point) for point in crashes.reached)
    assert intents(crashes.cluster), "no intent was ever left open: the points are not where meant"
    crashes.recover()
    if missed:
        # A write late in a run is not reached where a workload is left alone for an open intent.
        crashes.tilt()
        missed = [crash_point for crash_point in missed if not crashes.crash(*crash_point)]
        crashes.recover()
    assert not missed, f"never reached: {[str(point) for point, _ in missed]}"
    assert len(crashes.evictions()) >= 6

    unbound = Program(crashes.program.binary)
    trail = unbound.run("history", "--audit-trail", crashes.folder / crashes.trail)
    assert trail.code == 0, trail.stderr


@pytest.mark.parametrize("mode", [ONCE, SERVICE], ids=["once", "service"])
def test_a_state_that_went_back_stops_it(
    crashes: Crashes, mode: Sequence[str], tmp_path: Path
) -> None:
    crashes.calm()
    api = crashes.cluster.api
    older = {key: state(crashes.cluster)[key] for key in ("data", "binaryData")}
    crashes.calm()
    newest = {key: state(crashes.cluster)[key] for key in ("data", "binaryData")}
    done = len(crashes.evictions())

    for what, damage in (
        ("older than it was", lambda: api.patch(state(crashes.cluster), older)),
        (
            "holds no state",
            lambda: install(crashes.cluster, "enforce-cronjob", tmp_path, first=True),
        ),
    ):
        damage()
        crashes.between.forget()
        log = tmp_path / f"{what}.log"
        process = crashes.start(mode, log)
        try:
            crashes.cluster.until(partial(_says, log, what), what, 60)
            if mode == SERVICE:
                time.sleep(3)  # cycles that follow
                assert process.poll() is None, _said(log)
                process.terminate()
            assert process.wait(60) == (0 if mode == SERVICE else 1), _said(log)
        finally:
            end(process)
        assert len(crashes.evictions()) == done, f"{what}: it evicted all the same"

    api.patch(state(crashes.cluster), newest)
    crashes.calm()
    assert len(crashes.evictions()) > done
    crashes.judge("after the newest state was restored")


def test_stopped_for_longer_than_its_lock_it_evicts_nothing_more(
    crashes: Crashes, actor: Program, tmp_path: Path
) -> None:
    """`make crash-points` does the same with the service."""
    first = stop_and_continue(crashes, actor, ONCE, tmp_path / "first.log")
    assert first.continued == []
    assert first.code not in (0, 3), first.said


def _says(log: Path, what: str) -> bool:
    return what in _said(log)


def _said(log: Path) -> str:
    return log.read_text(encoding="utf-8")
