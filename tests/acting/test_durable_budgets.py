"""Budgets and intents outlive the process: anybody who acts next counts what was done before."""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.reconcile import APPLY_DELAY, hold_lock
from rescheduler.acting.run import act
from rescheduler.actions.lease import Lease
from rescheduler.model.errors import ActionError
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan, PlannedMove
from rescheduler.policies.limits import Limits
from tests.actions.state import past
from tests.draws import tries
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import START, WIDE, Killed, Process, Stage, warm


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def web(stage: Stage, name: str, node: str, owner: str) -> dict[str, Any]:
    return stage.world.add_pod(name, node, owner=("ReplicaSet", owner), app=owner)


def plan(stage: Stage, name: str, *moves: PlannedMove) -> Plan:
    return structs.replace(plan_of(stage.world, moves), id=name)


def code(stage: Stage, process: Process, move: PlannedMove) -> str:
    """What became of this one move, in a plan that is named after its process."""
    return act(plan(stage, process.name, move), process.actor()).moves[0].code


def test_all_but_what_was_refused_is_charged() -> None:
    states = ("intended", "refused", "evicted", "ready", "lost")
    moves = [past(state, state=state) for state in states]
    charged = [move.podUid for move in History(moves).charged_since(START)]
    assert charged == ["intended", "evicted", "ready", "lost"]


def test_a_restart_after_each_eviction_does_not_begin_with_fresh_budgets(stage: Stage) -> None:
    """Eight runs in a minute, each with a plan of its own that knows nothing of the others."""
    limits = Limits(movesPerNode=1, movesPerNamespace=2, movesPerCycle=3, minReplicas=1)
    told = []
    for number in range(8):
        move = planned(web(stage, f"w{number}", f"n{number // 2}", f"rs-{number}"))
        told.append(code(stage, Process(stage, f"p{number}", limits=limits), move))
    assert stage.seconds < 300
    assert told[:3] == ["ACT001", "PAC002", "ACT001"]
    assert set(told[3:]) <= {"PAC002", "PAC003"}
    assert len(stage.world.accepted) == 2
    stage.seconds += 300
    later = planned(web(stage, "later", "n0", "rs-9"))
    assert code(stage, Process(stage, "z", limits=limits), later) == "ACT001"


def test_the_ledger_holds_a_plan_with_more_moves_than_a_cycle_may_have(stage: Stage) -> None:
    moves = [planned(web(stage, f"w{i}", f"n{i}", f"rs-{i}"), batch=i + 1) for i in range(4)]
    limits = Limits(**WIDE | {"movesPerCycle": 2, "cyclePeriod": timedelta(seconds=1)})
    outcome = act(plan(stage, "a", *moves), Process(stage, "a", limits=limits).actor())
    assert [move.code for move in outcome.moves] == ["ACT001", "ACT001", "PAC001", "PAC001"]


def test_a_first_run_moves_one_pod_in_each_of_three_cycles() -> None:
    stage = Stage()
    limits = Limits(**WIDE)
    told = []
    for cycle in range(4):
        moves = [
            planned(web(stage, f"w{cycle}{i}", f"n{i}", f"rs-{cycle}{i}"), batch=i + 1)
            for i in range(2)
        ]
        process = Process(stage, f"p{cycle}", limits=limits)
        made = act(plan(stage, f"p{cycle}", *moves), process.actor())
        told.append([move.code for move in made.moves])
        stage.seconds += 600
    assert told == [["ACT001", "PAC007"]] * 3 + [["ACT001", "ACT001"]]


@pytest.mark.parametrize(("waited", "then"), [(100, "PAC005"), (121, "ACT001")])
def test_an_intent_without_an_effect_is_refunded_after_two_minutes(
    stage: Stage, waited: int, then: str
) -> None:
    limits = Limits(**WIDE, movesPerHour=1)

    def kill(_: int, __: str, path: str) -> None:
        if "eviction" in path:
            raise Killed

    first = planned(web(stage, "w1", "n1", "rs-1"))
    with pytest.raises(Killed):
        code(stage, Process(stage, "a", limits=limits, before=kill), first)
    assert stage.world.accepted == []
    # Its lock is taken over after two renewals without a sign of life.
    stage.seconds += waited
    process = Process(stage, "b", limits=limits)
    other = planned(web(stage, "w2", "n2", "rs-2"))
    assert code(stage, process, other) == then


