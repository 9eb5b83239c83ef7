"""The history as text for a terminal."""

import msgspec
from rich.text import Text

from rescheduler.model.trails.trail_history import PastCycle, PastStep, Prevented, TrailHistory
from rescheduler.model.wording import count_text
from rescheduler.reporting.formats.columns import Column, Grid
from rescheduler.reporting.formats.screen import Screen, code_prefix
from rescheduler.reporting.history import history_words
from rescheduler.reporting.phrasing import ARROW, age, amount, pod_name, signed_gain
from rescheduler.reporting.view import clean_value

MOVES, CYCLES, REASONS = 40, 15, 12
"""Rows that are shown; the JSON has all."""

_STYLES = {"good": "green", "bad": "red", "open": "yellow"}


def render_history(history: TrailHistory, *, width: int, color: bool) -> str:
    """The history as text of that width in screen cells; with color, as ANSI sequences."""
    seen = msgspec.convert(clean_value(msgspec.to_builtins(history)), TrailHistory)
    screen = Screen(width=width, color=color)
    since = f" since {seen.since:%Y-%m-%d %H:%M} UTC" if seen.since else ""
    screen.line(Text.assemble(("History", "bold"), f" of {seen.source}{since}"), fold=True)
    screen.line(f"{history_words.period(seen)}; {count_text(seen.integrity.records, 'record')}")
    screen.line()
    _integrity(screen, seen)
    for fact in history_words.facts(seen):
        screen.paragraph(
            Text.assemble((fact.value, "bold"), f"  {fact.detail}"),
            first=Text(fact.label),
            indent=27,
        )
    screen.line()
    _moves(screen, seen)
    _prevented_section(screen, seen.prevented)
    _cycles(screen, seen.cycles)
    return screen.text()


def _integrity(screen: Screen, seen: TrailHistory) -> None:
    checked = seen.integrity
    if checked.broken:
        places = count_text(checked.broken, "place")
        screen.line(Text(f"The audit trail is broken in {places}:", style="bold red"))
    for problem in checked.problems:
        screen.paragraph(Text(problem), indent=2)
    for warning in checked.warnings:
        screen.paragraph(Text(f"Note: {warning}"), indent=2)
    if checked.problems or checked.warnings:
        screen.line()


def _moves(screen: Screen, seen: TrailHistory) -> None:
    if not seen.moves:
        screen.line(history_words.no_moves(seen))
        screen.line()
        return
    screen.line(Text("Moves", style="bold"))
    wide = screen.width >= 110
    places = [Column(title, flexible=True) for title in ("From", "Expected", "Landed on")]
    grid = Grid(
        [
            Column("When (UTC)"),
            Column("Pod", flexible=True),
            *(places if wide else []),
            Column("Ready", "right"),
            Column("Promised", "right"),
            Column("Measured", "right"),
            Column("Outcome"),
        ]
    )
    for step in seen.moves[:MOVES]:
        first, places_of, rest = _cells(step)
        grid.add(
            *first,
            *(places_of if wide else []),
            *rest,
            below=_reason_text(step, [] if wide else places_of),
        )
    screen.grid(grid)
    if len(seen.moves) > MOVES:
        screen.line(f"and {count_text(len(seen.moves) - MOVES, 'older move')}; -o json has all")
        screen.line()


def _cells(step: PastStep) -> tuple[list[str], list[str], list[str | Text]]:
    """Which, from where to where, and what came of it."""
    mark = history_words.mark(step)
    return (
        [f"{step.at:%m-%d %H:%M}", pod_name(step.pod, step.owner, 60)],
        [step.source, history_words.expected_node(step), step.landedOn],
        [
            history_words.ready(step),
            "" if step.promised is None else signed_gain(step.promised),
            "" if step.brought is None else signed_gain(step.brought),
            Text(
                f"{history_words.SYMBOLS[mark]} {history_words.outcome(step)}", style=_STYLES[mark]
            ),
        ],
    )


def _reason_text(step: PastStep, places: list[str]) -> Text | None:
    text = ""
    if places:
        source, wanted, landed = places
        text = f"{source} {ARROW} {landed or '?'} (expected {wanted}). "
    text += ": ".join(
        part for part in (history_words.goal(step), history_words.reason(step)) if part
    )
    if step.result != "evicted" or history_words.mark(step) == "bad":
        text += f" {step.code} {step.message}"
    return Text(text.strip(), style="dim") if text.strip() else None


def _prevented_section(screen: Screen, prevented: list[Prevented]) -> None:
    for stage, title in history_words.STAGES.items():
        held = [prevention for prevention in prevented if prevention.stage == stage]
        if not held:
            continue
        screen.line(Text(f"Prevented: {title[0].lower()}{title[1:]}", style="bold"))
        for prevention in held[:REASONS]:
            text = Text(f"{prevention.sentence} {history_words.held_back(prevention)}")
            screen.paragraph(
                text, first=Text("  ").append_text(code_prefix(prevention.code)), indent=9
            )
        if len(held) > REASONS:
            screen.line(f"  and {count_text(len(held) - REASONS, 'more reason')}; -o json has all")
        screen.line()


def _cycles(screen: Screen, cycles: list[PastCycle]) -> None:
    if not cycles:
        return
    screen.line(Text("Cycles", style="bold"))
    wide = screen.width >= 100
    grid = Grid(
        [
            Column("When (UTC)"),
            *([Column("Mode"), Column("Plan")] if wide else []),
            Column("Verdict"),
            Column("Moves", "right"),
            Column("Evicted", "right"),
            Column("Refused", "right"),
            Column("Score", "right"),
            Column("Took", "right"),
        ]
    )
    for cycle in cycles[:CYCLES]:
        bad = cycle.verdict in ("failed", "unfinished")
        below = Text(f"{cycle.code} {cycle.message}".strip(), style="dim")
        grid.add(
            f"{cycle.started:%m-%d %H:%M}",
            *([cycle.mode, cycle.plan] if wide else []),
            Text(cycle.verdict, style="red" if bad else ""),
            f"{cycle.moves:,}",
            f"{cycle.evicted:,}",
            f"{cycle.refused:,}",
            score(cycle),
            "" if cycle.seconds is None else age(cycle.seconds),
            below=below if below.plain and cycle.verdict in ("failed", "held") else None,
        )
    screen.grid(grid)
    if len(cycles) > CYCLES:
        screen.line(f"and {count_text(len(cycles) - CYCLES, 'older cycle')}; -o json has all")


def score(cycle: PastCycle) -> str:
    """The score before and after the plan; empty where a policy could not be evaluated."""
    if cycle.scoreBefore is None or cycle.scoreAfter is None:
        return ""
    return f"{amount(cycle.scoreBefore)} to {amount(cycle.scoreAfter)}"
