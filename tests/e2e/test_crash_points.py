"""Killed right before or after a write, it evicts nothing twice and forgets no budget.

`make crash-points` does the same for every write of a run.
"""

import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.between import Effect, When
from tests.e2e.crashing import ONCE, SERVICE, Crashes, Point, intents, state, unpacked
from tests.e2e.loop import install
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

# Write by write: the lock 1; the fence 1, noted on lock 2; then each move: its intent 2, noted on
# lock 3, the eviction, its events, the answer 3, noted on lock 4, where it landed 4.
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
    missed = [str(point) for point, mode in POINTS if not crashes.crash(point, mode)]
    assert not missed, f"never reached: {missed}"
    assert any("before" in str(point) for point in crashes.reached)
    assert intents(crashes.cluster), "no intent was ever left open: the points are not where meant"
    crashes.recover()
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
            crashes.cluster.until(lambda log=log, what=what: what in _said(log), what, 60)
            if mode == SERVICE:
                time.sleep(3)  # cycles that follow
                assert process.poll() is None, _said(log)
                process.terminate()
            assert process.wait(60) == (0 if mode == SERVICE else 1), _said(log)
        finally:
            _end(process)
        assert len(crashes.evictions()) == done, f"{what}: it evicted all the same"

    api.patch(state(crashes.cluster), newest)
    crashes.calm()
    assert len(crashes.evictions()) > done
    crashes.judge("after the newest state was restored")


@pytest.mark.parametrize("mode", [ONCE, SERVICE], ids=["once", "service"])
def test_stopped_for_longer_than_its_lock_it_evicts_nothing_more(
    crashes: Crashes, actor: Program, mode: Sequence[str], tmp_path: Path
) -> None:
    """It is held still with its intent written; another takes over meanwhile."""
    stopped: list[subprocess.Popen[bytes]] = []

    def hold(effect: Effect, when: When) -> None:
        intended = Effect("state", 2) in crashes.between.effects
        if effect.kind == "lease" and when == "after" and intended and not stopped:
            first.send_signal(signal.SIGSTOP)
            stopped.append(first)

    crashes.between.forget(hold)
    first = crashes.start(mode, tmp_path / "first.log")
    try:
        crashes.cluster.until(lambda: bool(stopped), "the intent", 60)
        held = {move["podUid"] for move in intents(crashes.cluster)}
        assert len(held) == 1
        second = replace(crashes, program=actor, trail="second.jsonl")
        follower = second.start(ONCE, tmp_path / "second.log")
        try:
            # The lock is free 65 s after its last renewal.
            assert follower.wait(150) == 0, _said(tmp_path / "second.log")
        finally:
            _end(follower)
        done = len(crashes.evictions())
        assert done, "the second has not acted"
        fence = unpacked(state(crashes.cluster))

        crashes.between.forget()
        first.send_signal(signal.SIGCONT)
        crashes.cluster.until(
            lambda: "lock" in _said(tmp_path / "first.log"), "what it says of its lock", 60
        )
        if mode == ONCE:
            assert first.wait(60) not in (0, 3), _said(tmp_path / "first.log")
            assert len(crashes.evictions()) == done
            assert unpacked(state(crashes.cluster)) == fence, "it wrote after it had lost the lock"
        else:
            first.terminate()
            first.wait(60)
            assert Effect("eviction", 1) not in crashes.between.effects or _reacquired(crashes)
    finally:
        _end(first)
    crashes.judge("the first was continued")


def _reacquired(crashes: Crashes) -> bool:
    """Whether the lock was written before the first eviction since `forget`: as a new holder."""
    effects = crashes.between.effects
    fence = effects.index(Effect("state", 1))
    return effects.index(Effect("lease", 1)) < fence < effects.index(Effect("eviction", 1))


def _said(log: Path) -> str:
    return log.read_text(encoding="utf-8")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
