"""A pod explained, as text for a terminal."""

from rich.text import Text

from rescheduler.model.explanation import Check, GangView, PodExplanation, PolicyView
from rescheduler.model.moves.gates import GATES
from rescheduler.model.wording import count_text
from rescheduler.reporting.alerts import advice
from rescheduler.reporting.explain.explanation_words import (
    HEADINGS,
    landing_words,
    title,
    verdict_words,
    where_and_when,
    worth_words,
)
from rescheduler.reporting.formats.columns import Column, Grid
from rescheduler.reporting.formats.screen import KEPT, Screen, code_prefix
from rescheduler.reporting.formats.suggestion_list import draw_suggestions
from rescheduler.reporting.phrasing import percent, signed_gain
from rescheduler.reporting.suggestion_words import HEADING_OF_WHOLE, suggestion_rows

_LABEL = 13
_STATES = {
    "overlap": "scheduled beside the old pod, which still holds its place",
    "gone": "scheduled once the old pod is gone",
}
_OUTCOMES = {"moves": "green", "held": "bold red", "stays": "yellow", "unknown": "dim"}


def draw_pod(screen: Screen, seen: PodExplanation) -> None:
    """What becomes of it, and everything that leads there."""
    owner = seen.owner
    name = f"{seen.pod.namespace}/{seen.pod.name}"
    screen.line(Text.assemble(("POD ", "bold"), (name, "bold")), fold=True)
    screen.line(Text(where_and_when(seen.header), style="dim"), fold=True)
    screen.line()
    _fact(screen, "Verdict", _verdict(seen))
    _fact(screen, "Owner", Text(f"{owner.kind} {owner.name}" if owner else "none: a bare pod"))
    if seen.gang is not None:
        _fact(screen, "Gang", Text(_gang_words(seen.gang)))
    place = f"{seen.node}, {seen.phase}" if seen.node else f"on no node, {seen.phase}"
    _fact(screen, "Node", Text(f"{place}; placed by {seen.scheduler}"))
    _landing(screen, seen)
    screen.line()
    draw_policies(screen, seen.policies, gains=True)
    _checks(screen, seen.eligibility)
    if seen.verdict.outcome == "moves":
        _gates(screen)
    _filters(screen, seen)
    _scores(screen, seen)
    draw_suggestions(screen, suggestion_rows(seen.suggestions), HEADING_OF_WHOLE)
    _steps(screen, seen)


def _gang_words(gang: GangView) -> str:
    least = (
        "all its pods" if gang.minimum is None else f"at least {count_text(gang.minimum, 'pod')}"
    )
    run = "; Kueue starts and stops it" if gang.kueue else ""
    return f"{gang.name} ({gang.mark}): needs {least}, {gang.ready} of {gang.members} Ready{run}"


def _fact(screen: Screen, label: str, text: Text) -> None:
    screen.paragraph(text, first=Text(label, style="dim"), indent=_LABEL)


def _verdict(seen: PodExplanation) -> Text:
    verdict = seen.verdict
    worth = worth_words(verdict) if verdict.outcome == "moves" else ""
    text = Text.assemble((verdict_words(verdict), _OUTCOMES[verdict.outcome]))
    text.append(f": {worth}; " if worth else ": ")
    return text.append_text(code_prefix(verdict.code)).append(verdict.message)


def _landing(screen: Screen, seen: PodExplanation) -> None:
    if seen.refusal is not None:
        text = Text.assemble(code_prefix(seen.refusal.code), seen.refusal.message)
        _fact(screen, "Would land", text)
        return
    if not seen.landing:
        _fact(screen, "Would land", Text.assemble(("nowhere: ", "bold red"), seen.event))
        return
    _fact(screen, "Would land", Text(landing_words(seen.landing, 4), style="bold"))
    chances = f"comes back {percent(seen.returns)}, stays Pending {percent(seen.unschedulable)}"
    if seen.node:
        chances = f"if it were evicted now: {chances}; {_STATES[seen.state]}"
    _fact(screen, "", Text(chances))


def draw_policies(screen: Screen, policies: list[PolicyView], *, gains: bool) -> None:
    """What each policy says, with its costliest findings."""
    if not policies:
        return
    columns = [Column("policy", flexible=True), Column("kind"), Column("mode")]
    columns.append(Column("weight", "right"))
    if gains:
        columns.append(Column("gain of a move now", "right"))
    grid = Grid(columns)
    for policy in policies:
        gain = "not evaluated" if policy.problem else "-"
        if policy.gain is not None:
            gain = signed_gain(policy.gain)
        style = "green" if (policy.gain or 0.0) > 0 else ""
        row: list[str | Text] = [policy.name, policy.kind, policy.mode, f"{policy.weight:g}"]
        grid.add(*row, *([Text(gain, style=style)] if gains else []), below=_findings(policy))
    screen.grid(grid)


