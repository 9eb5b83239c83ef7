"""The lock, on a stage with virtual time."""

import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.lease import NOTE, Durations, Lease, micro_time
from rescheduler.actions.stored_object import StoredObject
from rescheduler.model.errors import ActionError, LockHeld, LockLost
from tests.fakes.apiserver import Fault, serving
from tests.fakes.stage import LEASES, Killed, Process, Stage

KEY = ("leases", "rescheduler", "rescheduler")


def spec(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = stage.world.objects[KEY]["spec"]
    return found


def test_the_first_one_gets_the_lock_and_makes_what_is_missing() -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    assert a.lease.held
    assert ("namespaces", "", "rescheduler") in stage.world.objects
    assert spec(stage)["holderIdentity"] == "a"
    assert spec(stage)["leaseTransitions"] == 0
    assert re.fullmatch(r"[\d-]+T[\d:]+\.\d{6}Z", spec(stage)["renewTime"])


def test_six_digits_even_where_they_are_zero() -> None:
    assert micro_time(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2026-01-02T03:04:05.000000Z"


def test_a_living_holder_is_noticed_within_two_renewals() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()
    a.lease.start()
    b.before = lambda *_: (a.lease.renew(), None)[1]
    began = stage.seconds
    with pytest.raises(LockHeld, match="held by a"):
        b.lease.acquire()
    assert stage.seconds - began < 11
    assert a.lease.held
    assert not b.lease.held


def test_one_run_waits_out_a_holder_that_died_just_now() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()
    stage.seconds += 1
    b.lease.acquire()
    assert stage.seconds >= 60
    assert not a.lease.held
    assert b.lease.held
    assert spec(stage)["leaseTransitions"] == 1


def test_one_run_does_not_wait_for_a_holder_that_died_long_ago() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()
    stage.seconds += 300
    b.lease.acquire()
    assert stage.seconds < 300 + 16


@pytest.mark.parametrize("wrong", [-7200.0, 7200.0])
def test_a_host_with_a_wrong_clock_steals_nothing(wrong: float) -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b", wall=wrong)
    a.lease.acquire()
    a.lease.start()
    b.before = lambda *_: (a.lease.renew(), None)[1]
    with pytest.raises(LockHeld):
        b.lease.acquire()


def test_a_released_lock_is_free_at_once() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()
    a.lease.release()
    assert not a.lease.held
    assert "holderIdentity" not in spec(stage)
    began = stage.seconds
    b.lease.acquire()
    assert stage.seconds - began < 1
    assert spec(stage)["leaseTransitions"] == 1


@pytest.mark.parametrize("there", [False, True])
def test_a_free_lock_that_nobody_can_write_is_a_fault(
    there: bool,
) -> None:
    """409 for ever, as from a server that restored its store: it is no other instance's doing."""
    stage = Stage()
    if there:
        Process(stage, "a").lease.acquire()
        stage.seconds += 300
    b = Process(stage, "b")

    def conflict(_: int, method: str, path: str) -> int | None:
        if method in ("PUT", "POST") and "/leases" in path:
            return 409
        return None

    b.before = conflict
    began = stage.seconds
    with pytest.raises(ActionError, match="the lock rescheduler/rescheduler could not be written"):
        b.lease.acquire()
    assert stage.seconds - began < 30
    assert not b.lease.held


def test_a_deployment_waits_out_conflicts_and_says_what_it_waits_for() -> None:
    stage = Stage()
    b = Process(stage, "b")

    def conflict(_: int, method: str, path: str) -> int | None:
        if stage.seconds < 100 and method == "POST" and "/leases" in path:
            assert stage.seconds < 1 or "could not be written" in b.lease.problem
            return 409
        return None

    b.before = conflict
    b.lease.acquire(forever=True)
    assert stage.seconds >= 100
    assert b.lease.held
    assert b.lease.problem == ""


def test_a_deployment_waits_until_its_lease_transition() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()

    def while_waiting(_: int, method: str, __: str) -> None:
        if stage.seconds > 500:
            a.lease.release()
        else:
            a.lease.renew()

    b.before = while_waiting
    b.lease.acquire(forever=True)
    assert stage.seconds > 500
    assert b.lease.held


def test_a_deployment_that_is_asked_to_stop_waits_no_longer() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b", stopped="SIGTERM")
    a.lease.acquire()
    with pytest.raises(LockHeld):
        b.lease.acquire(forever=True)


def test_a_paused_holder_stops_before_anybody_can_take_the_lock() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()
    renewed = stage.seconds
    while not b.lease.held:
        stage.seconds += 0.5
        b.lease._attempt()
    assert stage.seconds > renewed + 60 - 0.1
    assert not a.lease.valid_for(0)
    assert not a.lease.renew()
    assert not a.lease.held
    assert spec(stage)["holderIdentity"] == "b"


def test_a_paused_holder_takes_back_no_lock_that_another_one_had() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()
    stage.seconds += 1
    b.lease.acquire()
    b.lease.release()
    assert not a.lease.renew()
    assert not a.lease.held
    assert "holderIdentity" not in spec(stage)


def test_the_lock_counts_from_before_its_request() -> None:
    stage = Stage()
    a = Process(stage, "a")

    slow = "POST"

    def before(_: int, method: str, __: str) -> None:
        stage.seconds += 10 if method == slow else 0

    a.before = before
    a.lease.acquire()
    took = stage.seconds
    assert took >= 10
    assert not a.lease.valid_for(60 - took + 0.01)
    slow = "PUT"
    assert a.lease.renew()
    assert not a.lease.valid_for(60 - 10)


@pytest.mark.parametrize("unchanged", [9.0, 10.5])
def test_a_stale_record_is_taken_only_when_it_has_not_changed_meanwhile(unchanged: float) -> None:
    """Its renewTime is old; but its holder may live, and have a server that is behind."""
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    a.lease.acquire()
    stage.seconds += 300
    assert not b.lease._attempt(), "seen for the first time just now"
    stage.seconds += unchanged
    assert b.lease._attempt() == (unchanged >= 10)
    changed = Process(stage, "c")
    stage.seconds += 300
    assert not changed.lease._attempt()
    stage.seconds += 9
    stored = stage.world.objects[KEY]
    stage.world.put(*KEY, {**stored, "spec": {**stored["spec"], "renewTime": "2026-11-21T11:00Z"}})
    stage.seconds += 9
    assert not changed.lease._attempt(), "it changed in between"


def test_noting_needs_the_lock_and_renews_it() -> None:
    stage = Stage()
    a, b = Process(stage, "a"), Process(stage, "b")
    with pytest.raises(LockLost):
        a.lease.note("1")
    a.lease.acquire()
    stage.seconds += 30
    a.lease.note("1")
    assert a.lease.valid_for(59)
    stage.seconds += 61
    with pytest.raises(LockLost, match="before the state could be noted"):
        a.lease.note("2")
    b.lease.acquire()
    assert b.lease.noted == "1"


def test_noting_never_takes_back_a_lock_that_another_one_has() -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    stored = stage.world.objects[KEY]
    stage.world.put(*KEY, {**stored, "spec": {**stored["spec"], "holderIdentity": "thief"}})
    with pytest.raises(LockLost):
        a.lease.note("1")
    assert not a.lease.held
    assert spec(stage)["holderIdentity"] == "thief"


def test_a_lease_that_is_deleted_while_it_is_ours_keeps_its_note() -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    a.lease.note("17")
    del stage.world.objects[KEY]
    assert a.lease.renew()
    assert stage.world.objects[KEY]["metadata"]["annotations"] == {NOTE: "17"}
    a.lease.release()
    del stage.world.objects[KEY]
    b = Process(stage, "b")
    b.lease.acquire()
    assert b.lease.noted == "", "one that is new remembers nothing"


def test_a_request_must_be_over_before_the_lock_ends() -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    assert a.lease.valid_for(59)
    stage.seconds += 46
    assert a.lease.valid_for(10)
    assert not a.lease.valid_for(15)


def test_after_the_renewal_deadline_it_stops_even_if_the_server_comes_back() -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    a.lease.start()
    a.before = lambda *_: "lost"
    a.sleep(30)
    before = a.lease.held
    a.sleep(25)
    assert (before, a.lease.held) == (True, False)
    a.before = lambda *_: None
    assert not a.lease.renew()


def test_a_renewal_that_finds_another_holder_gives_the_lock_up_at_once() -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    stored = stage.world.objects[KEY]
    stage.world.put(*KEY, {**stored, "spec": {**stored["spec"], "holderIdentity": "thief"}})
    before = a.lease.held
    assert not a.lease.renew()
    assert (before, a.lease.held) == (True, False), "it had not looked before"
    assert spec(stage)["holderIdentity"] == "thief"


def test_a_lost_reply_does_not_lose_the_lock() -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    a.after = lambda number, *_: "lost" if number == first else None
    first = len(a.sent)
    a.lease.renew()
    assert a.lease.renew()
    assert a.lease.held


def test_renewing_keeps_what_others_noted_on_the_lease() -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    assert a.lease.noted == ""
    a.lease.note("17")
    assert a.lease.noted == "17"
    stored = stage.world.objects[KEY]
    stored["metadata"]["labels"] = {"team": "x"}
    stage.world.put(*KEY, stored)
    assert a.lease.renew()
    assert stage.world.objects[KEY]["metadata"]["labels"] == {"team": "x"}
    b = Process(stage, "b")
    a.lease.release()
    b.lease.acquire()
    assert b.lease.noted == "17"


def test_no_right_to_the_lease_is_said_at_once() -> None:
    stage = Stage()
    a = Process(stage, "a", before=lambda *_: 403)
    with pytest.raises(ActionError, match="403") as caught:
        a.lease.acquire(forever=True)
    assert "right to get" in str(caught.value)


def test_killed_while_taking_it() -> None:
    stage = Stage()

    def kill(_: int, method: str, __: str) -> None:
        if method == "POST":
            raise Killed

    a = Process(stage, "a", before=kill)
    with pytest.raises(Killed):
        a.lease.acquire()
    Process(stage, "b").lease.acquire()
    assert spec(stage)["holderIdentity"] == "b"


def test_durations_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="hold > renew"):
        Durations(hold=10, renew=10)


def test_over_http_with_the_real_client_and_its_thread() -> None:
    with serving() as fake:
        clock = ServerClock()
        lease = Lease(
            StoredObject(fake.client(), LEASES, "rescheduler", clock=clock),
            where="rescheduler/rescheduler",
            identity="a",
            now=clock.now,
            durations=Durations(hold=3, renew=2, retry=0.1),
        )
        lease.acquire()
        fake.faults.append(Fault("PUT", LEASES, "drop-after"))
        lease.start()
        deadline = datetime.now(UTC).timestamp() + 5
        while len(fake.sent("PUT", LEASES)) < 4 and datetime.now(UTC).timestamp() < deadline:
            time.sleep(0.02)
        assert lease.held
        lease.release()
        last = fake.sent("PUT", LEASES)[-1]
        assert last is not None
        assert "holderIdentity" not in last["spec"]
        assert abs(clock.skew()) < 2
