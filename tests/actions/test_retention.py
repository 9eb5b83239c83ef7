"""How long the ledger keeps a move, by which clock, and how much of it."""

import base64
import random
import uuid
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from rescheduler.actions.api_call import ServerClock
from rescheduler.model.errors import ClocksDiffer
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.retention import INTENT_BYTES, prune_history
from rescheduler.policies.limits import Limits
from tests.actions.state import (
    DAY,
    KEY,
    later,
    past,
    taken_over,
)
from tests.fakes.stage import START, Process, Stage, warm

NODES = [f"ip-10-{i // 250}-{i % 250}-7.eu-west-1.compute.internal" for i in range(500)]
APPS = [f"team-{i}-inference-gateway" for i in range(40)]


def aged(hours: float, **more: Any) -> PastMove:
    at = START - timedelta(hours=hours)
    return past(f"u{hours}", **{"at": at, "state": "ready", "settled": at, **more})


@given(
    server=st.integers(-(10**7), 10**7),
    wall=st.integers(-(10**7), 10**7),
    ages=st.lists(st.floats(0, 400), max_size=8, unique=True),
    keep=st.integers(2, 12),
)
def test_no_single_clock_erases_anything(
    server: int, wall: int, ages: list[float], keep: int
) -> None:
    """Seconds by which each clock is wrong: what the truth still needs is kept unless both lie."""
    clock = ServerClock(lambda: 0.0, lambda: START + timedelta(seconds=wall))
    clock.hear(START + timedelta(seconds=server))
    moves = [aged(age) for age in ages]
    kept = {move.podUid for move in prune_history(History(moves), clock.sure(), keep * DAY).moves}
    earliest = min(server, wall)
    for move in moves:
        if START + timedelta(seconds=earliest) - move.at <= keep * DAY:
            assert move.podUid in kept
    if min(server, wall) <= 0:
        assert {move.podUid for move in moves if START - move.at <= keep * DAY} <= kept


@given(steps=st.lists(st.tuples(st.integers(1, 600), st.integers(-(10**6), 10**6)), max_size=12))
def test_no_date_header_moves_the_time_if_no_other_clock_bears_it_out(
    steps: list[tuple[int, int]],
) -> None:
    """A server whose Date is wrong at times, on a host whose clock is right."""
    seconds = 0.0
    clock = ServerClock(lambda: seconds, lambda: START + timedelta(seconds=seconds))
    clock.hear(START)
    for passed, wrong in steps:
        seconds += passed
        before = clock.now()
        clock.hear(START + timedelta(seconds=seconds + wrong))
        truth = START + timedelta(seconds=seconds)
        # Errors that are small one by one may add up; `sure` and `difference` see that.
        moved = min(abs(clock.now() - before), abs(clock.now() - truth))
        assert moved <= timedelta(seconds=30)
        assert clock.sure() <= truth + timedelta(seconds=30)
        assert (clock.difference() > 30) == (abs(wrong) > 30)


@given(waits=st.lists(st.integers(1, 5000), min_size=2, max_size=30), ahead=st.integers(-20, 20))
def test_headers_without_their_fraction_never_set_the_time_back(
    waits: list[int], ahead: int
) -> None:
    """Milliseconds between the answers of a server whose clock is right; the host's may not be."""
    seconds, said = 0.25, []
    clock = ServerClock(lambda: seconds, lambda: START + timedelta(seconds=seconds + ahead))
    clock.hear(START)
    for wait in waits:
        seconds += wait / 1000
        truth = START + timedelta(seconds=seconds)
        said.append(clock.now())
        clock.hear(truth.replace(microsecond=0))
        said.append(clock.now())
        assert timedelta() <= truth - clock.now() < timedelta(seconds=1)
    assert said == sorted(said)


def test_a_header_of_an_earlier_second_sets_the_time_back() -> None:
    """As that of a server whose clock was set; the host's clock is right for the first one."""
    clock = ServerClock(lambda: 0.5, lambda: START)
    clock.hear(START)
    clock.hear(START - timedelta(seconds=1))
    assert clock.now() == START - timedelta(seconds=1)


