"""The status as text for a terminal."""

from collections.abc import Iterator
from datetime import datetime

import msgspec
from rich.text import Text

from rescheduler.model.run_status import RunStatus, SpentBudget
from rescheduler.model.wording import count_text, verb_for
from rescheduler.reporting.formats.columns import Column, Grid
from rescheduler.reporting.formats.screen import Screen, code_prefix
from rescheduler.reporting.formats.suggestion_list import draw_suggestions
from rescheduler.reporting.phrasing import age, clock, stamp
from rescheduler.reporting.suggestion_words import HEADING, suggestion_rows
from rescheduler.reporting.view import clean_value

CYCLES, MOVES = 10, 20
"""Rows that are shown; the JSON has all."""
_INDENT = 13
_BAD = ("failed", "unfinished")
_WINDOWS = {"cycle": "one cycle", "hour": "one hour", "day": "24 hours"}


def render_status(status: RunStatus, *, width: int, color: bool) -> str:
    """The status as text of that width in screen cells; with color, as ANSI sequences."""
    seen = msgspec.convert(clean_value(msgspec.to_builtins(status)), RunStatus)
    screen = Screen(width=width, color=color)
    title = Text.assemble(("Status", "bold"), f" of cluster {seen.cluster}, {stamp(seen.taken)}")
    screen.line(title, fold=True)
    screen.line()
    for label, text in _facts(seen):
        screen.paragraph(text, first=Text(label), indent=_INDENT)
    screen.line()
    _reasons(screen, seen)
    if seen.planTaken is not None:
        heading = f"{HEADING}, by the plan of {clock(seen.planTaken, seen.taken)}"
        draw_suggestions(screen, suggestion_rows(seen.suggestions), heading)
    _moves(screen, seen)
    _budgets(screen, seen)
    _policies(screen, seen)
    _cycles(screen, seen)
    _resets(screen, seen)
    for note in seen.notes:
        screen.paragraph(Text(f"Note: {note}"), indent=0)
    return f"{screen.text().rstrip()}\n"


def _facts(seen: RunStatus) -> Iterator[tuple[str, Text]]:
    yield "Mode", Text(f"{seen.mode} (of the last cycle)" if seen.mode else "not known")
    if seen.paused:
        yield "Evictions", Text("paused by people", style="bold yellow")
    elif seen.mode == "Audit":
        yield "Evictions", Text("none: mode Audit only reports")
    elif seen.mode:
        yield "Evictions", Text("not paused")
    if seen.slowStartCycles:
        cycles = count_text(seen.slowStartCycles, "more cycle")
        yield "Slow start", Text(f"{cycles} of one pod each")
    yield "Lock", _lock(seen)
    yield "Last cycle", _last_cycle(seen)
    yield "Next cycle", _next_cycle(seen)
    yield "Steering", _steering(seen)
    if seen.plan:
        command = "rescheduler status -o html --out report.html"
        yield "Last report", Text(f"plan {seen.plan}; to read it: {command}")


def _lock(seen: RunStatus) -> Text:
    lock = seen.lock
    if lock is None:
        return Text("not known", style="yellow")
    if not lock.holder:
        return Text("nobody holds it: no cycle in mode Enforce is under way")
    renewed = "never" if lock.renewed is None else _ago(seen, lock.renewed)
    if lock.live:
        return Text(f"held by {lock.holder}, renewed {renewed}")
    text = f"{lock.holder} held it and is gone (last renewed {renewed}); the next one takes it"
    return Text(text, style="yellow")


def _ago(seen: RunStatus, at: datetime) -> str:
    seconds = (seen.taken - at).total_seconds()
    return f"{age(max(0.0, seconds))} ago"


def _last_cycle(seen: RunStatus) -> Text:
    if not seen.cycles:
        return Text("none is known")
    cycle = seen.cycles[0].cycle
    did = f"evicted {count_text(cycle.evicted, 'pod')}"
    if not cycle.evicted:
        did = "failed" if cycle.verdict in _BAD else "evicted nothing"
    style = "red" if cycle.verdict in _BAD else ""
    when = f"{clock(cycle.started, seen.taken)}, {_ago(seen, cycle.started)}"
    return Text(f"{when}: {did}", style=style)


def _next_cycle(seen: RunStatus) -> Text:
    late = seen.next.overdueSeconds
    if late is not None:
        return Text(f"{age(late)} late ({seen.next.message})", style="red")
    if seen.next.at is None:
        return Text(seen.next.message)
    seconds = (seen.next.at - seen.taken).total_seconds()
    when = f"in {age(seconds)}" if seconds > 0 else "begins now"
    return Text(f"{clock(seen.next.at, seen.taken)}, {when} ({seen.next.message})")


def _steering(seen: RunStatus) -> Text:
    by = ", ".join(seen.steering.by)
    if seen.steering.problems:
        said = " ".join(problem.message for problem in seen.steering.problems)
        return Text(f"{by or 'none'}: {said}", style="yellow")
    if seen.steering.live:
        return Text(f"{by} is set up")
    if seen.plan:
        return Text("none: replacements go where kube-scheduler puts them")
    return Text("not known: no report of the last cycle is kept")


