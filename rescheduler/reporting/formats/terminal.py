"""The plan or the outcome as text for a terminal."""

from rich.cells import cell_len
from rich.text import Text

from rescheduler.model.moves.assessment import AssessmentState
from rescheduler.model.moves.plan import Report
from rescheduler.model.wording import count_text, duration_text, gpu_hours
from rescheduler.reporting.alerts import Level
from rescheduler.reporting.formats.columns import Column, Grid, fit
from rescheduler.reporting.formats.screen import Screen, code_prefix
from rescheduler.reporting.formats.suggestion_list import draw_suggestions
from rescheduler.reporting.next_steps import NOT_GIVEN, Invocation
from rescheduler.reporting.phrasing import ARROW, amount, percent, pod_name, shorten, signed_gain
from rescheduler.reporting.rows import SYMBOLS, Mark, MoveRow, PolicyRow, by_kueue
from rescheduler.reporting.view import View, view

WIDE = 110
"""From this width on a line has room for whole pod names and for the names of budgets."""

NARROW_POD = 28

MOST_MEASURED = 5
"""Measured moves that a terminal shows; the page and the JSON have more."""

MOST_IDLE = 10
"""Owners of idle GPUs that a terminal shows; the page and the JSON have more."""

STYLES: dict[Mark, str] = {"good": "green", "bad": "bold red", "open": "yellow", "plain": ""}
POLICY_STATES = {"healthy": "green", "no move helps": "bold red"}
STATES: dict[AssessmentState, str] = {
    "Healthy": "bold white on green",
    "NotJudged": "bold black on white",
    "Powerless": "bold white on red",
    "Improvable": "bold black on cyan",
}
ALERTS: dict[Level, tuple[str, str]] = {
    "held": ("HELD", "bold red"),
    "problem": ("PROBLEM", "bold yellow"),
    "note": ("NOTE", "bold"),
}


def render_table(
    report: Report, *, width: int, color: bool, invocation: Invocation = NOT_GIVEN
) -> str:
    """The report as text of that width in screen cells; with color, as ANSI escape sequences.

    Widths below 72 are taken as 72. Nothing is shown by color alone.
    """
    seen = view(report, invocation)
    screen = Screen(width=width, color=color)
    _head(screen, seen)
    _alerts(screen, seen)
    _policies(screen, seen)
    _moves(screen, seen)
    _past_gains(screen, seen)
    _idle(screen, seen)
    _left_alone(screen, seen)
    draw_suggestions(screen, seen.suggestions)
    _steps(screen, seen)
    return screen.text()


def _head(screen: Screen, seen: View) -> None:
    screen.line(
        Text.assemble((seen.title, "bold"), "  ", (seen.cluster, "bold"), "  ", seen.time),
        fold=True,
    )
    style = "bold white on red" if seen.mode == "Enforce" else "bold black on cyan"
    band = Text.assemble((f" {seen.mode.upper()} ", style), " ", seen.band)
    if seen.plan.recorded:
        band.append("; from a recording")
    screen.paragraph(band)
    if seen.verdict is not None:
        verdict = Text.assemble(code_prefix(seen.verdict.code), seen.verdict.message)
        screen.paragraph(verdict, first=Text("Verdict", style="bold"), indent=9)
    _headline(screen, seen)
    screen.line()
    label = max(len(fact.label) for fact in seen.facts) + 2
    value = max(cell_len(fact.value) for fact in seen.facts) + 2
    for fact in seen.facts:
        first = Text.assemble((f"{fact.label:<{label}}", "dim"), (fact.value, "bold"))
        screen.paragraph(Text(fact.detail), first=first, indent=label + value)
    screen.line()


def _headline(screen: Screen, seen: View) -> None:
    """The sentence on top, with its state in color where it begins with that."""
    said = seen.judgement
    label, text = "" if said is None else said.label.capitalize(), seen.headline
    if said is not None and text.startswith(f"{label}:"):
        rest = text.removeprefix(f"{label}:")
        text_in_color = Text.assemble((f" {said.label} ", STATES[said.state]), (rest, "bold"))
        screen.paragraph(text_in_color)
    else:
        screen.paragraph(Text(text, style="bold"))