def test_one_date_header_days_ahead_erases_nothing_and_refills_nothing() -> None:
    stage = warm(Stage())
    a = taken_over(stage, "a")
    a.ledger.open()
    moves = [past("u1", state="ready", settled=START)]
    a.ledger.write(History(moves))
    a.clock.hear(stage.now() + 3 * DAY)
    assert abs(a.clock.now() - stage.now()) < timedelta(seconds=1)
    assert a.clock.difference() > 86400
    with pytest.raises(ClocksDiffer):
        a.ledger._same_time()
    assert [move.podUid for move in a.ledger.write(History(moves)).moves] == ["u1"]
    assert [move.podUid for move in a.ledger.load().moves] == ["u1"], "the next answer was right"


def test_what_is_old_by_one_clock_only_is_kept() -> None:
    stage = warm(Stage())
    a = taken_over(stage, "a")
    a.ledger.open()
    old = aged(49)
    assert a.ledger.write(History([old])).moves == []
    a.clock._wall = lambda: stage.now() - 3 * DAY
    assert len(a.ledger.write(History([old])).moves) == 1


@pytest.mark.parametrize("days", [3, 30])
def test_a_cool_down_is_kept_as_long_as_its_cap(days: int) -> None:
    stage = warm(Stage())
    limits = Limits(coolDown=days * DAY, coolDownCap=days * DAY, movesPerDay=20)
    process = Process(stage, "a", limits=limits)
    process.actor()
    process.lease.acquire()
    history = process.ledger.open()
    history.moves.append(past("u1", state="ready", settled=START))
    history = process.ledger.write(history)
    later(process, 86400 * (days - 0.01))
    history = process.ledger.write(history)
    assert [move.podUid for move in history.moves] == ["u1"]


def test_a_run_with_shorter_limits_forgets_nothing_of_what_others_need() -> None:
    stage = warm(Stage())
    a = taken_over(stage, "a")
    a.ledger.open()
    a.ledger.keep = 20 * DAY
    a.ledger.write(History([past("u1", state="ready", settled=START)]))
    stage.seconds += 86400 * 19
    b = taken_over(stage)
    assert [move.podUid for move in b.ledger.open().moves] == ["u1"]
    later(b, 86400 * 2)
    assert b.ledger.write(b.ledger.load()).moves == []


def test_what_is_kept_of_a_move_is_what_may_still_be_asked() -> None:
    full = {
        "landing": {f"n{i}": 0.01 for i in range(100)},
        "earlierPods": ["s1"],
        "usage": {"pod/cpu": 1.0},
        "controller": "rs",
        "landedOn": "n2",
        "replacement": "r",
        "counted": {"pod label team": "search"},
    }
    names = ("refused", "ready", "lost", "evicted")
    moves = [past(name, state=name, settled=START, **full) for name in names]
    moves += [aged(60, **full, unpredicted=True)]
    kept = {move.podUid: move for move in prune_history(History(moves), START, 5 * DAY).moves}
    refused, ready, lost, evicted, old = kept.values()
    assert (refused.landing, refused.earlierPods, refused.usage) == ({}, [], {})
    assert (ready.landing, ready.earlierPods, ready.usage) == ({}, [], full["usage"])
    assert (len(lost.landing), lost.earlierPods) == (20, ["s1"])
    assert evicted.landing == full["landing"]
    assert (old.landing, old.earlierPods, old.usage, old.controller) == ({}, [], {}, "")
    assert old.counted == full["counted"], "a cyclePeriod may be long"
    assert old.unpredicted, "it may still show that moving its workload is futile"
    assert (old.boomerang, old.workload, old.replacement, old.charged) == (False, "w", "r", True)
    assert moves[1].landing == full["landing"], "anybody who writes keeps what it has"


@pytest.mark.parametrize("state", ["intended", "evicted"])
def test_what_is_in_flight_is_kept_however_old_it_is(state: str) -> None:
    """Its outcome or its replacement is still to be looked for; only then is it closed."""
    move = aged(24 * 30, state=state, settled=None)
    kept = prune_history(History([move]), START, 2 * DAY).moves
    assert [(past_move.podUid, past_move.state) for past_move in kept] == [(move.podUid, state)]


