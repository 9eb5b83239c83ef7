"""The history, and the latest cycles of a service, as HTML pages that need nothing else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from rescheduler.model.trails.trail_history import PastCycle, TrailHistory
from rescheduler.model.wording import clean, count_text
from rescheduler.reporting.formats.page import environment, script_hash
from rescheduler.reporting.history import history_words
from rescheduler.reporting.history.history_text import score
from rescheduler.reporting.view import clean_value

MOVES, CYCLES = 1000, 300
"""Rows that are drawn; the JSON has all."""


@dataclass(frozen=True)
class CycleRow:
    """A cycle, and the address of the page of its plan, where there is one."""

    cycle: PastCycle
    link: str = ""


def render_history_page(history: TrailHistory) -> str:
    """The history as HTML: no address in it is ever loaded, and all text from outside is inert."""
    seen = msgspec.convert(clean_value(msgspec.to_builtins(history)), TrailHistory)
    rows = [CycleRow(cycle) for cycle in seen.cycles[:CYCLES]]
    band = "from the audit trail: what was moved, whether it helped, and what was prevented"
    caption = "The newest first; the score is that before and after the plan, as predicted"
    return _render(rows, seen, title=f"History - {seen.source}", band=band, caption=caption)


def render_cycles_page(rows: Iterable[CycleRow], notes: Sequence[str] = ()) -> str:
    """The latest cycles of a service as HTML; notes: what to know before reading on."""
    safe = _safe(rows)
    caption = "The newest first; plans of cycles before the last start have no page"
    band = f"the last {count_text(len(safe), 'cycle')} of this service"
    return _render(safe, None, title="Earlier cycles", band=band, caption=caption, standing=notes)


def render_waiting_page(rows: Iterable[CycleRow], standing: Sequence[str]) -> str:
    """What a service does that has no report to show, and the cycles that are kept."""
    caption = "The newest first, as they are kept in the cluster"
    band = "this service has no report to show yet"
    return _render(
        _safe(rows), None, title="No report yet", band=band, caption=caption, standing=standing
    )


def _safe(rows: Iterable[CycleRow]) -> list[CycleRow]:
    return [
        CycleRow(msgspec.convert(clean_value(msgspec.to_builtins(row.cycle)), PastCycle), row.link)
        for row in rows
    ]


def _render(
    rows: list[CycleRow],
    seen: TrailHistory | None,
    *,
    title: str,
    band: str,
    caption: str,
    standing: Sequence[str] = (),
) -> str:
    templates = environment()
    script = templates.get_template("report.js").render()
    return templates.get_template("history.html.j2").render(
        seen=seen,
        cycles=rows,
        title=title,
        band=band,
        caption=caption,
        standing=[*map(clean, standing)],
        words=history_words,
        days=history_words.days(seen) if seen else [],
        most=MOVES,
        score=score,
        symbols=history_words.SYMBOLS,
        script=script,
        script_hash=script_hash(script),
    )
