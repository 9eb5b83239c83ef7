"""Holds the program still for longer than its lock lasts, and lets it go on beside a successor."""

import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.e2e.between import Effect, When
from tests.e2e.controlplane.processes import hold
from tests.e2e.crashing import ONCE, Crashes, end, intents, state, unpacked
from tests.e2e.program import Program


@dataclass(frozen=True)
class Continued:
    """What the first did once it was let go on, until its cycle had ended."""

    continued: list[Effect]
    """Its writes."""
    code: int | None
    """How it ended; None: it still ran, and was ended then."""
    said: str


def stop_and_continue(
    crashes: Crashes, actor: Program, mode: Sequence[str], log: Path
) -> Continued:
    """Stop it right after its intent was noted, and go on once another has taken over and acted."""
    cluster = crashes.cluster
    stopped: list[subprocess.Popen[bytes]] = []

    def hold_once_noted(effect: Effect, when: When) -> None:
        # The first state of a run has no intent yet, and what policies select may follow it.
        written = Effect("state", 2) in crashes.between.effects
        noted = effect.kind == "lease" and when == "after" and written and not stopped
        if noted and intents(cluster):
            hold(first)
            stopped.append(first)

    crashes.between.forget(hold_once_noted)
    first = crashes.start(mode, log)
    try:
        cluster.until(lambda: bool(stopped), "the intent", 60)
        assert len(intents(cluster)) == 1
        assert not crashes.evictions()
        second = replace(crashes, program=actor, trail="second.jsonl")
        other = log.with_suffix(".second")
        follower = second.start(ONCE, other)
        try:
            # The lock is free 65 s after its last renewal.
            assert follower.wait(150) == 0, other.read_text(encoding="utf-8")
        finally:
            end(follower)
        done = len(crashes.evictions())
        assert done, "the second has not acted"
        kept = unpacked(state(cluster))

        crashes.between.forget()
        first.send_signal(signal.SIGCONT)
        cluster.until(lambda: first.poll() is not None or _cycled(log), "its cycle's end", 60)
        continued, code = list(crashes.between.effects), first.poll()
        if not continued:
            assert unpacked(state(cluster)) == kept
        assert len(crashes.evictions()) == done + sum(e.kind == "eviction" for e in continued)
    finally:
        end(first)
    crashes.judge("the first was continued")
    return Continued(continued, code, log.read_text(encoding="utf-8"))


def _cycled(log: Path) -> bool:
    return '"cycle ends"' in log.read_text(encoding="utf-8")
