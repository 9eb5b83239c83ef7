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

from rescheduler.model.plan import Plan

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
            "score",  # this and the rest: shown, and looked at afresh when the plan is applied
            "readings",
            "refused",
            "nodes",
            "notes",
            "calibration",
        }
    ),
    # What a policy says of the placement, and the file that it came from; its document counts.
    "policies": frozenset({"cost", "scope", "worst", "source", "findings", "problem"}),
    # Where its profile was read; the profile counts.
    "schedulers": frozenset({"source", "problem"}),
    # Sentences with numbers in them; the codes count.
    "guards": frozenset({"message"}),
    "reasons": frozenset({"message"}),
}
"""What the digest leaves out, by the field that holds it."""


def sealed(plan: Plan) -> Plan:
    """The plan with its digest, and the id that is made of it."""
    digest = digest_of(plan)
    return structs.replace(plan, digest=digest, id=digest[:ID_LENGTH])


def digest_of(plan: Plan) -> str:
    """SHA-256 over what decides, whatever the plan itself says that its digest is."""
    whole = _without(msgspec.to_builtins(plan), "plan")
    for name in ("policies", "schedulers", "guards"):
        whole[name] = [_without(each, name) for each in whole[name]]
    for move in whole["moves"]:
        move["reasons"] = [_without(each, "reasons") for each in move["reasons"]]
        # Equally likely nodes may come in any order.
        move["landing"].sort(key=lambda share: share["node"])
    for name in ("moves", "totals"):
        whole[name] = canonical(whole[name], _DECIMALS)
    return checksum(whole)


def checksum(value: Any) -> str:
    """SHA-256 of JSON, the same however its keys are ordered and its numbers written."""
    data = msgspec.json.encode(canonical(value), order="deterministic")
    return hashlib.sha256(data).hexdigest()


def canonical(value: Any, decimals: int | None = None) -> Any:
    """JSON in which equal numbers are written alike: 1.0 as 1; rounded, where that is asked for."""
    if isinstance(value, float):
        number = value if decimals is None else round(value, decimals)
        return int(number) if number.is_integer() else number
    if isinstance(value, dict):
        return {key: canonical(each, decimals) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(each, decimals) for each in value]
    return value


def _without(fields: dict[str, Any], holder: str) -> dict[str, Any]:
    return {key: each for key, each in fields.items() if key not in UNCOVERED[holder]}
