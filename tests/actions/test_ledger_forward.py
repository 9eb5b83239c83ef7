"""The state goes forward only, and is never taken for something else than it is."""

import msgspec
import pytest

from rescheduler.actions.lease import NOTE
from rescheduler.model.errors import ActionError, ClocksDiffer, LedgerUnreadable
from rescheduler.model.moves.history import History
from tests.actions.state import (
    KEY,
    LEASE,
    begun,
    later,
    note,
    packed,
    past,
    stored_state,
    taken_over,
    unpacked,
)
from tests.cases import every
from tests.fakes.stage import Killed, Process, Stage, warm


def test_every_write_is_noted_on_the_lease_with_its_sequence_and_checksum() -> None:
    stage = Stage()
    a = begun(stage)
    first = note(stage)
    a.ledger.write(History([past("u1")]))
    second = note(stage)
    assert (first["fence"], second["fence"]) == (1, 1)
    assert second["sequence"] == first["sequence"] + 1 == stored_state(stage)["sequence"]
    assert second["checksum"] == stage.world.objects[KEY]["data"]["checksum"]
    assert stored_state(stage)["schemaVersion"] == 1


def test_a_restored_older_state_is_not_believed() -> None:
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History([past("u1", state="ready")]))
    older = msgspec.json.decode(msgspec.json.encode(stage.world.objects[KEY]))
    a.ledger.write(History([past("u1", state="ready"), past("u2", state="ready")]))
    a.lease.release()
    stage.world.put(*KEY, older)
    b = taken_over(stage)
    with pytest.raises(LedgerUnreadable, match=r"older than it was.*write 2.*write 3") as caught:
        b.ledger.open()
    assert "rescheduler reset state" in caught.value.hint
    assert stored_state(stage)["fence"] == 1, "nothing was written"


def test_a_state_with_a_lower_fence_is_not_believed() -> None:
    stage = Stage()
    a = begun(stage)
    older = msgspec.json.decode(msgspec.json.encode(stage.world.objects[KEY]))
    a.lease.release()
    b = taken_over(stage)
    b.ledger.open()
    b.lease.release()
    stage.world.put(*KEY, packed({**unpacked(older), "sequence": 99}))
    with pytest.raises(LedgerUnreadable, match=r"fence 1 and write 99.*fence 2"):
        taken_over(stage, "c").ledger.open()


def test_another_state_of_the_same_write_is_not_believed() -> None:
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History([past("u1")]))
    a.lease.release()
    stage.world.put(*KEY, packed({**stored_state(stage), "history": {}}))
    with pytest.raises(LedgerUnreadable, match="for the same write"):
        taken_over(stage).ledger.open()


def test_a_state_that_no_lease_records_is_not_believed() -> None:
    stage = Stage()
    begun(stage).lease.release()
    del stage.world.objects[LEASE]
    with pytest.raises(LedgerUnreadable, match="no Lease records it"):
        taken_over(stage).ledger.open()
    assert NOTE not in stage.world.objects[LEASE]["metadata"].get("annotations", {})


def test_a_record_that_nests_too_deeply_is_not_believed() -> None:
    stage = Stage()
    begun(stage).lease.release()
    stage.world.objects[LEASE]["metadata"]["annotations"][NOTE] = '{"x":' * 5000
    with pytest.raises(LedgerUnreadable, match="cannot be decoded"):
        taken_over(stage).ledger.open()


def test_manifests_that_were_applied_again_empty_are_noticed() -> None:
    stage = Stage()
    begun(stage).lease.release()
    stage.world.put(*KEY, {"metadata": {"labels": {"app.kubernetes.io/name": "rescheduler"}}})
    with pytest.raises(LedgerUnreadable, match="holds no state"):
        taken_over(stage).ledger.open()


def test_a_state_restored_while_it_is_ours_ends_the_lease_transition() -> None:
    stage = Stage()
    a = begun(stage)
    older = msgspec.json.decode(msgspec.json.encode(stage.world.objects[KEY]))
    a.ledger.write(History([past("u1", state="ready")]))
    stage.world.put(*KEY, older)
    with pytest.raises(LedgerUnreadable, match="changed while we held the lock"):
        a.ledger.load()
    with pytest.raises(LedgerUnreadable, match="changed while we held the lock"):
        a.ledger.write(History([past("u2")]))