def _findings(policy: PolicyView) -> Text | None:
    if policy.problem is not None:
        return Text.assemble(code_prefix(policy.problem.code), policy.problem.message)
    if not policy.findings:
        return Text("finds nothing about it", style="dim")
    finding = policy.findings[0]
    more = len(policy.findings) - 1
    text = Text.assemble(code_prefix(finding.code), f"{finding.subject}: {finding.message}")
    return text.append(f"; and {count_text(more, 'more finding')}" if more else "")


def _checks(screen: Screen, checks: list[Check]) -> None:
    passed = [check for check in checks if check.result == "passed"]
    failed = [check for check in checks if check.result == "failed"]
    unasked = [check for check in checks if check.result == "not checked"]
    counts = f"{len(passed)} passed, {len(failed)} failed"
    counts += f", {len(unasked)} not checked" if unasked else ""
    screen.line(Text.assemble(("Checks ", "bold"), counts))
    for check in failed:
        first = Text.assemble(("  !  ", "bold red"), (check.code, "cyan"))
        screen.paragraph(Text(f"{title(check.code)}: {check.message}"), first=first, indent=_LABEL)
        if advice(check.code):
            screen.paragraph(Text(advice(check.code), style="italic dim"), indent=_LABEL)
    for sign, some in (("ok", passed), ("-", unasked)):
        if some:
            listed = ", ".join(
                f"{check.code} {title(check.code)}".replace(" ", KEPT) for check in some
            )
            screen.paragraph(Text(listed, style="dim"), first=Text(f"  {sign}"), indent=5)
    screen.line()


def _gates(screen: Screen) -> None:
    """What must hold while it is evicted, whatever the plan says."""
    screen.line(Text.assemble(("Before its eviction ", "bold"), "must hold, in this order:"))
    named = (gate.name for gate in GATES if "move" in gate.purposes)
    listed = ", ".join(name.replace(" ", KEPT) for name in named)
    screen.paragraph(Text(listed, style="dim"), indent=5)
    screen.line()


def _filters(screen: Screen, seen: PodExplanation) -> None:
    if seen.refusal is not None:
        return
    good = f"{seen.feasible:,} of {count_text(seen.nodes, 'node')} feasible"
    screen.line(Text.assemble(("Filters ", "bold"), good))
    grid = Grid(
        [
            Column("plugin"),
            Column("rejects", "right"),
            Column("first to reject", "right"),
            Column("for example", flexible=True),
        ]
    )
    for result in seen.filters:
        words = ", ".join(f"{count} {reason}" for reason, count in result.reasons.items())
        grid.add(
            result.plugin,
            f"{result.rejects:,}",
            f"{result.first:,}",
            result.example or "-",
            below=Text(words, style="dim") if words else None,
        )
    screen.grid(grid)


def _scores(screen: Screen, seen: PodExplanation) -> None:
    if not seen.scores:
        return
    plugins = list(seen.scores[0].points)
    note = "of the best nodes, weighted" if seen.feasible > len(seen.scores) else "weighted"
    screen.line(Text.assemble(("Scores ", "bold"), note))
    grid = Grid(
        [
            Column("node", flexible=True),
            Column("total", "right"),
            *(Column(HEADINGS.get(plugin, plugin[:8]), "right") for plugin in plugins),
            Column("lands", "right"),
        ]
    )
    for score in seen.scores:
        own = " (its own)" if score.node == seen.node else ""
        style = "bold" if score.probability else ""
        grid.add(
            Text(score.node + own, style=style),
            Text(str(score.total), style=style),
            *(str(score.points[plugin]) for plugin in plugins),
            Text(percent(score.probability), style=style),
        )
    screen.grid(grid)


def _steps(screen: Screen, seen: PodExplanation) -> None:
    if not seen.policies:
        screen.line(Text("With policies: add --policies PATH", style="dim"))
    if seen.node:
        screen.line(Text(f"Its node: rescheduler explain node {seen.node}", style="dim"))
    elif seen.unschedulable:
        name = f"{seen.pod.namespace}/{seen.pod.name}"
        screen.line(Text(f"Make room: rescheduler explain pending {name}", style="dim"))
