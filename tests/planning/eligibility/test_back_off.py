"""Moves that went wrong make their workload and their node rest longer (ELG022, ELG025)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.policies.limits import Limits
from rescheduler.policytest.object_builders import crash_looping
from tests.cluster import NOW
from tests.planning.eligibility.back_off import COOL, cluster, code, past, verdict

WRONG: dict[str, Callable[[Snapshot], dict[str, Any]]] = {
    "came back to node n1": lambda _: {"landedOn": "n1"},
    "was not Ready in time on node n2": lambda _: {"state": "lost"},
    "was not Ready in time on no node": lambda _: {"state": "lost", "landedOn": ""},
    "was Ready much later than usual on node n2": lambda _: {"readySeconds": 301.0},
    "was undone by others on node n2": lambda _: {"replacement": "gone"},
}


@pytest.mark.parametrize("why", WRONG)
def test_each_way_to_go_wrong_doubles_the_cool_down_and_is_said(why: str) -> None:
    before = cluster()
    for ago, changed, expected in (
        (COOL - timedelta(seconds=1), {}, "ELG022"),
        (COOL, {}, ""),
        (COOL, WRONG[why](before), "ELG022"),
        (2 * COOL - timedelta(seconds=1), WRONG[why](before), "ELG022"),
        (2 * COOL, WRONG[why](before), ""),
    ):
        assert code(before, past(before, ago, **changed)) == expected
    refused = verdict(before, past(before, COOL, **WRONG[why](before)))
    assert refused is not None
    assert refused.message == (
        f"Deployment web cools down until 2026-11-21 12:30:00 UTC: its last move {why}"
    )


def test_a_replacement_that_crash_loops_now_counts() -> None:
    before = cluster()
    move = past(before, COOL)
    assert code(before, move) == ""
    (replacement,) = [pod for pod in before.pods if pod.metadata.uid == move.replacement]
    replacement.status = crash_looping()
    before.pods[0].status = crash_looping()  # asked about: it is none of the Ready ones
    found = Eligibility(before, Limits(crashLooping="Allow"), History([move])).refusal(0)
    assert found is not None
    assert "its last move ended in a crash loop on node n2" in found.message


def test_a_good_move_says_only_when_it_was() -> None:
    before = cluster()
    refused = verdict(before, past(before, timedelta(minutes=10)))
    assert refused is not None
    assert refused.message == (
        "Deployment web cools down until 2026-11-21 12:20:00 UTC: "
        "it was moved at 2026-11-21 11:50:00 UTC"
    )


def test_the_message_counts_each_way_apart() -> None:
    before = cluster()
    moves = [
        past(before, timedelta(hours=1), landedOn="n1"),
        past(before, timedelta(hours=2), state="lost"),
        past(before, timedelta(hours=3), landedOn="n1"),
        past(before, timedelta(hours=4)),
        past(before, timedelta(hours=5), state="refused"),
    ]
    refused = verdict(before, *moves)
    assert refused is not None
    assert refused.message.endswith(
        ": 2 of its last 4 moves came back to node n1, 1 was not Ready in time on node n2"
    )


@given(wrong=st.integers(0, 12), minutes=st.integers(0, 40 * 60))
def test_it_doubles_with_each_up_to_the_cap(wrong: int, minutes: int) -> None:
    before = cluster()
    ago = timedelta(minutes=minutes)
    moves = [
        past(before, ago + timedelta(minutes=number), landedOn="n1", podUid=f"p{number}")
        for number in range(wrong)
    ]
    moves += [past(before, ago, podUid="good")]
    quiet = min(COOL * 2**wrong, timedelta(hours=24))
    assert (code(before, *moves) == "ELG022") == (ago < quiet)


@pytest.mark.parametrize(("batches", "minutes"), [((1, 1, 1), 60), ((1, 2, 2), 120)])
def test_a_gang_that_came_back_doubles_it_once(batches: tuple[int, ...], minutes: int) -> None:
    before, ago = cluster(), timedelta(minutes=minutes)
    for age, expected in ((ago - timedelta(seconds=1), "ELG022"), (ago, "")):
        moves = [
            past(before, age, podUid=f"web-{number}", batch=batch, landedOn="n1")
            for number, batch in enumerate(batches)
        ]
        assert code(before, *moves) == expected


def test_a_workload_that_lands_elsewhere_than_predicted_is_moved_in_vain() -> None:
    before, day = cluster(), timedelta(hours=24)
    for node in before.nodes:
        node.metadata.creationTimestamp = NOW - 2 * day

    def moves(ago: timedelta, *unpredicted: bool, **more: Any) -> list[PastMove]:
        return [
            past(before, ago + timedelta(minutes=n), unpredicted=flag, podUid=f"p{n}", **more)
            for n, flag in enumerate(unpredicted)
        ]

    assert code(before, *moves(COOL, True)) == "", "once may be chance"
    assert code(before, *moves(COOL, True, True, False, False, False)) == "", "so may two of five"
    assert code(before, *moves(day, True, True, False, False)) == ""
    assert code(before, *moves(COOL, True, True)) == "ELG022"
    found = verdict(before, *moves(COOL, True, True), coolDown="0s")
    assert found is None, "who wants no quiet time has none"
    same = {"batch": 1, "plan": "gang"}
    assert code(before, *moves(2 * COOL, True, True, **same)) == "", "a gang landed once"
    refused = verdict(before, *moves(day - timedelta(seconds=1), True, True, landedOn="n1"))
    assert refused is not None
    assert refused.message == (
        "Deployment web cools down until 2026-11-21 12:00:01 UTC: 2 of its last 2 moves came back "
        "to node n1; 2 landed elsewhere than predicted, so moving it is futile"
    )


def test_a_node_that_was_added_after_the_prediction_could_not_be_predicted() -> None:
    before = cluster()

    def cools(born: timedelta) -> bool:
        """Whether the workload does, where node n2 was made so long after the first move."""
        moves = [
            past(
                before, COOL + timedelta(minutes=n), unpredicted=True, podUid=f"p{n}", landedOn="n2"
            )
            for n in range(2)
        ]
        (landed,) = (node for node in before.nodes if node.metadata.name == "n2")
        landed.metadata.creationTimestamp = min(move.at for move in moves) + born
        return code(before, *moves) == "ELG022"

    assert cools(timedelta(0))
    assert not cools(timedelta(seconds=1)), "the other landing alone may be chance"


def test_slow_is_by_what_is_usual_for_the_workload() -> None:
    before = cluster()
    day = timedelta(hours=23)

    def cools(seconds: float, usual: list[float]) -> bool:
        times = [
            past(before, day + timedelta(minutes=number), readySeconds=one)
            for number, one in enumerate(usual)
        ]
        return code(before, *times, past(before, COOL, readySeconds=seconds)) == "ELG022"

    assert cools(181.0, [60.0, 60.0, 50.0, 60.0])
    assert not cools(180.0, [60.0, 60.0, 50.0, 60.0])
    assert not cools(181.0, [60.0, 60.0])  # too few to say
    assert not cools(65.0, [5.0, 5.0, 5.0])  # not a minute longer
    assert cools(301.0, [])  # beyond readyTimeout


def test_what_was_not_undone_by_others() -> None:
    before = cluster()
    undone = past(before, COOL, replacement="gone")
    assert code(before, undone) == "ELG022"
    assert code(before, past(before, COOL, replacement="gone", controllerKind="Job")) == ""
    assert code(before, past(before, COOL, replacement="gone", controller="rolled-out")) == ""
    assert code(before, past(before, COOL, replacement="")) == ""
    # We moved it on ourselves, long ago as it were.
    onward = past(before, COOL, podUid="gone", app="db")
    assert code(before, undone, onward) == ""
    for controller in before.controllers:
        if controller.kind == "ReplicaSet":
            controller.spec.replicas = 0  # an older template's: nothing is wanted of it
    assert "undone" not in (verdict(before, undone) or Problem("", "")).message


def test_undone_is_only_what_others_did_within_a_day() -> None:
    before = cluster()
    for hours, expected in ((23, "ELG022"), (24, "")):
        moves = [
            past(before, timedelta(hours=hours), replacement="gone", podUid=f"p{number}")
            for number in range(6)
        ]
        assert code(before, *moves) == expected


def test_a_pod_that_others_put_back_is_named_so() -> None:
    before = cluster()
    back = next(pod for pod in before.pods if pod.node == "n1" and "web" in pod.metadata.name)
    back.metadata.creationTimestamp = NOW - timedelta(minutes=20)
    move = past(before, COOL, replacement="gone")
    refused = verdict(before, move, on="n3")
    assert refused is not None
    assert refused.message.endswith("its last move was undone by others, back to node n1")


def test_moves_of_the_plan_itself_count_once_they_went_wrong() -> None:
    before = cluster()
    for changed, expected in (({}, ""), ({"landedOn": "n1"}, "ELG022")):
        move = past(before, timedelta(minutes=5), plan="now", **changed)
        found = Eligibility(before, Limits(), History([move]), plan="now").refusal(0)
        assert (found.code if found else "") == expected


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "ACT023",
            "12:55:00 UTC: its last move was hidden by a pod that cannot be read, on no node",
        ),
        (
            "ACT009",
            "12:25:00 UTC: it was moved at 2026-11-21 11:55:00 UTC",
        ),  # nothing went wrong: its pod was not evicted
    ],
)
def test_a_workload_cools_down_after_an_eviction_that_nobody_could_see(
    code: str, said: str
) -> None:
    before = cluster()
    move = past(before, timedelta(minutes=5), state="lost", code=code, landedOn="")
    found = Eligibility(before, Limits(), History([move])).refusal(0)
    assert found is not None
    assert found.message.endswith(said)


def rested(before: Snapshot, *moves: PastMove) -> list[str]:
    """The nodes that are neither left nor counted on."""
    asked = Eligibility(before, Limits(), History(list(moves)))
    found = []
    for number, node in enumerate(before.nodes):
        problem = asked.places.node(number)
        assert (problem is not None) == asked.places.unstable[number]
        assert problem is None or problem.code == "ELG025"
        found += [node.metadata.name] if problem else []
    return found


def test_a_node_rests_where_arrivals_go_wrong_again() -> None:
    before = cluster()
    lost = [
        past(before, timedelta(minutes=50 - minute), state="lost", podUid=f"p{minute}")
        for minute in range(3)
    ]
    assert rested(before, lost[0]) == []
    assert rested(before, *lost[:2]) == ["n2"]
    asked = Eligibility(before, Limits(), History(lost))
    problem = asked.places.node(1)
    assert problem is not None
    assert problem.message == (
        "node n2 is left alone until 2026-11-21 13:12:00 UTC: "
        "3 of its last 3 arrivals were not Ready in time on node n2"
    )
    lost[0].code = "ACT023"
    problem = Eligibility(before, Limits(), History(lost)).places.node(1)
    assert problem is not None
    assert problem.message.endswith(
        "2 of its last 3 arrivals were not Ready in time on node n2, "
        "1 was hidden by a pod that cannot be read, on node n2"
    )
    (number, *_) = [
        i for i, pod in enumerate(before.pods) if pod.node == "n2" and "db" in pod.metadata.name
    ]
    found = asked.refusal(number)
    assert found is not None
    assert found.code == "ELG025"


def test_a_node_rests_longer_with_each_and_no_longer_than_the_cap() -> None:
    before = cluster()

    def resting(count: int, ago: timedelta) -> bool:
        moves = [past(before, ago, state="lost", podUid=f"p{number}") for number in range(count)]
        return rested(before, *moves) == ["n2"]

    for count in range(2, 8):
        quiet = min(COOL * 2 ** (count - 1), timedelta(hours=24))
        assert resting(count, quiet - timedelta(seconds=1))
        assert not resting(count, quiet)


def test_one_workload_that_comes_back_says_little_of_its_node() -> None:
    before = cluster()
    ago = timedelta(minutes=10)
    back = [past(before, ago, landedOn="n1", podUid=f"p{number}") for number in range(4)]
    assert rested(before, *back) == []
    assert rested(before, *back, past(before, ago, "db", landedOn="n1")) == ["n1"]
