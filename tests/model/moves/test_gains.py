"""What moves have brought: sums of bounded length, and demotions whose time doubles."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from rescheduler.model.moves.gains import (
    LEAST_PAIRS,
    MOST_PAIRS,
    MOST_POLICIES,
    Baseline,
    GainRecord,
    MeasuredGain,
    NodePods,
)
from rescheduler.model.moves.history import History
from rescheduler.planning.limits.demotion import decide_mode, result
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


POLICY = Spread(name="p", match=Match(all=True), constraints="FromPods")


def record(*pairs: tuple[float, ...], **fields: Any) -> GainRecord:
    made = GainRecord(policy="p", **fields)
    for promised, measured, *moves in pairs:
        made.add(promised, measured, *map(int, moves))
    return made


def test_moves_that_all_bring_the_same_share_leave_no_doubt() -> None:
    low = record(*[(float(n), 0.49 * n) for n in range(1, 11)])
    assert low.falls_short(0.5, 10)
    assert not record(*[(float(n), 0.51 * n) for n in range(1, 11)]).falls_short(0.5, 10)


def test_fewer_moves_than_the_sample_show_nothing() -> None:
    assert not record(*[(1.0, -5.0)] * 9).falls_short(0.5, 10)


def test_one_bad_move_among_good_ones_is_noise() -> None:
    assert not record(*[(1.0, 1.0)] * 9, (1.0, -6.0)).falls_short(0.5, 10)


@pytest.mark.parametrize("lucky", [1.0, 4.0, 8.0, 80.0])
@pytest.mark.parametrize("place", [0, 3, 7])
def test_one_lucky_move_hides_no_policy_that_is_of_no_use(lucky: float, place: int) -> None:
    """Seven of eight moves brought nothing; something else has helped the node of the eighth."""
    pairs = [(1.0, 0.0)] * 8
    pairs[place] = (1.0, lucky)
    assert record(*pairs).shortfall(0.5, 8, 8)
    assert not record(*pairs[:4], *[(1.0, 0.9)] * 4).shortfall(0.5, 8, 8), "half of them helped"


def test_harm_shows_even_where_no_share_is_asked_for() -> None:
    assert record(*[(1.0, -0.2)] * 10).falls_short(0.0, 10)
    assert not record(*[(1.0, 0.0)] * 10).falls_short(0.0, 10)


def test_only_the_latest_moves_count() -> None:
    made = record(*[(1.0, 1.0)] * 300)
    assert len(made.pairs) == MOST_PAIRS
    assert made.promised == MOST_PAIRS


def fail(made: GainRecord, at: datetime, count: int = 10) -> bool:
    """Whether so many moves that bring nothing get it demoted."""
    for _ in range(count):
        made.add(1.0, 0.0)
    return decide_mode(made, Limits(), at)


def test_the_time_of_a_demotion_doubles_up_to_a_fortnight() -> None:
    made, now, days = record(), NOW, []
    for _ in range(7):
        assert fail(made, now)
        assert made.until is not None
        days.append((made.until - now) / timedelta(days=1))
        assert made.demoted_at(made.until - timedelta(seconds=1))
        assert not made.demoted_at(made.until)
        now = made.until
    assert days == [1, 2, 4, 8, 14, 14, 14]


def test_on_probation_a_third_of_the_sample_is_enough() -> None:
    made = record()
    assert fail(made, NOW)
    again = NOW + timedelta(days=1)
    assert not fail(made, again, count=3)
    assert fail(made, again, count=1)


def test_while_it_is_demoted_nothing_is_decided() -> None:
    made = record()
    assert fail(made, NOW)
    assert not fail(made, NOW + timedelta(hours=1), count=50)


def test_a_whole_sample_that_helps_ends_the_probation() -> None:
    made = record()
    assert fail(made, NOW)
    for _ in range(10):
        made.add(1.0, 0.9)
    assert not decide_mode(made, Limits(), NOW + timedelta(days=1))
    assert (made.demotions, made.demoted, made.until, made.reason) == (0, None, None, "")
    assert made.promised == pytest.approx(10.0)


def test_a_policy_that_stopped_helping_does_not_live_on_past_gains() -> None:
    made = record(*[(1.0, 1.0)] * 50)
    bad = 1
    while not fail(made, NOW, count=1):
        bad += 1
    assert bad == 10
    assert made.reason == "measured 0 of 10 promised (0%) over 10 moves"


def test_chance_that_has_many_tries_demotes_no_policy_that_brings_enough() -> None:
    draw, demoted = Random(1), 0
    for _ in range(50):
        made = record()
        for _ in range(200):
            made.add(1.0, draw.gauss(0.7, 0.5))
            demoted += decide_mode(made, Limits(), NOW)
    assert demoted <= 1


def test_a_few_last_moves_that_fall_short_demote_no_good_policy() -> None:
    made = record(*[(1.0, 1.0)] * 50, *[(1.0, 0.0), (1.0, 0.8)] * 5)
    limits = Limits()
    assert not decide_mode(made, limits, NOW)
    history = History(gains=[made])
    found = result(history, POLICY, limits, NOW)
    assert found is not None
    assert found.problem is not None
    assert found.problem.code == "MSR002"
    assert "measured 4 of 10 promised (40%) over 10 moves" in found.problem.message


def test_half_a_sample_that_helps_does_not() -> None:
    made = record()
    assert fail(made, NOW)
    for _ in range(5):
        made.add(1.0, 0.9)
    assert not decide_mode(made, Limits(), NOW + timedelta(days=1))
    assert made.demotions == 1


def test_the_reason_holds_the_sums_that_decided() -> None:
    made = record()
    assert fail(made, NOW)
    assert made.reason == "measured 0 of 10 promised (0%) over 10 moves"
    assert made.pairs == []


def test_records_of_gone_policies_go_and_demotions_are_kept() -> None:
    history = History()
    history.gains_of("demoted").demote(NOW, "it brought nothing")
    for number in range(2 * MOST_POLICIES):
        history.gains_of(f"p{number}").add(1.0, 1.0)
    assert len(history.gains) == MOST_POLICIES
    assert history.gains_of("demoted").demoted_at(NOW)
    assert history.gains_of(f"p{2 * MOST_POLICIES - 1}").pairs == [MeasuredGain(1.0, 1.0)]


def test_a_history_with_gains_reads_back() -> None:
    history = History()
    history.gains_of("p").add(2.0, 1.5)
    history.gains_of("q").demote(NOW, "it brought nothing")
    history.begin(Baseline(plan="x", batch=1, at=NOW, totals={"node.cpu/300": (4.5, 9)}))
    encoded = msgspec.json.encode(history)
    assert msgspec.json.decode(encoded, type=History) == history


@pytest.mark.parametrize("groups", range(1, LEAST_PAIRS + 1))
def test_moves_that_were_measured_as_one_are_one_trial(groups: int) -> None:
    made = record(*[(10.0, 0.0, 10)] * groups)
    assert made.moves == 10 * groups
    assert made.falls_short(0.5, 10) == (groups == LEAST_PAIRS)


def test_a_small_sample_asks_for_no_more_groups_than_moves() -> None:
    assert record((1.0, 0.0, 2)).falls_short(0.5, 1)
    assert not record((1.0, 0.0, 2)).falls_short(0.5, 2)
    assert record((1.0, 0.0), (1.0, 0.0)).falls_short(0.5, 2)


def test_the_doubt_is_that_of_groups() -> None:
    made = record(*[(10.0, 10.0, 10)] * 3, (10.0, -30.0, 10))
    assert made.measured / made.promised == 0.0
    assert not made.falls_short(0.5, 10)


def test_one_group_that_helps_does_not_end_the_probation() -> None:
    made = record()
    assert fail(made, NOW)
    for groups in range(1, LEAST_PAIRS + 1):
        made.add(10.0, 9.0, 10)
        assert not decide_mode(made, Limits(), NOW + timedelta(days=1))
        assert (made.demotions == 0) == (groups == LEAST_PAIRS)


def test_the_last_sample_is_of_whole_groups() -> None:
    made = record(*[(1.0, 1.0)] * 20, *[(3.0, 0.0, 3)] * 4)
    assert made.recent_record(10).pairs == [MeasuredGain(3.0, 0.0, 3)] * 4
    assert made.recent_record(13).moves == 13
    assert made.recent_record(1).pairs == [MeasuredGain(3.0, 0.0, 3)]


def test_pairs_of_an_earlier_version_are_of_one_move_each() -> None:
    old = b'{"policy":"p","pairs":[[1.0,0.5],[2.0,1.0]]}'
    made = msgspec.json.decode(old, type=GainRecord)
    assert made.pairs == [MeasuredGain(1.0, 0.5, 1), MeasuredGain(2.0, 1.0, 1)]


def test_of_nodes_that_are_not_kept_nothing_is() -> None:
    kept = Baseline(
        plan="p",
        batch=1,
        at=NOW,
        nodes={"node.gpu/300": {"n1": 0.5, "n2": 0.6}},
        pods={"pod.gpu/300": {"n1": NodePods({"a": 0.5}), "n2": NodePods({})}},
        devices={"node.gpu/300": {"n1": [("GPU-0", "0", 0.5, ["u"])], "n2": []}},
        uses={"node.gpu/300": {"n1": {"GPU-0": [0.5]}, "n2": {}}},
    )
    kept.keep({"n1"}, {"n1"})
    assert kept.nodes == {"node.gpu/300": {"n1": 0.5}}
    assert list(kept.pods["pod.gpu/300"]) == ["n1"]
    assert list(kept.devices["node.gpu/300"]) == list(kept.uses["node.gpu/300"]) == ["n1"]
    kept.keep({"n1"}, set())
    assert kept.pods == {"pod.gpu/300": {}}
    assert kept.nodes == {"node.gpu/300": {"n1": 0.5}}
