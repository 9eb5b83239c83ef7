"""The plan or the outcome as Markdown, to paste into a pull request or a chat."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rescheduler.model.moves.plan import Report
from rescheduler.model.wording import count_text
from rescheduler.reporting.alerts import Level
from rescheduler.reporting.next_steps import NOT_GIVEN, Invocation
from rescheduler.reporting.phrasing import ARROW, amount, percent, pod_name, signed_gain
from rescheduler.reporting.rows import SYMBOLS, MoveRow
from rescheduler.reporting.suggestion_words import HEADING
from rescheduler.reporting.view import View, view

MOST_MOVES = 50
"""Moves that are listed: GitHub takes 65,536 characters, and people fewer."""
MOST_FINDINGS = 5
"""Findings of a policy that are listed."""
MOST_IDLE = 10
"""Owners of idle GPUs that are listed."""

_LEVELS: dict[Level, str] = {"held": "HELD", "problem": "PROBLEM", "note": "NOTE"}
_ACTIVE = re.compile(r"[\\*_\[\]<>#~@|&$^{}]|:[a-z]\w*:|://|www\.", re.IGNORECASE)
"""What could format, link, notify somebody or be taken for HTML."""
_WORD = re.compile(r"\S+")
_BAR = "\N{BROKEN BAR}"
"""Stands for a bar in a table: readers differ in what they make of a bar behind backslashes."""

Table = Iterable[Sequence[str]]


def render_markdown(report: Report, invocation: Invocation = NOT_GIVEN) -> str:
    """The report as GitHub-flavored Markdown, in which all text from outside is inert.

    It is cut to what people read; the page and the JSON have all of it.
    """
    seen = view(report, invocation)
    blocks = [
        *_head(seen),
        *_policies(seen),
        *_moves(seen),
        *_findings(seen),
        *_gain_blocks(seen),
        *_idle(seen),
        *_left_alone(seen),
        *_suggestions(seen),
        *_steps(seen),
    ]
    return "\n\n".join(blocks) + "\n"


def code(text: str) -> str:
    """A name as it is, in which nothing is formatted or linked."""
    inner = text.replace("`", "'").strip()
    return f"`{inner}`" if inner else "-"


def inert(text: str) -> str:
    """A sentence: what is between backticks, and each word that Markdown would act on, is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text.replace("`", "'")]
    return "".join(code(part) if n % 2 else _WORD.sub(_word, part) for n, part in enumerate(parts))


def _word(match: re.Match[str]) -> str:
    whole = match.group()
    if not _ACTIVE.search(whole):
        return whole
    rest = whole.lstrip("(\"'")
    word = rest.rstrip(")\"'.,;:")
    return whole[: len(whole) - len(rest)] + code(word) + rest[len(word) :]