def test_refused_moves_are_bounded_in_number_and_time() -> None:
    moves = [aged(i / 10, state="refused") for i in range(500)]
    kept = prune_history(History(moves), START, 2 * DAY).moves
    assert len(kept) == 100
    assert min(move.at for move in kept) == START - timedelta(hours=9.9)
    assert prune_history(History([aged(25, state="refused")]), START, 2 * DAY).moves == []


@pytest.mark.parametrize(("outcome", "per_hour"), [("refused", 60), ("ready", 40), ("lost", 4)])
def test_a_week_of_it_never_wedges_the_ledger(outcome: str, per_hour: int) -> None:
    """Real names and landings on 500 nodes; the state stays below what it has room for."""
    chance = random.Random(7)
    stage = warm(Stage())
    a = taken_over(stage, "a")
    a.ledger.open()
    history, largest, made = History(), 0, []
    hours = 12  # between two writes
    for _ in range(24 * 7 // hours):
        for _ in range(hours * per_hour):
            at = stage.now() + timedelta(hours=hours * chance.random())
            history.moves.append(move_of(chance, at, outcome))
            made.append(at)
        later(a, 3600 * hours)
        in_flight = [move_of(chance, stage.now(), "intended") for _ in range(8)]
        history.moves += in_flight
        stored = a.ledger.write(history)
        for move in in_flight:
            move.state, move.settled = "ready", stage.now()
        gone = {move.podUid for move in in_flight}
        history = replaced(stored, [move for move in stored.moves if move.podUid not in gone])
        largest = max(
            largest, len(base64.b64decode(stage.world.objects[KEY]["binaryData"]["state"]))
        )
        day = stage.now() - DAY
        counted = sum(move.charged and move.at >= day for move in history.moves)
        if outcome != "refused":
            assert counted == sum(at >= day for at in made), "no move of the day is forgotten"
    assert largest < INTENT_BYTES
    a.lease.release()
    assert taken_over(stage).ledger.open().moves


def replaced(history: History, moves: list[PastMove]) -> History:
    return structs.replace(history, moves=moves)


def move_of(chance: random.Random, at: Any, state: str) -> PastMove:
    """A move as acting writes it: names of the usual length, UIDs, 500 nodes, four readings."""

    def uid() -> str:
        return str(uuid.UUID(int=chance.getrandbits(128)))

    name = f"{chance.choice(APPS)}-{chance.getrandbits(40):010x}-{chance.getrandbits(20):05x}"
    weights = [chance.random() for _ in NODES] if state != "refused" else []
    settled = None if state == "intended" else at + timedelta(seconds=60 * chance.random())
    return past(
        uid(),
        plan=f"{chance.getrandbits(48):012x}",
        namespace=chance.choice(APPS),
        pod=name,
        workload=uid(),
        controller=uid(),
        controllerKind="ReplicaSet",
        source=chance.choice(NODES),
        at=at,
        state=state,
        code="ACT001",
        policies=["spread-zones", "hot-gpus"],
        landing=dict(zip(NODES, weights, strict=False)),
        scheduler="1.36",
        usage={f"pod/{resource}": chance.random() for resource in ("cpu", "memory", "gpu", "net")},
        replacement=uid() if state in ("ready", "lost") else "",
        landedOn=chance.choice(NODES) if state == "ready" else "",
        readySeconds=chance.random() * 60,
        settled=settled,
    )


def test_what_broke_off_runs_is_kept_while_it_counts_and_bounded() -> None:
    moves = [aged(i / 10, state="refused", brokeOff=True, earlierPods=["s"]) for i in range(500)]
    refused = [aged(i / 10 + 0.05, state="refused") for i in range(500)]
    kept = prune_history(History([*moves, *refused]), START, 2 * DAY).moves
    assert len([move for move in kept if move.brokeOff]) == 100
    assert len(kept) == 200, "neither takes the room of the other"
    assert not any(move.earlierPods for move in kept)
    old = [aged(hours, state="refused", brokeOff=True) for hours in (30, 95, 97)]
    kept = prune_history(History(old), START, 4 * DAY).moves
    assert [START - move.at for move in kept] == [timedelta(hours=30), timedelta(hours=95)]
    unsettled = aged(30, state="refused", brokeOff=True, settled=None)
    assert prune_history(History([unsettled]), START, 2 * DAY).moves[0].settled is None
