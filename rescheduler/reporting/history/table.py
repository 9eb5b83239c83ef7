"""The history as text for a terminal."""

import msgspec
from rich.text import Text

from rescheduler.model.trails.trail_history import PastCycle, PastStep, Prevented, TrailHistory
from rescheduler.model.wording import counted
from rescheduler.reporting.formats.columns import Column, Grid
from rescheduler.reporting.formats.screen import Screen, coded
from rescheduler.reporting.history import words
from rescheduler.reporting.phrasing import ARROW, age, amount, pod_name, signed
from rescheduler.reporting.view import cleaned

MOVES, CYCLES, REASONS = 40, 15, 12
"""Rows that are shown; the JSON has all."""

_STYLES = {"good": "green", "bad": "red", "open": "yellow"}


def render_history(history: TrailHistory, *, width: int, color: bool) -> str:
    """The history as text of that width in screen cells; with color, as ANSI sequences."""
    seen = msgspec.convert(cleaned(msgspec.to_builtins(history)), TrailHistory)
    screen = Screen(width=width, color=color)
    since = f" since {seen.since:%Y-%m-%d %H:%M} UTC" if seen.since else ""
    screen.line(Text.assemble(("History", "bold"), f" of {seen.source}{since}"), fold=True)
    screen.line(f"{words.period(seen)}; {counted(seen.integrity.records, 'record')}")
    screen.line()
    _integrity(screen, seen)
    for fact in words.facts(seen):
        screen.paragraph(
            Text.assemble((fact.value, "bold"), f"  {fact.detail}"),
            first=Text(fact.label),
            indent=27,
        )
    screen.line()
    _moves(screen, seen)
    _prevented(screen, seen.prevented)
    _cycles(screen, seen.cycles)
    return screen.text()


def _integrity(screen: Screen, seen: TrailHistory) -> None:
    checked = seen.integrity
    if checked.broken:
        places = counted(checked.broken, "place")
        screen.line(Text(f"The audit trail is broken in {places}:", style="bold red"))
    for problem in checked.problems:
        screen.paragraph(Text(problem), indent=2)
    for warning in checked.warnings:
        screen.paragraph(Text(f"Note: {warning}"), indent=2)
    if checked.problems or checked.warnings:
        screen.line()


def _moves(screen: Screen, seen: TrailHistory) -> None:
    if not seen.moves:
        screen.line(words.no_moves(seen))
        screen.line()
        return
    screen.line(Text("Moves", style="bold"))
    wide = screen.width >= 110
    places = [Column(each, flexible=True) for each in ("From", "Expected", "Landed on")]
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
            *first, *(places_of if wide else []), *rest, below=_why(step, [] if wide else places_of)
        )
    screen.grid(grid)
    if len(seen.moves) > MOVES:
        screen.line(f"and {counted(len(seen.moves) - MOVES, 'older move')}; -o json has all")
        screen.line()


def _cells(step: PastStep) -> tuple[list[str], list[str], list[str | Text]]:
    """Which, from where to where, and what came of it."""
    mark = words.mark(step)
    return (
        [f"{step.at:%m-%d %H:%M}", pod_name(step.pod, step.owner, 60)],
        [step.source, words.expected(step), step.landedOn],
        [
            words.ready(step),
            "" if step.promised is None else signed(step.promised),
            "" if step.brought is None else signed(step.brought),
            Text(f"{words.SYMBOLS[mark]} {words.outcome(step)}", style=_STYLES[mark]),
        ],
    )


def _why(step: PastStep, places: list[str]) -> Text | None:
    text = ""
    if places:
        source, wanted, landed = places
        text = f"{source} {ARROW} {landed or '?'} (expected {wanted}). "
    text += ": ".join(part for part in (words.goal(step), words.reason(step)) if part)
    if step.result != "evicted" or words.mark(step) == "bad":
        text += f" {step.code} {step.message}"
    return Text(text.strip(), style="dim") if text.strip() else None


def _prevented(screen: Screen, prevented: list[Prevented]) -> None:
    for stage, title in words.STAGES.items():
        held = [each for each in prevented if each.stage == stage]
        if not held:
            continue
        screen.line(Text(f"Prevented: {title[0].lower()}{title[1:]}", style="bold"))
        for each in held[:REASONS]:
            text = Text(f"{each.sentence} {words.held_back(each)}")
            screen.paragraph(text, first=Text("  ").append_text(coded(each.code)), indent=9)
        if len(held) > REASONS:
            screen.line(f"  and {counted(len(held) - REASONS, 'more reason')}; -o json has all")
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
    for each in cycles[:CYCLES]:
        bad = each.verdict in ("failed", "unfinished")
        below = Text(f"{each.code} {each.message}".strip(), style="dim")
        grid.add(
            f"{each.started:%m-%d %H:%M}",
            *([each.mode, each.plan] if wide else []),
            Text(each.verdict, style="red" if bad else ""),
            f"{each.moves:,}",
            f"{each.evicted:,}",
            f"{each.refused:,}",
            score(each),
            "" if each.seconds is None else age(each.seconds),
            below=below if below.plain and each.verdict in ("failed", "held") else None,
        )
    screen.grid(grid)
    if len(cycles) > CYCLES:
        screen.line(f"and {counted(len(cycles) - CYCLES, 'older cycle')}; -o json has all")


def score(each: PastCycle) -> str:
    """The score before and after the plan; empty where a policy could not be evaluated."""
    if each.scoreBefore is None or each.scoreAfter is None:
        return ""
    return f"{amount(each.scoreBefore)} to {amount(each.scoreAfter)}"