@pytest.mark.parametrize("waited", [60, 100, 300])
def test_an_eviction_that_a_later_run_finds_cools_down_from_then_on(
    stage: Stage, waited: int
) -> None:
    """A process may have stood still before it sent the request: nobody saw when that was."""
    limits = Limits(**WIDE)

    def kill(_: int, __: str, path: str) -> None:
        if "eviction" in path:
            raise Killed

    first = planned(web(stage, "w1", "n1", "rs-1"))
    with pytest.raises(Killed):
        code(stage, Process(stage, "a", limits=limits, after=kill), first)
    asked = Process(stage, "").ledger.peek().moves[0].at
    stage.seconds += waited
    with hold_lock(Process(stage, "b", limits=limits).actor()) as history:
        (found,) = history.moves
    assert found.charged
    assert found.intentAt == asked
    assert waited <= (found.at - asked).total_seconds() <= waited + 40


def test_what_was_evicted_right_before_a_crash_is_followed_by_the_next_run(stage: Stage) -> None:
    limits = Limits(**WIDE)

    def kill(_: int, __: str, path: str) -> None:
        if "eviction" in path:
            raise Killed

    with pytest.raises(Killed):
        code(
            stage,
            Process(stage, "a", limits=limits, after=kill),
            planned(web(stage, "w1", "n1", "rs-1")),
        )
    (found,) = Process(stage, "").ledger.peek().moves
    assert (found.state, found.charged) == ("intended", True)
    stage.world.tick()
    (found,) = look(stage, "b", limits)
    assert stage.now() - found.at < APPLY_DELAY
    assert (found.state, found.code, found.charged) == ("evicted", "ACT001", True)
    assert found.replacement


def look(stage: Stage, name: str, limits: Limits) -> list[PastMove]:
    """The moves, once a run of this name has settled what was left open."""
    with hold_lock(Process(stage, name, limits=limits).actor()) as history:
        return history.moves


def frozen(stage: Stage, move: PlannedMove, limits: Limits, meanwhile: Callable[[], Any]) -> None:
    """A run that stands still right before its eviction, and sends it when that has happened."""

    def freeze(_: int, __: str, path: str) -> None:
        if "eviction" in path:
            meanwhile()

    with suppress(ActionError):
        act(plan(stage, "a", move), Process(stage, "a", limits=limits, before=freeze).actor())


def states(moves: list[PastMove]) -> list[tuple[str, str, bool]]:
    return [(move.state, move.code, move.charged) for move in moves]


@pytest.mark.parametrize(
    ("asleep", "idle"), [(200, 61), (1800, 61), (3500, 61), (200, 7200), (3500, 86_400)]
)
def test_an_eviction_that_comes_after_its_refund_is_charged(
    stage: Stage, asleep: int, idle: int
) -> None:
    """The process wakes long after another one has settled its intent as without an effect.

    idle: seconds in which nobody looks after that, as with a CronJob that is suspended.
    """
    limits = Limits(**WIDE, movesPerHour=1)

    def meanwhile() -> None:
        stage.seconds += 150
        assert states(look(stage, "b", limits)) == [("refused", "ACT009", False)]
        stage.seconds += asleep

    frozen(stage, planned(web(stage, "w1", "n1", "rs-1")), limits, meanwhile)
    assert len(stage.world.accepted) == 1
    # Its lock may have to run out first; within the first minutes its slot is taken as well.
    stage.seconds += idle
    other = planned(web(stage, "w2", "n2", "rs-2"))
    assert code(stage, Process(stage, "c", limits=limits), other) == "PAC005"
    stage.seconds += limits.minReadyTime.total_seconds() + 60
    (found,) = look(stage, "d", limits)
    assert (found.state, found.landedOn, found.fence) == ("ready", "spare", 2)
    assert stage.now() - found.at < timedelta(minutes=10), "it counts from when it was found"


def test_a_refunded_pod_that_somebody_deletes_is_charged_to_us(stage: Stage) -> None:
    limits = Limits(**WIDE)
    pod = web(stage, "w1", "n1", "rs-1")

    def killed() -> None:
        raise Killed

    with pytest.raises(Killed):
        frozen(stage, planned(pod), limits, killed)
    stage.seconds += 150
    assert states(look(stage, "b", limits)) == [("refused", "ACT009", False)]
    stage.world.swap("default", "w1")
    assert states(look(stage, "c", limits)) == [("evicted", "ACT001", True)]


