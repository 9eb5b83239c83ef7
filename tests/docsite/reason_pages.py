"""The page of reason codes: what each means, what to do, and what the program says with it."""

import posixpath
import re

import yaml

from rescheduler.model.reasons import _ALL, ReasonCode
from rescheduler.policies.limits import Limits
from tests.docsite.paths import DOCS, change_prose

EXAMPLES: dict[str, str] = yaml.safe_load(
    (DOCS / "reference" / "reason-examples.yaml").read_text(encoding="utf-8")
)

_NAMED = re.compile(r"(?<![\[\w#/.-])[A-Z]{3}\d{3}(?![\w\]./])(?![^\[\n]*\]\()")
"""A code in prose: in no link, no anchor and no longer name."""
FAMILIES = {
    "ELG": "Eligibility: may this pod be moved at all?",
    "BUD": "Budgets of others",
    "FEA": "Feasibility and landing: where would the replacement go?",
    "MRG": "Margin: is the move worth it?",
    "PAC": "Limits on moves",
    "GRD": "Guards: what holds a whole cycle",
    "RDG": "Readings",
    "SPR": "Policy Spread",
    "UTL": "Policy Utilization",
    "LOC": "Policy Locality",
    "HLT": "Policy Health",
    "NUM": "Policy Numa",
    "FRG": "Policy Fragmentation",
    "ALC": "Policy Allocation",
    "IDL": "Policy IdleGPUs",
    "CNF": "Policy Conformity",
    "STB": "Findings that must last",
    "MSR": "Measured gain",
    "SEL": "What policies select",
    "ACT": "Outcomes of acting",
    "DRF": "Drift between plan and now",
    "STR": "Steering",
    "NTF": "Notifications",
    "DAT": "The data itself",
}


def reasons() -> dict[str, ReasonCode]:
    """Every reason, by its code; tests may have added others to the catalogue of the program."""
    found = {reason.code: reason for reason in _ALL}
    return found | {row.code: row.reason for row in Limits().move_limits}


def reasons_part() -> str:
    """All codes by their families, each with an anchor of its own."""
    by_family: dict[str, list[ReasonCode]] = {family: [] for family in FAMILIES}
    for code, reason in sorted(reasons().items()):
        by_family[code[:3]].append(reason)
    links = [f"[{family}](#{family.lower()})" for family in FAMILIES]
    parts = [f"Families: {', '.join(links)}.", ""]
    for family, title in FAMILIES.items():
        parts += [f"## {title} ({family}) {{ #{family.lower()} }}", ""]
        for reason in by_family[family]:
            parts += _section(reason)
    return "\n".join(parts)


def with_reasons(page: str, text: str) -> str:
    """The text of a page, in which each code that is named in prose leads to what it means."""
    place = posixpath.relpath("reference/reasons.md", posixpath.dirname(page) or ".")
    codes = reasons()

    def linked(code: re.Match[str]) -> str:
        return f"[{code[0]}]({place}#{code[0].lower()})" if code[0] in codes else code[0]

    own = page == "reference/reasons.md"
    return text if own else change_prose(text, lambda prose: _NAMED.sub(linked, prose))


def _section(reason: ReasonCode) -> list[str]:
    """A code with its cause, what to do, and an example. Messages are text, not Markdown."""
    example = EXAMPLES.get(reason.code, reason.sentence)
    return [
        f"### {reason.code}",
        "",
        f"**{reason.sentence}**",
        "",
        f"What to do: {reason.advice or 'Nothing.'}",
        "",
        "```text",
        f"{reason.code} {example}",
        "```",
        "",
    ]