def _table(columns: str, rows: Table) -> str:
    """A table; a column whose name ends in a colon is aligned to the right."""
    names = columns.split(", ")
    lines = [
        [name.removesuffix(":") for name in names],
        ["--:" if name.endswith(":") else "---" for name in names],
        *rows,
    ]
    cells = ([cell.replace("|", _BAR) or "-" for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _more_line(shown: int, total: int) -> list[str]:
    return (
        [f"... and {total - shown:,} more, in the JSON and on the page."] if total > shown else []
    )


def _head(seen: View) -> Iterator[str]:
    yield f"## {seen.kind} {code(seen.plan.id or seen.plan.digest[:8])} of {code(seen.cluster)}"
    yield f"**{inert(seen.headline)}**"
    source = "; from a recording" if seen.plan.recorded else ""
    yield f"{seen.mode.upper()}: {seen.band}{source}. {seen.time}."
    if seen.verdict is not None:
        yield f"Verdict {code(seen.verdict.code)}: {inert(seen.verdict.message)}"
    alerts = [
        f"- **{_LEVELS[alert.level]} {code(alert.code)}** {inert(alert.title)}: "
        f"{inert(alert.message.removesuffix('.'))}. {inert(alert.advice)}".rstrip()
        for alert in seen.alerts
    ]
    if alerts:
        yield "\n".join(alerts)
    yield "\n".join(f"- {f.label}: **{inert(f.value)}** ({inert(f.detail)})" for f in seen.facts)


def _policies(seen: View) -> Iterator[str]:
    yield "### Policies"
    yield _table(
        "Policy, Kind, Mode, State, Selects, Weight:, Cost:, Change:, Moves:",
        (
            (
                code(row.policy.name),
                row.policy.kind,
                row.policy.mode,
                row.state,
                row.selects,
                f"{row.policy.weight:g}",
                f"{row.before} {ARROW} {row.after}"
                if row.policy.problem is None
                else "not evaluated",
                row.change,
                str(row.moves),
            )
            for row in seen.policies
        ),
    )


def _moves(seen: View) -> Iterator[str]:
    yield f"### Moves ({len(seen.moves):,})"
    if seen.nothing is not None:
        yield inert(seen.nothing.message)
        return
    shown = seen.moves[:MOST_MOVES]
    if seen.is_outcome:
        columns = "#:, Pod, From, Expected to, Landed on, Ready:, Result, Why"
        yield _table(columns, map(_done_cells, shown))
    else:
        columns = "#:, Batch:, Pod, From, Expected to, Gain:, Disruption:, Budget, Why"
        yield _table(columns, map(_planned_cells, shown))
    yield from _more_line(len(shown), len(seen.moves))


def _planned_cells(row: MoveRow) -> Sequence[str]:
    move, budget = row.move, row.move.budget
    audit = ["Audit only"] if row.audit else []
    cost = move.restart
    has_cost = cost is not None and (cost.moves or cost.workSeconds is not None)
    why = [
        reason
        for reason in (*audit, row.why, row.steered, row.restart if has_cost else "")
        if reason
    ]
    return (
        str(row.number),
        str(move.batch),
        code(pod_name(move.pod)),
        code(move.source),
        _landing(row),
        signed_gain(move.gain),
        amount(move.disruption),
        "no PDB" if budget is None else f"{code(budget.name)}, {budget.allowed} left",
        inert("; ".join(why)),
    )


def _done_cells(row: MoveRow) -> Sequence[str]:
    landed = row.landed
    if landed is None:
        raise ValueError(f"the outcome has no result of move {row.number}")
    node = (row.result and row.result.landedOn) or ""
    where = f"{code(node)}{landed.where.removeprefix(node)}" if node else landed.where
    return (
        str(row.number),
        code(pod_name(row.move.pod)),
        code(row.move.source),
        _landing(row),
        where,
        landed.ready,
        f"{SYMBOLS[landed.mark]} {landed.result}".strip(),
        inert("; ".join(reason for reason in (landed.why, row.why) if reason)),
    )


def _landing(row: MoveRow) -> str:
    shares = [f"{code(share.node)} {percent(share.probability)}" for share in row.landing[:2]]
    more = len(row.landing) - len(shares)
    return " or ".join(shares) + (f", {more} more" if more else "")


def _findings(seen: View) -> Iterator[str]:
    """What each policy finds before the moves, what costs most first."""
    policies = [row.policy for row in seen.policies if row.policy.findings]
    if not policies:
        return
    yield "### Findings before the moves"
    for policy in policies:
        lines = [f"{code(policy.name)}: {count_text(len(policy.findings), 'finding')}", ""]
        lines += [
            f"- {code(finding.code)} {code(finding.subject)} {inert(finding.message)}, cost "
            f"{amount(finding.cost)}"
            for finding in policy.findings[:MOST_FINDINGS]
        ]
        if len(policy.findings) > MOST_FINDINGS:
            lines.append(f"- and {len(policy.findings) - MOST_FINDINGS:,} more")
        yield "\n".join(lines)


def _gain_blocks(seen: View) -> Iterator[str]:
    if not seen.gains:
        return
    yield "### What the moves so far have brought"
    yield _table(
        "Policy, Promised:, Measured:, Share:, Moves:, State",
        (
            (
                code(row.policy.name),
                row.promised,
                row.measured,
                row.share,
                str(row.moves),
                f"{SYMBOLS[row.mark]} {row.state} {row.until}".strip(),
            )
            for row in seen.gains
        ),
    )


def _idle(seen: View) -> Iterator[str]:
    for policy in seen.plan.policies:
        if not policy.idle:
            continue
        hours, daily = (sum(getattr(i, of) for i in policy.idle) for of in ("hours", "daily"))
        owners = count_text(len(policy.idle), "owner")
        yield f"### Idle GPUs: {hours:,.0f} GPU-hours of {owners}, {daily:,.0f} a day"
        shown = policy.idle[:MOST_IDLE]
        yield _table(
            "Namespace, Owner, Pods:, GPUs:, In use:, GPU-hours idle:, A day:",
            (
                (
                    code(holder.namespace),
                    code(holder.owner),
                    str(holder.pods),
                    f"{round(holder.gpus, 2):g}",
                    f"{holder.use:.1%}",
                    f"{holder.hours:,.1f}",
                    f"{holder.daily:,.0f}",
                )
                for holder in shown
            ),
        )
        yield from _more_line(len(shown), len(policy.idle))


def _left_alone(seen: View) -> Iterator[str]:
    if not seen.groups:
        return
    yield f"### Left alone ({seen.left_alone:,})"
    rows = []
    for group in seen.groups:
        example = ""
        if group.examples:
            first = group.examples[0]
            example = f"{code(pod_name(first.pod))}: {inert(first.message)}"
        rows.append(
            (f"{group.count:,}", code(group.code), inert(group.sentence), example,
             inert(group.advice))
        )  # fmt: skip
    yield _table("Pods:, Code, Reason, For example, What to do", rows)


def _suggestions(seen: View) -> Iterator[str]:
    if not seen.suggestions:
        return
    yield f"### {HEADING}"
    lines = []
    for number, row in enumerate(seen.suggestions, 1):
        more = " ".join(inert(part) for part in (row.how, row.caution) if part)
        lines.append(f"{number}. **{inert(row.promise)}** {more}".rstrip())
    yield "\n".join(lines)


def _steps(seen: View) -> Iterator[str]:
    yield "### What next"
    commands = "\n".join(f"# {step.label}\n{step.command}" for step in seen.steps)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", commands)), default=0))
    yield f"{fence}sh\n{commands}\n{fence}"
