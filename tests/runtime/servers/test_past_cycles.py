"""The pages of the last cycles of a service."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from rescheduler.model.kept_cycles import CycleLog, CycleRecord, KeptCycles
from rescheduler.model.moves.plan import Change, NodeView
from rescheduler.runtime.inspecting.move_history import earlier_cycles
from rescheduler.runtime.servers import past_cycles
from rescheduler.runtime.servers.past_cycles import KEPT, MOST_BYTES, PastCycles
from rescheduler.runtime.settings import Settings
from tests.cases import every
from tests.reporting import samples
from tests.reporting.history.samples import good_week, lines, week

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def page(past: PastCycles, path: str) -> str:
    make = past.page(path)
    assert make is not None, path
    return make().decode()


def test_each_of_the_last_fifty_has_a_row_and_its_report() -> None:
    past = PastCycles()
    for number in range(KEPT + 3):
        plan = structs.replace(samples.plan(), id=f"plan-{number:03d}")
        past.add(plan, NOW + timedelta(minutes=number), 3.0)
    text = page(past, "/history")
    assert text.count('<th scope="row">') == KEPT
    assert "plan-002" not in text
    assert text.index("plan-052") < text.index("plan-003")
    assert "plan-003" in page(past, "/history/4")
    assert past.page("/history/3") is None
    assert past.page("/history/") is None
    assert past.page("/history/4/..") is None


def test_the_row_of_an_outcome_says_what_came_of_it() -> None:
    past = PastCycles()
    outcome = samples.outcome()
    past.add(outcome, NOW, 61.0)
    text = page(past, "/history")
    evicted = sum(result.result == "evicted" for result in outcome.enforced)
    assert f'<td class="n">{len(outcome.moves)}</td><td class="n">{evicted}</td>' in text
    assert "61 s" in text
    assert "/history" in page(past, "/history/1")


def test_reports_of_a_large_cluster_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    half = Change(before=0.5123, after=0.6123)
    nodes = [
        NodeView(name=f"node-{number:05d}", zone="a", pods=Change(before=30.0, after=31.0),
                 load={"node.cpu": half, "node.memory": half})
        for number in range(5000)
    ]  # fmt: skip
    large = structs.replace(samples.plan(), nodes=nodes)
    past = PastCycles()
    past.add(large, NOW, 1.0)
    (kept,) = past._kept
    assert len(kept.report) < MOST_BYTES // KEPT
    monkeypatch.setattr(past_cycles, "MOST_BYTES", 3 * len(kept.report))
    for _ in range(5):
        past.add(large, NOW, 1.0)
    assert [bool(cycle_page.report) for cycle_page in past._kept] == [False] * 3 + [True] * 3
    assert past.page("/history/3") is None
    assert page(past, "/history/6")
    assert page(past, "/history").count('<th scope="row">') == 6


def test_cycles_before_the_start_come_from_the_audit_trail(tmp_path: Path) -> None:
    (tmp_path / "audit-trail.jsonl").write_bytes(b"".join(lines(week())))
    past = PastCycles()
    past.remember(earlier_cycles(Settings(audit_trail=str(tmp_path))))
    past.add(samples.plan(), NOW, 1.0)
    text = page(past, "/history")
    assert text.count('<th scope="row">') == len(good_week().cycles) + 1
    assert text.count('<a href="/history/') == 1
    assert "no answer within 30 s" in text


@every([None, "-", "nothing/there", "nothing/"])
def test_without_files_there_is_nothing_to_show(where: str | None) -> None:
    assert earlier_cycles(Settings(audit_trail=where)) == []


def test_cycles_of_other_instances_are_shown_as_they_ended() -> None:
    past, (newest, *older) = PastCycles(), good_week().cycles
    begun = structs.replace(newest, verdict="unfinished", seconds=None, message="it was cut off")
    past.remember([begun, *older[:2]])
    started = newest.started + timedelta(minutes=5)
    later = structs.replace(newest, started=started, verdict="failed", message="theirs")
    log = CycleLog(records=[CycleRecord(cycle=c, instance="other") for c in (later, newest)])
    past.read_others(lambda: (KeptCycles(log=log), ""))
    text = page(past, "/history")
    assert text.count('<th scope="row">') == 4
    assert "theirs" in text
    assert "it was cut off" not in text, "the other instance has ended it"
    assert text.index("theirs") < text.index(f"{newest.started:%H:%M}")


def test_that_others_cannot_be_read_is_said() -> None:
    past = PastCycles()
    past.add(samples.plan(), NOW, 1.0)
    past.read_others(lambda: (None, "no answer"))
    text = page(past, "/history")
    assert "Cycles of other instances cannot be read: no answer." in text
    assert text.count('<th scope="row">') == 1