def _reasons(screen: Screen, seen: RunStatus) -> None:
    if not seen.reasons:
        screen.line(Text("Nothing holds evictions now.", style="green"))
        screen.line()
        return
    screen.line(Text("Why nothing moves now", style="bold"))
    for reason in seen.reasons:
        if reason.code:
            screen.paragraph(
                Text(reason.message),
                first=Text("  ").append_text(code_prefix(reason.code)),
                indent=9,
            )
        else:
            screen.paragraph(Text(reason.message), indent=2)
    screen.line()


def _moves(screen: Screen, seen: RunStatus) -> None:
    if not seen.moves:
        return
    screen.line(Text("Moves under way", style="bold"))
    grid = Grid(
        [
            Column("Pod", flexible=True),
            Column("From", flexible=True),
            Column("To", flexible=True),
            Column("Since", "right"),
            Column("Waits for"),
        ]
    )
    for move in seen.moves[:MOVES]:
        pod, since = f"{move.namespace}/{move.pod}", age((seen.taken - move.since).total_seconds())
        grid.add(pod, move.node, move.landedOn or "-", since, move.state)
    screen.grid(grid)
    _rest(screen, len(seen.moves) - MOVES, "move")


def _rest(screen: Screen, number: int, noun: str) -> None:
    if number > 0:
        screen.line(f"and {count_text(number, f'more {noun}')}; -o json has all")
        screen.line()


def _budgets(screen: Screen, seen: RunStatus) -> None:
    rows = [row for row in seen.budgets if not row.group or row.remaining == 0]
    if not rows:
        return
    screen.line(Text("Budgets: what may still be evicted", style="bold"))
    grid = Grid(
        [
            Column("Limit"),
            Column("Of", flexible=True),
            Column("In"),
            Column("Used", "right"),
            Column("Allowed", "right"),
            Column("Left", "right"),
            Column("Next move"),
        ]
    )
    for row in rows:
        style = "yellow" if row.remaining == 0 else ""
        grid.add(
            row.limit,
            row.group or "all moves",
            _WINDOWS.get(row.window, row.window),
            str(row.used),
            _allowed_moves(row),
            Text("?" if row.remaining is None else str(row.remaining), style=style),
            _next_move(seen, row),
        )
    screen.grid(grid)
    more = sum(bool(row.group) for row in seen.budgets) - sum(bool(row.group) for row in rows)
    if more:
        has = verb_for(more, "has", "have")
        limits = count_text(more, "more limit")
        text = f"{limits} on a node, namespace or workload {has} moves left; -o json has all"
        screen.paragraph(Text(text), indent=2)
        screen.line()


def _allowed_moves(row: SpentBudget) -> str:
    """How many moves; a percentage with the number that it is."""
    plain = row.most is None or row.amount == str(row.most)
    return row.amount if plain else f"{row.most} ({row.amount})"


def _next_move(seen: RunStatus, row: SpentBudget) -> str:
    if row.remaining != 0 or row.free is None:
        return ""
    return clock(row.free, seen.taken)


def _policies(screen: Screen, seen: RunStatus) -> None:
    if not seen.policies:
        return
    screen.line(Text("Policies that only report", style="bold"))
    for policy in seen.policies:
        until = "" if policy.until is None else f" until {clock(policy.until, seen.taken)}"
        text = Text.assemble((policy.policy, "bold"), f"{until}: {policy.message}")
        screen.paragraph(text, indent=2)
    screen.line()


def _cycles(screen: Screen, seen: RunStatus) -> None:
    if not seen.cycles:
        return
    screen.line(Text("Last cycles", style="bold"))
    grid = Grid(
        [
            Column("When (UTC)"),
            Column("Mode"),
            Column("Verdict"),
            Column("Planned", "right"),
            Column("Evicted", "right"),
            Column("Took", "right"),
        ]
    )
    before = ""
    for record in seen.cycles[:CYCLES]:
        cycle = record.cycle
        text = f"{cycle.code} {cycle.message}".strip()
        cause = Text("for the same reason" if text and text == before else text, style="dim")
        before = text
        grid.add(
            f"{cycle.started:%m-%d %H:%M}",
            cycle.mode,
            Text(cycle.verdict, style="red" if cycle.verdict in _BAD else ""),
            f"{cycle.moves:,}",
            f"{cycle.evicted:,}",
            "" if cycle.seconds is None else age(cycle.seconds),
            below=cause if cause.plain else None,
        )
    screen.grid(grid)
    _rest(screen, len(seen.cycles) - CYCLES, "cycle")


def _resets(screen: Screen, seen: RunStatus) -> None:
    if not seen.resets:
        return
    screen.line(Text("What you can reset, once you know the cause", style="bold"))
    for offer in seen.resets:
        screen.paragraph(Text.assemble((offer.command, "bold"), f"  {offer.message}"), indent=2)
    screen.line()