@every(["older", "gone", "damaged", "no lease", "newer"])
def test_a_person_may_forget_budgets_that_cannot_be_believed(lost: str) -> None:
    stage = Stage()
    a = begun(stage)
    older = msgspec.json.decode(msgspec.json.encode(stage.world.objects[KEY]))
    a.ledger.write(History([past("u1", state="ready")]))
    a.lease.release()
    if lost == "no lease":
        del stage.world.objects[LEASE]
    found = {
        "older": older,
        "gone": {},
        "damaged": {**older, "data": {"checksum": "0"}},
        "newer": packed({"schemaVersion": 9, "fence": 1, "history": {}}),
    }.get(lost, stage.world.objects[KEY])
    data = {**found.get("data", {}), "budgets": "forget", "paused": "true"}
    stage.world.put(*KEY, {**found, "data": data})
    b = taken_over(stage)
    history = b.ledger.open()
    assert history.moves == []
    assert history.ramp_left(stage.now()) == 3, "it begins slowly"
    assert b.ledger.paused, "pausing is something else"
    assert "budgets" not in stage.world.objects[KEY]["data"], "it is done once"
    b.lease.release()
    assert taken_over(stage, "c").ledger.open() == history


@every(["", "true", "keep", "forgotten"])
def test_no_other_word_makes_us_forget_the_budgets(word: str) -> None:
    stage = Stage()
    a = begun(stage)
    a.lease.release()
    stage.world.put(*KEY, {"data": {"budgets": word, "paused": "false"}})
    with pytest.raises(LedgerUnreadable, match="holds no state"):
        taken_over(stage).ledger.open()
    assert stage.world.objects[KEY]["data"]["budgets"] == word


def test_a_state_that_can_be_believed_is_not_forgotten_on_request() -> None:
    """A request that a manifest repeats for ever must not refill the budgets for ever."""
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History([past("u1", state="ready")]))
    a.lease.release()
    found = stage.world.objects[KEY]
    stage.world.put(*KEY, {**found, "data": {**found["data"], "budgets": "forget"}})
    assert [move.podUid for move in taken_over(stage).ledger.open().moves] == ["u1"]
    assert "budgets" not in stage.world.objects[KEY]["data"]


def test_a_state_of_an_earlier_fence_is_not_believed_whatever_its_number() -> None:
    stage = Stage()
    begun(stage).lease.release()
    taken_over(stage).ledger.open()
    assert note(stage)["fence"] == 2
    stage.world.put(*KEY, packed({**stored_state(stage), "fence": 1, "sequence": 99}))
    stage.seconds += 100
    with pytest.raises(LedgerUnreadable, match=r"older than it was.*fence 1.*fence 2"):
        taken_over(stage, "c").ledger.open()


@pytest.mark.parametrize("point", range(1, 12))
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("begins", [True, False])
def test_killed_at_any_request_the_next_run_goes_on(point: int, after: bool, begins: bool) -> None:
    """The state and its note are two writes: neither order of ends asks for a person."""
    stage = Stage() if begins else warm(Stage())
    a = Process(stage, "a")

    def kill(number: int, *_: object) -> None:
        if number == point:
            raise Killed

    if after:
        a.after = kill
    else:
        a.before = kill
    told: list[str] = []
    try:
        a.lease.acquire()
        a.ledger.open()
        for uid in ("u1", "u2"):
            a.ledger.write(History([past(pod_uid, state="ready") for pod_uid in (*told, uid)]))
            told.append(uid)
    except Killed:
        pass
    stage.seconds += 300
    found = [move.podUid for move in taken_over(stage).ledger.open().moves]
    assert found[: len(told)] == told, "what was told to be stored is"


def test_a_first_run_begins_slowly_and_a_state_of_today_does_not() -> None:
    stage = Stage()
    a = begun(stage)
    history = a.ledger.load()
    assert history.ramp_left(stage.now()) == 3
    for number in range(4):
        assert history.ramp_left(stage.now()) == max(0, 3 - number)
        history.moves.append(past(f"u{number}", state="ready", at=stage.now()))
        later(a, 3600 * 20)
        history = a.ledger.write(history)
    later(a, 3600 * 100)
    history = a.ledger.write(history)
    assert (history.moves, history.rampSince, history.rampMade) == ([], None, 0)


