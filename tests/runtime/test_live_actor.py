"""The parts that act on a real cluster: one lock and one state, wherever they are started."""

from datetime import timedelta
from typing import Any

from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.runtime.live_actor import live_actor, open_state
from tests.fakes.apiserver import serving


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