def _alerts(screen: Screen, seen: View) -> None:
    for alert in seen.alerts:
        word, style = ALERTS[alert.level]
        screen.paragraph(
            Text.assemble((word, style), " ", code_prefix(alert.code), (alert.title, "bold"))
        )
        screen.paragraph(Text(alert.message), indent=2)
        if alert.advice:
            screen.paragraph(Text(f"Advice: {alert.advice}", style="italic"), indent=2)
    if seen.alerts:
        screen.line()


def _policies(screen: Screen, seen: View) -> None:
    wide = screen.width >= WIDE
    grid = Grid(
        [
            Column("policy", flexible=True),
            Column("kind"),
            Column("mode"),
            *([Column("selects")] if wide else []),
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
            *([row.selects] if wide else []),
            f"{policy.weight:g}",
            cost if policy.problem is None else "not evaluated",
            Text(row.change, style="green" if better else ""),
            str(row.moves),
            below=_state(row, wide),
        )
    screen.grid(grid)


def _state(row: PolicyRow, wide: bool) -> Text | None:
    """Whether it judges and can mend anything, and what it selects, below its row."""
    text = Text(style="dim")
    if row.state:
        text.append(row.state, style=POLICY_STATES.get(row.state, ""))
    if not wide:
        text.append(f"{', ' if row.state else ''}selects {row.selects}")
    return text if text.plain else None


def _moves(screen: Screen, seen: View) -> None:
    if seen.nothing is not None:
        screen.paragraph(Text(seen.nothing.message, style="bold"), indent=2)
        screen.line()
        return
    wide = screen.width >= WIDE
    shown = _outcome_grid(seen, wide) if seen.is_outcome else _plan_grid(seen, wide)
    screen.grid(shown)


def _plan_grid(seen: View, wide: bool) -> Grid:
    grid = Grid(
        [
            Column("#", "right"),
            Column("pod", flexible=True),
            Column("from", flexible=True),
            Column("expected to", flexible=True),
            Column("gain", "right"),
            Column("disruption", "right"),
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
            Text(signed_gain(move.gain), style="green"),
            amount(move.disruption),
            _budget(row, wide),
            above=_batch(seen, row),
            below=_reason_text(row),
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


def _past_gains(screen: Screen, seen: View) -> None:
    """What earlier moves have brought: by policy, and the latest of them."""
    if seen.gains:
        screen.line(Text("What the moves so far have brought", style="bold"))
        grid = Grid(
            [
                Column("policy", flexible=True),
                Column("promised", "right"),
                Column("measured", "right"),
                Column("share", "right"),
                Column("moves", "right"),
                Column("state"),
            ]
        )
        for row in seen.gains:
            state = Text(f"{SYMBOLS[row.mark]:<2} {row.state}", style=STYLES[row.mark])
            grid.add(
                row.policy.name,
                row.promised,
                row.measured,
                row.share,
                str(row.moves),
                state,
                below=Text(row.until, style="dim") if row.until else None,
            )
        screen.grid(grid)
    if not seen.measured:
        return
    latest = seen.measured[:MOST_MEASURED]
    count = "" if len(latest) == len(seen.measured) else f", the latest {len(latest)}"
    screen.line(Text(f"Moves that were measured{count}", style="bold"))
    wide = screen.width >= WIDE
    grid = Grid(
        [
            Column("pod", flexible=True),
            *([Column("from", flexible=True)] if wide else []),
            Column("landed on", flexible=True),
            Column("evicted"),
            Column("policy", flexible=True),
            Column("promised", "right"),
            Column("measured", "right"),
        ]
    )
    for measured_row in latest:
        grid.add(
            pod_name(measured_row.move.pod, None, 0 if wide else NARROW_POD),
            *([measured_row.move.node] if wide else []),
            measured_row.move.landedOn or "not seen",
            measured_row.evicted,
            measured_row.policy,
            measured_row.promised,
            Text(measured_row.measured, style=STYLES[measured_row.mark]),
            below=Text(measured_row.note, style="dim") if measured_row.note else None,
        )
    screen.grid(grid)


def _idle(screen: Screen, seen: View) -> None:
    """Who holds GPUs without using them, by each policy that tells."""
    for policy in seen.plan.policies:
        if not policy.idle:
            continue
        hours = sum(holder.hours for holder in policy.idle)
        owners = count_text(len(policy.idle), "owner")
        daily = sum(holder.daily for holder in policy.idle)
        span = duration_text(round(max(holder.span for holder in policy.idle)))
        text = f": {owners}, {gpu_hours(hours)} GPU-hours in the last {span}, {daily:,.0f} a day"
        screen.paragraph(Text(text), first=Text.assemble(("Idle GPUs ", "bold"), policy.name))
        grid = Grid(
            [
                Column("namespace", flexible=True),
                Column("owner", flexible=True),
                Column("pods", "right"),
                Column("GPUs", "right"),
                Column("in use", "right"),
                Column("GPU-hours idle", "right"),
                Column("a day", "right"),
            ]
        )
        for holder in policy.idle[:MOST_IDLE]:
            grid.add(
                holder.namespace,
                holder.owner,
                str(holder.pods),
                f"{round(holder.gpus, 2):g}",
                f"{holder.use:.1%}",
                gpu_hours(holder.hours),
                f"{holder.daily:,.0f}",
            )
        screen.grid(grid)


def _batch(seen: View, row: MoveRow) -> Text | None:
    """A line above the first move of each batch, where batches say more than the numbers do."""
    if any(other.move.batch == row.move.batch for other in seen.moves[: row.number - 1][-1:]):
        return None
    if row.move.group:
        how = by_kueue(row.move, seen.moves)
        said = f"batch {row.move.batch}: gang {row.move.group}, all or none{how}"
        return Text(said, style="dim")
    if seen.batches in (1, len(seen.moves)):
        return None
    return Text(f"batch {row.move.batch}", style="dim")


def _targets(row: MoveRow, most: int) -> str:
    shown = " or ".join(f"{s.node} {percent(s.probability)}" for s in row.landing[:most])
    return f"{shown}, {len(row.landing) - most} more" if len(row.landing) > most > 1 else shown


def _budget(row: MoveRow, wide: bool) -> str:
    budget = row.move.budget
    if budget is None:
        return "no PDB"
    return f"{budget.name}, {budget.allowed} left" if wide else f"{budget.allowed} left"


def _reason_text(row: MoveRow) -> Text:
    text = Text(style="dim")
    if row.audit:
        text.append("Audit only: ", style="bold not dim")
    if len(row.landing) > 1:
        second = row.landing[1]
        more = f", {len(row.landing) - 2} more" if len(row.landing) > 2 else ""
        text.append(f"or {shorten(second.node, 40)} {percent(second.probability)}{more}; ")
    text.append(row.why)
    if row.steered:
        text.append(f"; {row.steered}" if row.why else row.steered)
    cost = row.move.restart
    if cost is not None and (cost.moves or cost.workSeconds is not None):
        text.append(f"; {row.restart}" if row.why else row.restart)
    return text


def _left_alone(screen: Screen, seen: View) -> None:
    if not seen.groups:
        return
    screen.line(Text.assemble(("Left alone ", "bold"), (f"{seen.left_alone:,}", "bold")))
    digits = max(len(f"{group.count:,}") for group in seen.groups)
    for group in seen.groups:
        indent = digits + 12
        first = Text.assemble(
            (f"  {group.count:>{digits},}  ", "bold"), fit(Text(group.code, style="cyan"), 6)
        )
        screen.paragraph(Text(group.sentence), first=first, indent=indent)
        below = Text(style="dim")
        if group.examples:
            example = group.examples[0]
            below.append(f"e.g. {pod_name(example.pod, example.owner)}: {example.message}. ")
        below.append(group.advice)
        if below.plain:
            screen.paragraph(below, indent=indent)
    screen.line()


def _steps(screen: Screen, seen: View) -> None:
    label = max(len(step.label) for step in seen.steps) + 1
    for step in seen.steps:
        first, *more = step.lines(screen.width - label - 1)
        screen.line(Text.assemble((f"{step.label + ':':<{label + 1}}", "bold"), first))
        for line in more:
            screen.line(" " * (label + 1) + line)
