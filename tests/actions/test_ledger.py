"""The durable state, on a stage and over HTTP."""

import base64
import gzip
import hashlib
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.stored_object import StoredObject
from rescheduler.model.errors import ActionError, LedgerFull, LedgerUnreadable, LockLost
from rescheduler.model.moves.calibration import LandingRecord
from rescheduler.model.moves.history import History
from rescheduler.model.moves.retention import INTENT_BYTES
from tests.actions.state import (
    KEY,
    begun,
    packed,
    past,
    stored_state,
)
from tests.cases import every
from tests.fakes.apiserver import Fault, serving
from tests.fakes.stage import LEASES, MAPS, START, Process, Stage


def test_the_first_run_makes_the_state_and_remembers_that_it_did() -> None:
    stage = Stage()
    a = begun(stage)
    assert a.ledger.fence == 1
    assert a.lease.noted
    assert stage.world.objects[KEY]["data"]["paused"] == "false"


def test_what_is_written_is_read_by_the_next_run_under_a_higher_fence() -> None:
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History([past("u1", state="evicted", landing={"n2": 0.5})]))
    a.lease.release()
    b = Process(stage, "b")
    b.lease.acquire()
    history = b.ledger.open()
    assert [move.podUid for move in history.moves] == ["u1"]
    assert history.moves[0].landing == {"n2": 0.5}
    assert b.ledger.fence == 2
    assert b.ledger.peek() == history


def test_a_late_writer_is_stopped_by_the_fence() -> None:
    stage = Stage()
    a = begun(stage)
    stage.seconds += 100
    begun(stage, "b")
    with pytest.raises(LockLost, match="fence 2, ours is 1"):
        a.ledger.write(History([past("u1")]))
    with pytest.raises(LockLost, match="fence 2, ours is 1"):
        a.ledger.load()


def test_pausing_by_hand_is_seen_at_the_next_write_and_kept() -> None:
    stage = Stage()
    a = begun(stage)
    stored = stage.world.objects[KEY]
    stage.world.put(*KEY, {**stored, "data": {**stored["data"], "paused": "true"}})
    before = a.ledger.paused
    a.ledger.write(History([past("u1")]))
    assert (before, a.ledger.paused) == (False, True)
    assert stage.world.objects[KEY]["data"]["paused"] == "true"
    assert [move.podUid for move in a.ledger.load().moves] == ["u1"]


@every([("true", True), ("True", True), ("yes", True), ("", True), ("false", False)])
def test_only_an_explicit_false_lets_evictions_through(value: str, paused: bool) -> None:
    stage = Stage()
    a = begun(stage)
    stored = stage.world.objects[KEY]
    stage.world.put(*KEY, {**stored, "data": {**stored["data"], "paused": value}})
    a.ledger.load()
    assert a.ledger.paused == paused


def test_a_lost_reply_is_found_to_have_been_stored() -> None:
    stage = Stage()
    a = begun(stage)
    first = len(a.sent)
    a.after = lambda number, *_: "lost" if number == first else None
    a.ledger.write(History([past("u1")]))
    assert [move.podUid for move in a.ledger.peek().moves] == ["u1"]


def test_a_lost_request_is_sent_again() -> None:
    stage = Stage()
    a = begun(stage)
    first = len(a.sent)
    a.before = lambda number, *_: "lost" if number == first else None
    a.ledger.write(History([past("u1")]))
    assert [move.podUid for move in a.ledger.peek().moves] == ["u1"]


def test_a_server_that_stays_silent_is_a_fault() -> None:
    stage = Stage()
    a = begun(stage)
    a.before = lambda *_: "lost"
    with pytest.raises(ActionError, match="lost on the way"):
        a.ledger.write(History())


def test_a_state_that_changes_under_every_write_is_a_fault() -> None:
    stage = Stage()
    a = begun(stage)

    def pause(number: int, method: str, path: str) -> None:
        if method == "PUT" and MAPS in path:
            stored = stage.world.objects[KEY]
            data = {**stored["data"], "paused": f"since {number}"}
            stage.world.put(*KEY, {**stored, "data": data})

    a.before = pause
    with pytest.raises(ActionError, match="changed three times"):
        a.ledger.write(History([past("u1")]))
    assert a.ledger.peek().moves == []


