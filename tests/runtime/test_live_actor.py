"""The parts that act on a real cluster: one lock and one state, wherever they are started."""

from datetime import timedelta
from typing import Any

import pytest
import structlog
from structlog.testing import CapturingLogger

from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.runtime import live_actor as module
from rescheduler.runtime.live_actor import live_actor, open_state
from tests.fakes.apiserver import serving
from tests.fakes.moves import became, planned
from tests.fakes.stage import Stage


def unused(*_: Any) -> Any:
    raise AssertionError("not asked here")


def test_the_ledger_keeps_moves_as_long_as_the_limits_need_them() -> None:
    with serving() as fake:
        state = open_state(fake.client(), identity="a")
        for days in (5, 3):
            span = timedelta(days=days)
            live_actor(
                fake.client(),
                state,
                observe=unused,
                recheck=unused,
                reread=unused,
                queues=unused,
                workload=unused,
                pods=unused,
                sleep=unused,
                stop=unused,
                policies=policy_set([], Limits(coolDown=span, coolDownCap=span)),
            )
            assert state.ledger.keep == 2 * span


def test_an_eviction_is_logged_and_made_an_event_when_it_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = CapturingLogger()
    logger = structlog.wrap_logger(lines, processors=[], wrapper_class=structlog.BoundLogger)
    monkeypatch.setattr(module, "logger", lambda: logger)
    pod = Stage().world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="web")
    move = planned(pod)
    sentence = "Evicted by policy hot; replacement expected on spare (75 %)."
    with serving() as fake:
        actor = live_actor(
            fake.client(),
            open_state(fake.client(), identity="a"),
            observe=unused,
            recheck=unused,
            reread=unused,
            queues=unused,
            workload=unused,
            pods=unused,
            sleep=unused,
            stop=unused,
            policies=policy_set([]),
        )
        actor.announce(move, became(move), "abc123")
        actor.announce(move, became(move, landedOn="spare", readySeconds=3.0), "abc123")
        notes = [body["note"] for body in fake.sent("POST", "/events") if body is not None]
    eviction, replacement = lines.calls
    assert (eviction.method_name, eviction.kwargs["event"]) == ("info", "eviction")
    assert eviction.kwargs["message"] == sentence
    assert eviction.kwargs["pod"] == "default/web-1"
    assert eviction.kwargs["plan"] == "abc123"
    assert replacement.kwargs["event"] == "replacement"
    assert len(notes) == 4
    assert all(note.startswith(sentence) for note in notes[:2])
    assert all(note.startswith(replacement.kwargs["message"]) for note in notes[2:])


def test_two_that_are_started_apart_meet_at_one_lock_and_one_state() -> None:
    with serving() as fake:
        one = open_state(fake.client(), identity="a Deployment")
        one.lease.acquire()
        one.ledger.open()
        other = open_state(fake.client(), identity="a laptop", wait=lambda _: True)
        assert other.lease._attempt() is False
        assert other.lease.holder() == "a Deployment"
        one.lease.release()
        other.lease.acquire()
        other.ledger.open()
        assert other.ledger.fence == one.ledger.fence + 1
        kinds = {kind for kind, namespace, _ in fake.world.objects if namespace == "rescheduler"}
        assert kinds == {"leases", "configmaps"}