def test_a_refunded_pod_is_watched_until_it_is_looked_at_after_an_hour(stage: Stage) -> None:
    limits = Limits(**WIDE)

    def killed() -> None:
        raise Killed

    with pytest.raises(Killed):
        frozen(stage, planned(web(stage, "w1", "n1", "rs-1")), limits, killed)
    stage.seconds += 150
    assert states(look(stage, "b", limits)) == [("refused", "ACT009", False)]
    stage.seconds += 3700
    assert states(look(stage, "c", limits)) == [("refused", "ACT009", False)]
    stage.world.swap("default", "w1")
    assert states(look(stage, "d", limits)) == [("refused", "ACT009", False)]


def test_the_refunded_eviction_of_a_replacement_is_watched_too() -> None:
    """It is followed by nothing, as it takes no slot of its own."""
    move = past("freed", earlierPods=[], frees="moved")
    move.give_back(START)
    assert (move.watched, move.let_go(START + timedelta(minutes=59))) == (True, False)
    assert (move.watched, move.let_go(START + timedelta(minutes=60))) == (True, True)
    assert not move.watched


def test_a_refunded_pod_that_we_evict_later_is_charged_once(stage: Stage) -> None:
    limits = Limits(**WIDE)
    move = planned(web(stage, "w1", "n1", "rs-1"))

    def killed() -> None:
        raise Killed

    with pytest.raises(Killed):
        frozen(stage, move, limits, killed)
    stage.seconds += 150
    assert code(stage, Process(stage, "b", limits=limits), move) == "ACT001"
    stage.seconds += 30
    assert [move.charged for move in look(stage, "c", limits)] == [False, True]


@dataclass
class Ending:
    """A lock that ends just before an eviction that is sent now can have ended."""

    real: Lease
    left: float

    def valid_for(self, seconds: float) -> bool:
        return seconds <= self.left and self.real.valid_for(seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@pytest.mark.parametrize(("short", "sent"), [(0.0, 1), (0.5, 0)])
def test_the_lock_must_outlast_the_whole_call(stage: Stage, short: float, sent: int) -> None:
    process = Process(stage, "a")
    actor = process.actor()
    ending: Any = Ending(actor.lease, actor.intervals.call - short)
    move = planned(web(stage, "w1", "n1", "rs-1"))
    outcome = act(plan(stage, "a", move), replace(actor, lease=ending))
    assert len(stage.world.accepted) == sent
    assert outcome.verdict.code == ("ACT013" if sent else "ACT015")


@pytest.mark.parametrize("seed", range(tries(100)))
def test_whatever_ends_a_run_no_window_holds_more_than_its_limit(seed: int) -> None:
    """Runs that are killed, stopped and go on, each with a plan of its own."""
    chance = random.Random(seed)
    stage = warm(Stage())
    limits = Limits(
        movesPerCycle=4, movesPerNode=2, movesPerNamespace=3, movesPerWorkload=1,
        movesPerHour=8, movesPerDay=10, coolDown=timedelta(0), minReplicas=1,
    )  # fmt: skip
    accepted: list[tuple[float, str, str]] = []
    where: dict[str, tuple[str, str]] = {}
    stage.world.on_accept = lambda pod, *_: accepted.append(
        (stage.seconds, *where[pod["metadata"]["name"]])
    )
    for number in range(25):
        moves = []
        for index in range(chance.randint(1, 4)):
            name, node = f"w{number}-{index}", f"n{chance.randint(1, 3)}"
            owner = f"rs-{number}-{index}"
            where[name] = (node, owner)
            moves.append(planned(web(stage, name, node, owner), batch=chance.randint(1, 3)))
        end = chance.choice([None, chance.randint(5, 60)])

        def kill(sent: int, *_: object, end: int | None = end) -> None:
            if sent == end:
                raise Killed

        process = Process(stage, f"p{number}", limits=limits)
        which = chance.choice(["before", "after"])
        setattr(process, which, kill)
        with suppress(Killed):
            act(plan(stage, process.name, *moves), process.actor())
        stage.seconds += chance.choice([1, 20, 61, 200, 1200])
    assert accepted
    for began, *_ in accepted:
        cycle = [eviction for eviction in accepted if began <= eviction[0] <= began + 300]
        assert len(cycle) <= 4
        assert max(Counter(node for _, node, _ in cycle).values()) <= 2
        assert len(cycle) <= 3, "all are in one namespace"
        assert sum(began <= at <= began + 3600 for at, *_ in accepted) <= 8
        assert sum(began <= at <= began + 86400 for at, *_ in accepted) <= 10