@pytest.mark.parametrize("state", ["A", "é"])
def test_a_state_that_is_no_base64_is_unreadable_to_who_writes(state: str) -> None:
    stage = Stage()
    a = begun(stage)
    stored = stage.world.objects[KEY]
    stage.world.put(*KEY, {**stored, "binaryData": {"state": state}})
    for ask in (a.ledger.load, lambda: a.ledger.write(History([past("u1")]))):
        with pytest.raises(LedgerUnreadable):
            ask()
    assert stage.world.objects[KEY]["binaryData"] == {"state": state}


def test_a_lost_state_is_never_taken_for_a_first_run() -> None:
    stage = Stage()
    a = begun(stage)
    a.lease.release()
    del stage.world.objects[KEY]
    b = Process(stage, "b")
    b.lease.acquire()
    with pytest.raises(LedgerUnreadable, match="holds no state") as caught:
        b.ledger.open()
    assert "on purpose" in str(caught.value)
    assert KEY not in stage.world.objects


def test_an_emptied_state_is_never_taken_for_a_first_run() -> None:
    stage = Stage()
    a = begun(stage)
    a.lease.release()
    stage.world.put(*KEY, {"data": {"paused": "false"}})
    b = Process(stage, "b")
    b.lease.acquire()
    with pytest.raises(LedgerUnreadable, match="holds no state"):
        b.ledger.open()


GOOD = packed(
    {
        "schemaVersion": 1,
        "fence": 3,
        "sequence": 9,
        "written": "2026-11-21T11:00:00Z",
        "history": {},
    }
)


def raw(stored: bytes) -> dict[str, Any]:
    """These bytes with their right checksum."""
    checksum = hashlib.sha256(stored).hexdigest()
    state = base64.b64encode(stored).decode()
    return {"data": {"checksum": checksum}, "binaryData": {"state": state}}


BOMB = gzip.compress(b" " * (2**25 + 1))


@every(
    [
        (packed({"schemaVersion": 3, "fence": 1, "history": {}}), "schema 3"),
        (raw(BOMB), "larger than 32 MiB"),
        (packed({"fence": 1, "history": {}}), "schema None"),
        (packed({"schemaVersion": 1, "fence": "x", "history": {}}), "cannot be decoded"),
        (packed([1]), "cannot be decoded"),
        (raw(gzip.compress(b'{"schemaVersion": 1, "written": "\xff"}')), "cannot be decoded"),
        ({**GOOD, "data": {"checksum": "0"}}, "checksum"),
        ({**GOOD, "data": {}}, "instead of None"),
        ({**GOOD, "binaryData": {"state": "%%"}}, "cannot be decoded"),
        (raw(b"xx"), "cannot be decoded"),
    ]
)
def test_a_state_that_cannot_be_trusted(stored: dict[str, Any], words: str) -> None:
    stage = Stage()
    a = Process(stage, "a")
    a.lease.acquire()
    stage.world.put(*KEY, stored)
    with pytest.raises(LedgerUnreadable, match=words):
        a.ledger.open()
    with pytest.raises(LedgerUnreadable, match=words):
        a.ledger.peek()


def test_old_closed_moves_are_forgotten_and_open_ones_are_not() -> None:
    stage = Stage()
    a = begun(stage)
    old = START - timedelta(hours=49)
    a.ledger.write(
        History(
            [
                past("settled", at=old, state="ready", settled=old),
                past("open", at=old),
                past("late", at=old, state="lost", settled=START),
                past("new", state="ready"),
            ]
        )
    )
    assert [move.podUid for move in a.ledger.peek().moves] == ["open", "late", "new"]


def landings() -> list[LandingRecord]:
    return [LandingRecord(kind="ReplicaSet", version="1.36", compared=30, weight=28.0, within=20.0)]


def ask_to_forget(stage: Stage) -> None:
    stored = stage.world.objects[KEY]
    stage.world.put(*KEY, {**stored, "data": {**stored["data"], "landings": "forget"}})


def test_how_landings_compared_outlives_the_moves() -> None:
    stage = Stage()
    a = begun(stage)
    old = START - timedelta(hours=49)
    moves = [past("settled", at=old, state="ready", settled=old)]
    a.ledger.write(History(moves, landings=landings()))
    kept = a.ledger.peek()
    assert (kept.moves, kept.landings) == ([], landings())


