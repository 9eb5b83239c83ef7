"""The history as people and programs see it."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest
from msgspec import structs

import rescheduler.reporting
from rescheduler.model.moves.past_move import State
from rescheduler.model.moves.plan import LandingShare, OwnerRef, PodRef
from rescheduler.model.trails.trail import (
    AnswerRecord,
    CycleEnd,
    CycleStart,
    FollowUpRecord,
    Intent,
    MoveEnd,
    PlannedStep,
    Record,
)
from rescheduler.model.trails.trail_chain import TrailChain
from rescheduler.reporting.history import history_words
from rescheduler.reporting.history.history_json import history_json, history_schema
from rescheduler.reporting.history.history_page import (
    CycleRow,
    render_cycles_page,
    render_history_page,
)
from rescheduler.reporting.history.history_text import render_history
from tests.cases import every
from tests.reporting.history.samples import (
    SAMPLES,
    START,
    broken_week,
    good_week,
    history,
    lines,
    move,
    week,
)
from tests.reporting.schema_fields import undescribed_fields

Golden = Callable[[Path, str], None]


def followed(code: str, state: State, seconds: float | None = None) -> FollowUpRecord:
    """What a later look has found of the move that these tests are about."""
    return FollowUpRecord(
        uid="u", plan="x", result="evicted", code=code, state=state, seconds=seconds
    )


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_table_is_as_approved(name: str, width: int, golden: Golden) -> None:
    golden(Path(f"{name}-{width}.txt"), render_history(SAMPLES[name](), width=width, color=False))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_is_as_approved(name: str, golden: Golden) -> None:
    golden(Path(f"{name}.html"), render_history_page(SAMPLES[name]()))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_json_is_as_approved(name: str, golden: Golden) -> None:
    golden(Path(f"{name}.json"), history_json(SAMPLES[name]()).decode())


def test_the_cycles_of_a_service_are_as_approved(golden: Golden) -> None:
    rows = [
        CycleRow(cycle, f"/history/{number}" if cycle.plan else "")
        for number, cycle in enumerate(good_week().cycles)
    ]
    golden(Path("history-cycles.html"), render_cycles_page(rows))


@pytest.mark.parametrize("width", [72, 80, 120])
@pytest.mark.parametrize("name", SAMPLES)
def test_no_line_is_wider_than_the_screen(name: str, width: int) -> None:
    plain = render_history(SAMPLES[name](), width=width, color=False)
    assert max(len(line) for line in plain.splitlines()) <= width
    assert "\x1b" not in plain


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_written_fits_the_schema(name: str) -> None:
    document = json.loads(history_json(SAMPLES[name]()))
    jsonschema.Draft202012Validator(history_schema()).validate(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(history_schema()).validate({**document, "moves": None})


def test_the_schema_in_the_tree_is_fresh_and_describes_every_field(golden: Golden) -> None:
    schema = history_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert not undescribed_fields(schema)
    golden(
        Path(rescheduler.reporting.__path__[0]) / "history.schema.json",
        json.dumps(schema, indent=2) + "\n",
    )


def test_the_totals_are_those_of_the_moves() -> None:
    totals = good_week().totals
    assert (totals.evicted, totals.refused, totals.unknown) == (9, 2, 1)
    assert (totals.landed, totals.asPredicted, totals.onLikeliest) == (8, 6, 6)
    assert (totals.returned, totals.lost, totals.ready) == (1, 1, 8)
    assert (totals.cycles, totals.failed, totals.unfinished) == (10, 1, 1)
    assert totals.promised == pytest.approx(9 * 0.67)
    assert totals.perPromised == pytest.approx(1 / 0.67)
    assert totals.compared == 3
    assert totals.promisedOfCompared == pytest.approx(3 * 0.67)
    assert totals.measured == pytest.approx(1.6 * 0.67)
    assert totals.perMeasured == pytest.approx(3 / (1.6 * 0.67))


def test_what_was_prevented_is_counted_by_cycle_and_day() -> None:
    found = {
        (prevention.stage, prevention.code): prevention for prevention in good_week().prevented
    }
    assert found["guard", "GRD003"].cycles == 1
    assert found["eviction", "ACT004"].cycles == 1
    assert found["eviction", "DRF001"].cycles == 1
    gangs = found["planning", "ELG016"]
    assert (gangs.cycles, gangs.most, len(gangs.days)) == (7, 46, 7)
    assert gangs.sentence
    assert gangs.first == START
    assert gangs.last == START + timedelta(days=6)


def test_since_leaves_out_what_began_earlier() -> None:
    later = history(lines(week()), since=START + timedelta(days=5))
    assert {move.at >= START + timedelta(days=5) for move in later.moves} == {True}
    assert (later.totals.evicted, later.totals.compared) == (2, 0)
    assert later.integrity.broken == 0
    assert later.integrity.records == good_week().integrity.records


def test_a_change_is_found_at_its_line_and_a_torn_end_is_only_noted() -> None:
    checked = broken_week().integrity
    assert checked.broken == 1
    assert checked.problems[0].startswith("audit-trail.jsonl:6: the line was changed")
    assert len(checked.warnings) == 1
    assert "not a whole record" in checked.warnings[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: made.pop(8), "audit-trail.jsonl:9: 1 record before this line is missing"),
        (lambda made: made.insert(8, made[2]), "audit-trail.jsonl:9: the line is out of order"),
        (
            lambda made: made.__setitem__(8, b'{"trail":1}\n'),
            "audit-trail.jsonl:9: the line is not",
        ),
    ],
)
def test_the_first_broken_line_is_named(change: Callable[[list[bytes]], None], said: str) -> None:
    made = lines(week())
    change(made)
    checked = history(made).integrity
    assert checked.broken >= 1
    assert checked.problems[0].startswith(said)


def test_mixed_chains_of_several_processes_and_a_log_are_read() -> None:
    one, other = lines(week(), "aaaa"), lines(week(), "bbbb")
    mixed = []
    for first, second in zip(one, other, strict=True):
        prefix = b"[pod/rescheduler-0/main] 2026-11-21T12:00:00.1Z "
        mixed += [first, b'{"event":"cycle begins","level":"info"}\n', prefix + second, b"a line\n"]
    chain = history([line for line in mixed if not line.startswith(b"[pod")]).integrity
    assert (chain.broken, chain.records) == (0, len(one))
    both = TrailChain()
    found = [both.add(line, "log", number) for number, line in enumerate(mixed, 1)]
    both.finish()
    assert sum(entry is not None for entry in found) == 2 * len(one)
    assert (both.broken, both.warnings) == (0, [])


def test_an_intent_whose_request_was_never_sent_is_no_move() -> None:
    made = [
        (START, CycleStart(mode="Enforce")),
        (START, Intent(uid="u", namespace="d", pod="p", source="n", plan="x", fence=1)),
        (START, MoveEnd(uid="u", plan="x", result="skipped", code="ACT010")),
        (START, CycleEnd(verdict="failed", exit=1, code="ACT016")),
    ]
    found = history(lines(iter(made)))
    assert found.moves == []
    assert found.totals.unknown == 0


def test_an_answer_that_never_came_is_filled_in_when_it_is_found_out() -> None:
    made = [
        (START, CycleStart(mode="Enforce")),
        (START, Intent(uid="u", namespace="d", pod="p", source="n", plan="x", fence=1)),
        (START, CycleStart(mode="Enforce")),
        (START, followed(code="ACT001", state="evicted")),
        (START, CycleEnd(verdict="done", exit=0)),
    ]
    found = history(lines(iter(made)))
    (step,) = found.moves
    assert (step.result, step.code, step.pod.name) == ("evicted", "ACT001", "p")
    assert [cycle.verdict for cycle in found.cycles] == ["done", "unfinished"]


@every(
    [
        (followed(code="ACT011", state="lost"), "not Ready", 1),
        (followed(code="ACT017", state="lost"), "not Ready", 1),
        (followed(code="ACT018", state="lost"), "restarts", 1),
        (followed(code="ACT023", state="lost"), "not readable", 1),
        (followed(code="ACT020", state="ready", seconds=4.0), "was Pending", 0),
        (
            MoveEnd(uid="u", plan="x", result="evicted", code="ACT019", message="It is there."),
            "still there",
            0,
        ),
    ]
)
def test_a_move_that_went_wrong_is_never_shown_as_good(
    record: Record, said: str, lost: int
) -> None:
    made = [
        (START, CycleStart(mode="Enforce")),
        (START, Intent(uid="u", namespace="d", pod="p", source="n", plan="x", fence=1)),
        (START, AnswerRecord(uid="u", plan="x", result="evicted", code="ACT001", message="")),
        (START, record),
        (START, CycleEnd(verdict="done", exit=3)),
    ]
    found = history(lines(iter(made)))
    (step,) = found.moves
    assert (history_words.outcome(step), history_words.mark(step), found.totals.lost) == (
        said,
        "bad",
        lost,
    )


def test_an_eviction_that_counts_as_carried_out_unread_is_lost() -> None:
    made = [
        (START, CycleStart(mode="Enforce")),
        (START, Intent(uid="u", namespace="d", pod="p", source="n", plan="x", fence=1)),
        (START, followed(code="ACT023", state="lost")),
        (START, CycleEnd(verdict="done", exit=3)),
    ]
    found = history(lines(iter(made)))
    assert (found.totals.evicted, found.totals.lost) == (1, 1)


def test_names_from_the_cluster_draw_nothing_in_terminal_and_page() -> None:
    evil = "\x1b[31mred\x07<script>alert(1)</script>\u202e"
    step = next(iter(move(1, "p", START, "good")))[1]
    assert isinstance(step, PlannedStep)
    hostile = structs.replace(
        step.move,
        pod=PodRef(namespace=evil, name=evil, uid="u"),
        owner=OwnerRef(kind=evil, name=evil, uid="w"),
        source=evil,
        landing=[LandingShare(node=evil, probability=1.0)],
    )
    made = [
        (START, CycleStart(mode="Enforce", tool=evil)),
        (START, structs.replace(step, move=hostile)),
        (START, AnswerRecord(uid="u", plan="p", result="evicted", code=evil, message=evil)),
        (START, CycleEnd(verdict="failed", exit=1, code=evil, message=evil)),
    ]
    found = history(lines(iter(made)))
    assert len(found.moves) == 1
    table = render_history(found, width=120, color=False)
    page = render_history_page(found)
    for text in (table, page):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>alert" not in page
    assert page.count("<script>") == 1
    assert "<script>alert" not in render_cycles_page([CycleRow(cycle) for cycle in found.cycles])
