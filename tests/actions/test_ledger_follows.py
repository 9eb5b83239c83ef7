"""A state ahead of what the Lease records is believed only where it follows from that."""

from typing import Any

import msgspec
import pytest

from rescheduler.actions.lease import NOTE
from rescheduler.model.errors import ActionError, LedgerUnreadable
from rescheduler.model.moves.history import History
from tests.actions.state import (
    KEY,
    LEASE,
    begun,
    note,
    past,
    taken_over,
    unpacked,
)
from tests.fakes.stage import Killed, Stage


def copy_of_state(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(stage.world.objects[KEY]))
    return found


def without_a_note(stage: Stage, name: str) -> None:
    """A process stores the state, and its note on the Lease is refused."""
    process = taken_over(stage, name)
    process.before = lambda _, method, path: 403 if method == "PUT" and "/leases/" in path else None
    with pytest.raises(ActionError, match="403"):
        process.ledger.open()
    stage.seconds += 300


def test_a_state_that_does_not_follow_from_the_noted_one_is_not_believed() -> None:
    """Two were written after the same one, as that was restored in between."""
    stage = Stage()
    begun(stage).lease.release()
    noted = copy_of_state(stage)
    for name in "bcd":
        without_a_note(stage, name)
    other = copy_of_state(stage)
    stage.world.put(*KEY, noted)
    e = taken_over(stage, "e")
    e.ledger.write(History([*e.ledger.open().moves, past("u1")]))
    e.lease.release()
    assert unpacked(other)["sequence"] > note(stage)["sequence"]
    stage.world.put(*KEY, other)
    with pytest.raises(LedgerUnreadable, match="does not follow from write 3"):
        taken_over(stage, "f").ledger.open()


def test_states_after_the_noted_one_are_believed_where_notes_failed() -> None:
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History([past("u1")]))
    a.lease.release()
    for number in range(20):
        without_a_note(stage, f"b{number}")
    assert [move.podUid for move in taken_over(stage).ledger.open().moves] == ["u1"]


@pytest.mark.parametrize("opens", [True, False])
def test_a_state_follows_from_one_whose_note_had_no_answer(opens: bool) -> None:
    stage = Stage()
    begun(stage).lease.release()
    b = taken_over(stage)
    if not opens:
        b.ledger.open()
    put = ("PUT", "/apis/coordination.k8s.io/v1/namespaces/rescheduler/leases/rescheduler")
    b.after = lambda _, method, path: "lost" if (method, path) == put else None
    before = stage.world.objects[LEASE]["metadata"]["annotations"][NOTE]
    with pytest.raises(ActionError):
        b.ledger.open() if opens else b.ledger.write(History([past("u1")]))
    assert stage.world.objects[LEASE]["metadata"]["annotations"][NOTE] != before
    b.after = lambda *_: None

    def kill(_: int, method: str, path: str) -> None:
        if (method, path) == put:
            raise Killed

    b.before = kill
    with pytest.raises(Killed):
        b.ledger.open() if opens else b.ledger.write(History([past("u2")]))
    stage.seconds += 300
    taken_over(stage, "c").ledger.open()


def test_a_state_follows_from_all_that_one_lock_may_have_noted() -> None:
    """Opened three times: the first note is there without an answer, the others are refused."""
    stage = Stage()
    begun(stage).lease.release()
    b = taken_over(stage)
    put = ("PUT", "/apis/coordination.k8s.io/v1/namespaces/rescheduler/leases/rescheduler")
    b.after = lambda _, method, path: "lost" if (method, path) == put else None
    with pytest.raises(ActionError):
        b.ledger.open()
    b.before = lambda _, method, path: 403 if (method, path) == put else None
    for _ in range(2):
        with pytest.raises(ActionError):
            b.ledger.open()
    stage.seconds += 300
    taken_over(stage, "c").ledger.open()


def test_a_state_of_ours_that_got_no_answer_twice_is_not_foreign() -> None:
    stage = Stage()
    a = begun(stage)
    done: list[str] = []

    def unanswered(_: int, method: str, path: str) -> str | None:
        if "rescheduler-state" not in path or method in done:
            return None
        done.append(method)
        return "lost"

    a.after = unanswered
    with pytest.raises(ActionError):
        a.ledger.write(History([past("u1", state="ready")]))
    assert done == ["PUT", "GET"]
    assert [move.podUid for move in a.ledger.load().moves] == ["u1"]


def test_what_we_tried_to_store_in_vain_takes_no_room() -> None:
    stage = Stage()
    a = begun(stage)
    a.before = lambda _, method, path: 500 if (method, "state" in path) == ("PUT", True) else None
    for number in range(50):
        with pytest.raises(ActionError):
            a.ledger.write(History([past(f"u{number}")]))
    assert sum(map(len, a.ledger._tried)) <= 51 * 64
