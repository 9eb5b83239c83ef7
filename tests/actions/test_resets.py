"""What is reset by name, and that each request is obeyed once and none is lost."""

from datetime import timedelta

from rescheduler.actions.resets import (
    drop_requests,
    obey_requests,
    requests_in,
    reset,
    with_request,
)
from rescheduler.model.moves.gains import GainRecord
from rescheduler.model.moves.history import SLOW_FOR, History
from rescheduler.model.moves.past_move import PastMove, State
from tests.cases import every
from tests.cluster import NOW


def history(state: State = "lost", code: str = "ACT011", namespace: str = "team") -> History:
    move = PastMove(
        plan="p",
        podUid="u",
        namespace=namespace,
        pod="web-0",
        workload="w",
        source="n1",
        at=NOW - timedelta(minutes=30),
        state=state,
        code=code,
        settled=None if state in ("intended", "evicted") else NOW - timedelta(minutes=10),
    )
    return History([move])


@every(
    [
        ("lost", "ACT011", "team", True),
        ("lost", "ACT011", "team/web-0", True),
        ("lost", "ACT011", "tea", False),
        ("lost", "ACT011", "web-0", False),
        ("evicted", "ACT019", "team", True),
        ("evicted", "ACT001", "team", False),
        ("evicted", "ACT001", "team/web-0", True),
        ("intended", "", "team", False),
        ("ready", "ACT001", "team/web-0", False),
        ("refused", "ACT004", "team/web-0", False),
    ]
)
def test_a_hold_is_forgiven_where_there_is_one_and_nothing_is_given_back(
    state: State, code: str, name: str, done: bool
) -> None:
    found = history(state, code)
    charged = found.moves[0].charged
    assert bool(reset(found, "hold", name, NOW)) == done
    assert [move.forgiven for move in found.moves] == [done]
    assert found.moves[0].charged == charged
    assert reset(found, "hold", name, NOW) == [], "it is told once"


def test_of_a_hold_that_has_ended_by_time_nothing_is_told() -> None:
    found = history()
    found.moves[0].at = NOW - timedelta(days=4)
    found.moves[0].settled = NOW - timedelta(days=3)
    found.slow["team"] = NOW - SLOW_FOR
    assert reset(found, "hold", "team", NOW) == []
    assert found.slow == {}


def test_a_demotion_that_is_over_is_kept_with_what_was_measured() -> None:
    found = History(gains=[GainRecord(policy="hot"), GainRecord(policy="cold")])
    found.gains[1].demote(NOW, "measured 0 of 8")
    assert reset(found, "demotion", "hot", NOW) == []
    assert len(reset(found, "demotion", "cold", NOW)) == 1
    assert [gain.policy for gain in found.gains] == ["hot"]


def test_every_request_is_obeyed_once_and_a_line_that_is_none_is_not() -> None:
    asked = with_request({"data": {"moves": "x"}}, "hold", "team")
    asked = with_request(with_request(asked, "hold", "team"), "demotion", "hot")
    assert requests_in(asked) == [("hold", "team"), ("demotion", "hot")]
    found = history()
    left = obey_requests(asked, found, NOW)
    assert found.moves[0].forgiven
    assert left == {"data": {"moves": "x"}}
    odd = {"data": {"reset": "hold\nbudgets all\nhold team web\n\nlandings Job"}}
    assert requests_in(odd) == [("landings", "Job")]


def test_a_request_that_comes_while_others_are_obeyed_is_kept() -> None:
    first = with_request({}, "hold", "team")
    meanwhile = with_request(first, "hold", "shop")
    assert requests_in(drop_requests(meanwhile, requests_in(first))) == [("hold", "shop")]
    assert requests_in(drop_requests(first, requests_in(first))) == []
