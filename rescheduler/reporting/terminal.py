"""The plan or the outcome as text for a terminal."""

from io import StringIO

from rich.console import Console
from rich.text import Text

from rescheduler.model.plan import Plan
from rescheduler.reporting.alerts import Level
from rescheduler.reporting.columns import Column, Grid, fit
from rescheduler.reporting.phrasing import ARROW, amount, percent, pod_name, shorten, signed
from rescheduler.reporting.rows import SYMBOLS, Mark, MoveRow
from rescheduler.reporting.view import View, view

WIDE = 110
"""From this width on a line has room for whole pod names and for the names of budgets."""

NARROWEST = 72
NARROW_POD = 28

BOUND = "\ue000"
"""Stands for a space that must not be broken: rich breaks at every kind of white space.

A character for private use, one cell wide, which `clean` leaves in no name.
"""

STYLES: dict[Mark, str] = {"good": "green", "bad": "bold red", "open": "yellow", "plain": ""}
ALERTS: dict[Level, tuple[str, str]] = {
    "held": ("HELD", "bold red"),
    "problem": ("PROBLEM", "bold yellow"),
    "note": ("NOTE", "bold"),
}


def render_table(plan: Plan, *, width: int, color: bool) -> str:
    """The report as text of that width in screen cells; with color, as ANSI escape sequences.

    Widths below 72 are taken as 72. Nothing is told by color alone.
    """
    seen = view(plan)
    out = StringIO()
    console = Console(
        file=out,
        width=max(width, NARROWEST),
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    _head(console, seen)
    _alerts(console, seen)
    _policies(console, seen)
    _moves(console, seen)
    _left_alone(console, seen)
    _steps(console, seen)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _wrapped(text: Text, console: Console, width: int) -> list[Text]:
    """The lines of a paragraph; a percent sign stays with its number."""
    text = text.copy()
    text.plain = text.plain.replace(" %", f"{BOUND}%")
    lines = list(text.wrap(console, max(width, 20)))
    for line in lines:
        line.plain = line.plain.replace(BOUND, " ")
    return lines


def _paragraph(console: Console, text: Text, *, first: Text | None = None, indent: int = 0) -> None:
    """A paragraph, its lines indented; `first` stands in the indentation of the first line."""
    for number, line in enumerate(_wrapped(text, console, console.width - indent)):
        if number == 0 and first is not None:
            lead = Text.assemble(first, " " * (indent - first.cell_len))
        else:
            lead = Text(" " * indent)
        console.print(lead.append_text(line), soft_wrap=True)


def _head(console: Console, seen: View) -> None:
    console.print(
        Text.assemble((seen.title, "bold"), "  ", (seen.cluster, "bold"), "  ", seen.time),
        overflow="fold",
    )
    style = "bold white on red" if seen.plan.mode == "Enforce" else "bold black on cyan"
    band = Text.assemble((f" {seen.plan.mode.upper()} ", style), " ", seen.band)
    if seen.plan.recorded:
        band.append("; from a recording")
    _paragraph(console, band)
    if seen.verdict is not None:
        verdict = Text.assemble(_coded(seen.verdict.code), seen.verdict.message)
        _paragraph(console, verdict, first=Text("Verdict", style="bold"), indent=9)
    console.print()
    label = max(len(fact.label) for fact in seen.facts) + 2
    value = max(len(fact.value) for fact in seen.facts) + 2
    for fact in seen.facts:
        first = Text.assemble((f"{fact.label:<{label}}", "dim"), (fact.value, "bold"))
        _paragraph(console, Text(fact.detail), first=first, indent=label + value)
    console.print()


def _coded(code: str) -> Text:
    return Text(f"{code} " if code else "", style="cyan")


def _alerts(console: Console, seen: View) -> None:
    for alert in seen.alerts:
        word, style = ALERTS[alert.level]
        _paragraph(
            console, Text.assemble((word, style), " ", _coded(alert.code), (alert.title, "bold"))
        )
        _paragraph(console, Text(alert.message), indent=2)
        if alert.advice:
            _paragraph(console, Text(f"Advice: {alert.advice}", style="italic"), indent=2)
    if seen.alerts:
        console.print()


def _policies(console: Console, seen: View) -> None:
    grid = Grid(
        [
            Column("policy", flexible=True),
            Column("kind"),
            Column("mode"),
            Column("weight", "right"),
            Column("cost"),
            Column("change", "right"),
            Column("moves", "right"),
        ]
    )
    before = max((len(row.before) for row in seen.policies), default=0)
    for row in seen.policies:
        policy = row.policy
        cost = f"{row.before:>{before}} {ARROW} {row.after}"
        better = policy.cost.after < policy.cost.before
        grid.add(
            policy.name,
            policy.kind,
            policy.mode,
            f"{policy.weight:g}",
            cost if policy.problem is None else f"{row.before:>{before}}",
            Text(row.change, style="green" if better else ""),
            str(row.moves),
        )
    _grid(console, grid)


def _grid(console: Console, grid: Grid) -> None:
    for above, line, below in grid.lines(console.width, 2):
        if above is not None:
            _paragraph(console, above, indent=2)
        console.print(line, soft_wrap=True)
        if below is not None:
            _paragraph(console, below, indent=7)
    console.print()


def _moves(console: Console, seen: View) -> None:
    if seen.nothing is not None:
        _paragraph(console, Text(seen.nothing.message, style="bold"), indent=2)
        console.print()
        return
    wide = console.width >= WIDE
    shown = _outcome_grid(seen, wide) if seen.is_outcome else _plan_grid(seen, wide)
    _grid(console, shown)


def _plan_grid(seen: View, wide: bool) -> Grid:
    grid = Grid(
        [
            Column("#", "right"),
            Column("pod", flexible=True),
            Column("from", flexible=True),
            Column("expected to", flexible=True),
            Column("gain", "right"),
            Column("cost", "right"),
            Column("budget", flexible=wide),
        ]
    )
    for row in seen.moves:
        move = row.move
        grid.add(
            str(row.number),
            pod_name(move.pod, move.owner, 0 if wide else NARROW_POD),
            move.source,
            _targets(row, 1),
            Text(signed(move.gain), style="green"),
            amount(move.disruption),
            _budget(row, wide),
            above=_batch(seen, row),
            below=_why(row),
        )
    return grid


def _outcome_grid(seen: View, wide: bool) -> Grid:
    expected = [Column("expected to", flexible=True)] if wide else []
    grid = Grid(
        [
            Column("#", "right"),
            Column("pod", flexible=True),
            Column("from", flexible=True),
            *expected,
            Column("landed on", flexible=True),
            Column("ready", "right"),
            Column("result"),
        ]
    )
    for row in seen.moves:
        if row.landed is None:
            continue
        style = STYLES[row.landed.mark]
        below = [] if wide else [f"expected {_targets(row, 2)}"]
        below += [row.landed.why] if row.landed.why else []
        grid.add(
            str(row.number),
            pod_name(row.move.pod, row.move.owner, 0 if wide else NARROW_POD),
            row.move.source,
            *([_targets(row, 1)] if wide else []),
            Text(row.landed.where, style=style),
            row.landed.ready,
            Text(f"{SYMBOLS[row.landed.mark]:<2} {row.landed.result}", style=style),
            above=_batch(seen, row),
            below=Text("; ".join(below), style="dim") if below else None,
        )
    return grid


def _batch(seen: View, row: MoveRow) -> Text | None:
    """A line above the first move of each batch, where batches say more than the numbers do."""
    if seen.batches in (1, len(seen.moves)):
        return None
    if any(other.move.batch == row.move.batch for other in seen.moves[: row.number - 1][-1:]):
        return None
    return Text(f"batch {row.move.batch}", style="dim")


def _targets(row: MoveRow, most: int) -> str:
    shown = " or ".join(f"{s.node} {percent(s.probability)}" for s in row.landing[:most])
    return f"{shown}, {len(row.landing) - most} more" if len(row.landing) > most > 1 else shown


def _budget(row: MoveRow, wide: bool) -> str:
    budget = row.move.budget
    if budget is None:
        return "no pdb"
    return f"{budget.name}, {budget.allowed} left" if wide else f"{budget.allowed} left"


def _why(row: MoveRow) -> Text:
    text = Text(style="dim")
    if row.audit:
        text.append("Audit only: ", style="bold not dim")
    if len(row.landing) > 1:
        second = row.landing[1]
        more = f", {len(row.landing) - 2} more" if len(row.landing) > 2 else ""
        text.append(f"or {shorten(second.node, 40)} {percent(second.probability)}{more}; ")
    return text.append(row.why)


def _left_alone(console: Console, seen: View) -> None:
    if not seen.groups:
        return
    console.print(Text.assemble(("Left alone ", "bold"), (f"{seen.left_alone:,}", "bold")))
    digits = max(len(f"{group.count:,}") for group in seen.groups)
    for group in seen.groups:
        indent = digits + 12
        first = Text.assemble(
            (f"  {group.count:>{digits},}  ", "bold"), fit(Text(group.code, style="cyan"), 6)
        )
        _paragraph(console, Text(group.sentence), first=first, indent=indent)
        below = Text(style="dim")
        if group.examples:
            example = group.examples[0]
            below.append(f"e.g. {pod_name(example.pod, example.owner)}: {example.message}. ")
        below.append(group.advice)
        if below.plain:
            _paragraph(console, below, indent=indent)
    console.print()


def _steps(console: Console, seen: View) -> None:
    label = max(len(step.label) for step in seen.steps) + 1
    for step in seen.steps:
        line = Text.assemble((f"{step.label + ':':<{label + 1}}", "bold"), step.command)
        console.print(line, soft_wrap=True)
