"""The plan or the outcome as one HTML page that needs nothing else."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from rescheduler.kube.annotations import OPT_OUT
from rescheduler.model.moves.plan import Plan, PolicyResult, Report
from rescheduler.model.wording import clean, count_text, duration_text, gpu_hours
from rescheduler.reporting import phrasing
from rescheduler.reporting.alerts import advice, sentence
from rescheduler.reporting.heat_map import heat_map, zones
from rescheduler.reporting.move_reasons import reason_text
from rescheduler.reporting.next_steps import NOT_GIVEN, Invocation
from rescheduler.reporting.rows import SYMBOLS, MoveRow, by_kueue
from rescheduler.reporting.view import View, view

MOST = 60
"""Batches that are drawn."""


@dataclass(frozen=True)
class Batch:
    """Moves that are made together; the next batch waits until their replacements are Ready."""

    number: int
    rows: list[MoveRow]


@dataclass(frozen=True)
class Spending:
    """A PodDisruptionBudget: how many moves spend it, and what it allowed."""

    name: str
    moves: int
    allowed: int


def batches(rows: Iterable[MoveRow]) -> list[Batch]:
    """The batches of these moves in their order."""
    rows_by_batch: dict[int, list[MoveRow]] = {}
    for row in rows:
        rows_by_batch.setdefault(row.move.batch, []).append(row)
    return [Batch(number, rows) for number, rows in sorted(rows_by_batch.items())]


def budgets(plan: Plan) -> list[Spending]:
    """The PodDisruptionBudgets that the moves spend, the tightest first."""
    spent: dict[str, list[int]] = {}
    for move in plan.moves:
        if move.budget is not None:
            spent.setdefault(f"{move.pod.namespace}/{move.budget.name}", []).append(
                move.budget.allowed
            )
    spendings = [Spending(name, len(allowed), max(allowed)) for name, allowed in spent.items()]
    return sorted(spendings, key=lambda budget: (budget.allowed - budget.moves, budget.name))


FINDINGS = 25
"""Findings of a policy that are listed; the JSON has all of them."""


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates, with the filters by which every page writes numbers and names alike."""
    made = Environment(
        loader=PackageLoader("rescheduler.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        advice=advice,
        age=phrasing.age,
        amount=phrasing.amount,
        clock=phrasing.clock,
        counted=count_text,
        gpu_hours=gpu_hours,
        lasting=duration_text,
        percent=phrasing.percent,
        pod_name=phrasing.pod_name,
        by_kueue=by_kueue,
        quantity=phrasing.quantity,
        reason_text=reason_text,
        resource=phrasing.resource,
        sentence=sentence,
        shorten=phrasing.shorten,
        signed=phrasing.signed_gain,
        stamp=phrasing.stamp,
        ticks=_ticks,
    )
    return made


def _ticks(text: str) -> Markup:
    """The text escaped, with what is between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def render_page(
    report: Report,
    invocation: Invocation = NOT_GIVEN,
    *,
    earlier: str = "",
    standing: Sequence[str] = (),
) -> str:
    """The report as HTML: no address in it is ever loaded, and all text from outside is inert.

    Its one script only sorts and filters; the page's own policy admits that script by its hash.
    earlier: the address of the page of earlier cycles, where there is one. standing: what the
    instance that shows it does, where that is to be said.
    """
    templates = environment()
    script = templates.get_template("report.js").render()
    seen = view(report, invocation)
    most = max((max(p.cost.before, p.cost.after) for p in seen.plan.policies), default=0.0)
    return templates.get_template("report.html.j2").render(
        seen=seen,
        plan=seen.plan,
        script=script,
        script_hash=script_hash(script),
        earlier=earlier,
        standing=[*map(clean, standing)],
        most=most or 1.0,
        heat_map=heat_map(seen.plan),
        zones=zones(seen.plan),
        batches=batches(seen.moves),
        budgets=budgets(seen.plan),
        codes=_codes(seen),
        documents={policy.name: _document(policy) for policy in seen.plan.policies},
        weights={policy.name: policy.weight for policy in seen.plan.policies},
        units={reading.name: reading.unit for reading in seen.plan.readings},
        findings=FINDINGS,
        opt_out=OPT_OUT,
        symbols=SYMBOLS,
    )


def script_hash(script: str) -> str:
    """What the page's own policy admits the script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _codes(seen: View) -> list[str]:
    """Every code on the page, for the list of their meanings."""
    plan = seen.plan
    codes = {group.code for group in seen.groups} | {alert.code for alert in seen.alerts}
    codes |= {finding.code for policy in plan.policies for finding in policy.findings}
    for move in plan.moves:
        codes |= {reason.code for reason in move.reasons}
    codes |= {move.problem.code for move in plan.measuredMoves if move.problem is not None}
    if seen.outcome is not None:
        codes |= {seen.outcome.verdict.code, *(result.code for result in seen.outcome.moves)}
    return sorted(codes - {""})


def _document(policy: PolicyResult) -> str:
    """The policy as YAML, as it was loaded; empty where the plan does not hold it."""
    if not policy.document:
        return ""
    return yaml.safe_dump(policy.document, sort_keys=False, allow_unicode=True, width=100)