def test_moves_of_a_slow_start_count_even_when_they_are_not_kept_any_more() -> None:
    stage = Stage()
    a = begun(stage)
    history = a.ledger.load()
    for number in range(3):
        history.moves.append(past(f"u{number}", state="ready", at=stage.now()))
        history = a.ledger.write(history)
        later(a, 86400 * 3)
        assert history.ramp_left(stage.now()) == 2 - number
    assert len(a.ledger.write(history).moves) == 0


@pytest.mark.parametrize(("hours", "left"), [(25.9, 0), (26.1, 3), (24 * 30, 3)])
def test_a_state_that_knows_nothing_of_today_begins_slowly(hours: float, left: int) -> None:
    stage = warm(Stage())
    stage.seconds += hours * 3600
    assert taken_over(stage).ledger.open().ramp_left(stage.now()) == left


@pytest.mark.parametrize("wall", [31.0, -31.0, 3 * 86400.0, -3 * 86400.0])
def test_clocks_that_differ_hold_everything_before_it_is_judged(wall: float) -> None:
    stage = warm(Stage())
    a = Process(stage, "a", wall=wall)
    a.lease.acquire()
    with pytest.raises(ClocksDiffer, match=f"by {abs(wall):.0f} s"):
        a.ledger.open()
    assert stored_state(stage)["fence"] == 1


@pytest.mark.parametrize("back", [61.0, 3600.0])
def test_clocks_that_were_all_set_back_hold_everything_until_then(back: float) -> None:
    """What is counted meanwhile would be forgotten as early once the clocks are right again."""
    stage = Stage()
    begun(stage).lease.release()
    stage.seconds -= back
    b = taken_over(stage)
    with pytest.raises(ClocksDiffer, match=r"written at .*, so it has been set back") as caught:
        b.ledger.open()
    assert "rescheduler reset state" in caught.value.hint
    assert stored_state(stage)["fence"] == 1
    later(b, back)
    assert b.ledger.load().moves == []
    assert stored_state(stage)["fence"] == 2


def test_servers_that_answer_in_turn_may_differ_a_little() -> None:
    stage = Stage()
    begun(stage).lease.release()
    stage.seconds -= 59
    taken_over(stage).ledger.open()
    assert stored_state(stage)["fence"] == 2


def test_clocks_that_are_set_back_under_a_lasting_process_hold_it_too() -> None:
    """By so little at a time that each step is believed."""
    stage = Stage()
    a = begun(stage)
    for _ in range(3):
        stage.seconds -= 25
        a.lease.acquire()
    with pytest.raises(ClocksDiffer, match="set back"):
        a.ledger.load()
    assert stored_state(stage)["fence"] == 1


def test_people_may_forget_a_state_that_a_clock_wrote_a_year_ahead() -> None:
    stage = warm(Stage())
    stage.seconds -= 86400 * 365
    a = taken_over(stage)
    with pytest.raises(ClocksDiffer, match="set back"):
        a.ledger.open()
    stage.world.objects[KEY]["data"]["budgets"] = "forget"
    assert a.ledger.load().ramp_left(stage.now()) == 3
    assert "budgets" not in stage.world.objects[KEY]["data"]
    assert a.ledger.load().moves == []


def test_what_could_not_be_opened_is_opened_by_the_next_load() -> None:
    """A Deployment keeps its lock, and its cycles report until a person has decided."""
    stage = warm(Stage())
    damaged = {**stage.world.objects[KEY], "binaryData": {"state": "AAAA"}}
    stage.world.put(*KEY, damaged)
    a = taken_over(stage, "a")
    for ask in (a.ledger.open, a.ledger.load, a.ledger.load):
        with pytest.raises(LedgerUnreadable):
            ask()
    found = stage.world.objects[KEY]
    stage.world.put(*KEY, {**found, "data": {**found["data"], "budgets": "forget"}})
    assert a.ledger.load().ramp_left(stage.now()) == 3
    assert a.ledger.fence == stored_state(stage)["fence"] == note(stage)["fence"] == 2


@pytest.mark.parametrize("lost", range(1, 9))
def test_a_slow_start_is_not_lost_with_an_open_that_failed(lost: int) -> None:
    stage = Stage()
    a = taken_over(stage, "a")
    sent = len(a.sent)
    a.before = lambda number, *_: "lost" if sent <= number < sent + lost else None
    history = History()
    for _ in range(20):
        try:
            a.lease.acquire()
            history = a.ledger.load()
            break
        except ActionError:
            stage.seconds += 5
    assert history.ramp_left(stage.now()) == 3
    assert stored_state(stage)["history"]["rampSince"]