def test_a_state_of_before_landings_were_compared_is_read() -> None:
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History([past("u1", state="evicted", landing={"n2": 1.0})]))
    plain = stored_state(stage)
    assert "landings" not in plain["history"]
    assert not {"compared", "scheduler", "unschedulable"} & set(plain["history"]["moves"][0])
    assert a.ledger.load().landings == []


def test_a_person_makes_us_forget_how_landings_compared() -> None:
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History([past("u1")], landings=landings()))
    ask_to_forget(stage)
    assert a.ledger.peek().landings == []
    history = a.ledger.load()
    assert ([move.podUid for move in history.moves], history.landings) == (["u1"], [])
    a.ledger.write(history)
    data = stage.world.objects[KEY]["data"]
    assert "landings" not in data, "it is done once"
    assert data["paused"] == "false"


def test_the_next_lease_transition_forgets_too() -> None:
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History(landings=landings()))
    a.lease.release()
    ask_to_forget(stage)
    b = Process(stage, "b")
    b.lease.acquire()
    assert b.ledger.open().landings == []
    assert "landings" not in stage.world.objects[KEY]["data"]
    assert b.ledger.peek().landings == []


def test_a_request_to_forget_that_came_while_we_wrote_is_heeded_later() -> None:
    stage = Stage()
    a = begun(stage)
    ask_to_forget(stage)
    a.ledger.write(History(landings=landings()))
    assert stage.world.objects[KEY]["data"]["landings"] == "forget"
    assert a.ledger.load().landings == []


def test_a_state_that_does_not_fit_is_refused() -> None:
    stage = Stage()
    a = begun(stage)
    noise = [hashlib.sha512(str(n).encode()).hexdigest() for n in range(INTENT_BYTES // 50)]
    with pytest.raises(LedgerFull, match="movesPerDay"):
        a.ledger.write(History([past(uid) for uid in noise]))
    assert a.ledger.load().moves == [], "what is stored is as it was"
    a.ledger.write(History([past("u1")]))


def test_intents_leave_room_for_what_becomes_of_them() -> None:
    """What is stored as intended can be stored as evicted, with its replacement."""
    stage = Stage()
    a = begun(stage)
    noise = [hashlib.sha512(str(n).encode()).hexdigest() for n in range(INTENT_BYTES // 80)]
    moves = [past(uid) for uid in noise]
    while True:
        try:
            a.ledger.intend(History(moves))
            break
        except LedgerFull:
            del moves[-100:]
    fitting = len(moves)
    more = [past(uid) for uid in noise[fitting : fitting + 200]]
    with pytest.raises(LedgerFull):
        a.ledger.intend(History([*moves, *more]))
    assert len(a.ledger.load().moves) == fitting
    a.ledger.write(History([*moves, *more]))
    assert len(a.ledger.load().moves) == fitting + 200


def test_over_http_with_the_real_client() -> None:
    with serving() as fake:
        clock = ServerClock()
        client = fake.client()
        lease = Process(Stage(), "a").lease
        lease.acquire()
        store = StoredObject(client, MAPS, "rescheduler-state", clock=clock)
        ledger = Ledger(store, where="rescheduler/rescheduler-state", marker=lease, clock=clock)
        assert ledger.peek() == History()
        ledger.open()
        fake.faults.append(Fault("PUT", MAPS, "drop-after"))
        ledger.write(History([past("u1", at=clock.now())]))
        assert [move.podUid for move in ledger.peek().moves] == ["u1"]


def test_what_is_missing_and_may_not_be_created_names_the_manifest() -> None:
    with serving() as fake:
        fake.faults.append(Fault("POST", "/api/v1/namespaces", 403, message="no right"))
        store = StoredObject(fake.client(), LEASES, "rescheduler", clock=ServerClock())
        with pytest.raises(ActionError, match="namespace rescheduler does not exist") as caught:
            store.create({"metadata": {"name": "rescheduler"}})
        assert "deploy/kustomize" in str(caught.value)
        fake.world.put("namespaces", "", "rescheduler", {})
        fake.faults.append(Fault("POST", LEASES, 403, message="no right"))
        with pytest.raises(ActionError, match="we may not create it"):
            store.create({"metadata": {"name": "rescheduler"}})
