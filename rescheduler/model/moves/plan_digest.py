"""The digest of a plan: what a person approves, recomputed wherever a plan is read back.

It covers all that decides what happens when the plan is applied, and every name that is shown of
it. Left out is what follows from the rest or only describes it, and what may differ between a dry
run and the run that acts: `UNCOVERED` names all of it. Numbers that the planner has computed are
rounded to six decimals, so that a digest does not hang on the last bit of a sum; limits and
documents, which people wrote, are covered as they are.
"""

import hashlib
from typing import Any

import msgspec
from msgspec import structs

from rescheduler.model.moves.plan import Plan

ID_LENGTH = 12
"""Digits of the digest that make the id of a plan."""

_DECIMALS = 6

UNCOVERED: dict[str, frozenset[str]] = {
    "plan": frozenset(
        {
            "id",  # the first digits of the digest
            "digest",
            "mode",  # of the run that made it; what may be acted on is the mode of each move
            "tool",  # who wrote it
            "score",  # this and the rest: shown, and evaluated afresh when the plan is applied
            "assessment",
            "counts",
            "readings",
            "refused",
            "nodes",
            "notes",
            "calibration",
            "measuredMoves",
            "search",
            "countedPods",
            "suggestions",
        }
    ),
    # A policy's result for the placement, and the file that it came from; its document counts.
    "policies": frozenset(
        {
            "cost",
            "scope",
            "worst",
            "immovable",
            "assessment",
            "source",
            "findings",
            "problem",
            "brought",
            "selection",
            "idle",
            "room",
            "counts",
        }
    ),
    # Where its profile was read; the profile counts.
    "schedulers": frozenset({"source", "problem"}),
    # Sentences with numbers in them; the codes count.
    "guards": frozenset({"message"}),
    "reasons": frozenset({"finding", "loads"}),
}
"""What the digest leaves out, by the field that holds it."""


def seal_plan(plan: Plan) -> Plan:
    """The plan with its digest, and the id that is made of it."""
    digest = digest_of(plan)
    return structs.replace(plan, digest=digest, id=digest[:ID_LENGTH])


def digest_of(plan: Plan) -> str:
    """SHA-256 over what decides, whatever digest the plan itself names."""
    covered = {name: value for name, value in structs.asdict(plan).items() if _covers("plan", name)}
    for name in ("policies", "schedulers", "guards"):
        covered[name] = [_covered_fields(structs.asdict(entry), name) for entry in covered[name]]
    whole = msgspec.to_builtins(covered)
    whole["moves"] = [_deciding_fields(move) for move in whole["moves"]]
    whole["totals"] = canonical(whole["totals"], _DECIMALS)
    return checksum(whole)


def _deciding_fields(move: dict[str, Any]) -> dict[str, Any]:
    # Equally likely nodes may come in any order.
    landings = {
        name: sorted((s["node"], round(s["probability"], _DECIMALS)) for s in move.pop(name))
        for name in ("landing", "unsteered")
    }
    move["reasons"] = [_covered_fields(reason, "reasons") for reason in move["reasons"]]
    return {**canonical(move, _DECIMALS), **landings}


def checksum(value: Any) -> str:
    """SHA-256 of JSON, the same however its keys are ordered and its numbers written."""
    data = msgspec.json.encode(canonical(value), order="deterministic")
    return hashlib.sha256(data).hexdigest()


_ALIKE = frozenset({str, int, bool, type(None)})
"""Of these there is one way to write a value."""


def canonical(value: Any, decimals: int | None = None) -> Any:
    """JSON in which equal numbers are written alike: 1.0 as 1; rounded on request."""
    kind = type(value)
    if kind is dict:
        return {
            key: child if type(child) in _ALIKE else canonical(child, decimals)
            for key, child in value.items()
        }
    if kind is list or kind is tuple:
        return [
            element if type(element) in _ALIKE else canonical(element, decimals)
            for element in value
        ]
    if not isinstance(value, float):
        return value
    number = value if decimals is None else round(value, decimals)
    return int(number) if number.is_integer() else number


def _covers(holder: str, name: str) -> bool:
    return name not in UNCOVERED[holder]


def _covered_fields(fields: dict[str, Any], holder: str) -> dict[str, Any]:
    return {name: field for name, field in fields.items() if _covers(holder, name)}
