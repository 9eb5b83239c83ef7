"""The plan or the outcome as JSON, for other programs and for `apply`."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET

from rescheduler.model.errors import PlanUnreadable
from rescheduler.model.plan import SCHEMA_VERSION, Plan
from rescheduler.reporting.descriptions import PROPERTIES

SCHEMA_ID = f"https://rescheduler.io/schemas/plan.v{SCHEMA_VERSION}.json"
KINDS = ("Plan", "Outcome")

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Plan)


class _Envelope(msgspec.Struct):
    """What tells whether the rest can be understood at all."""

    kind: Any = None
    schemaVersion: Any = None


def to_json(plan: Plan) -> bytes:
    """The plan as JSON: the fields in their declared order, maps sorted, two spaces deep.

    Equal plans give equal bytes.

    Raises:
        ValueError: it would not read back as the same plan, as with a number that is not finite.
    """
    try:
        canonical = _decoder.decode(_encoder.encode(plan))
    except msgspec.ValidationError as error:
        raise ValueError(f"the plan {plan.id} would not read back: {error}") from error
    if canonical != plan:
        raise ValueError(f"the plan {plan.id} would not read back as it is: a number is not finite")
    return msgspec.json.format(_encoder.encode(canonical), indent=2) + b"\n"


def from_json(data: bytes, *, path: str = "the plan") -> Plan:
    """The plan in a JSON file. path: what messages call the file.

    Fields that this version does not know are ignored; what it knows must be there and right.

    Raises:
        PlanUnreadable: it is not JSON, not of this schema, or a field is wrong.
    """
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanUnreadable(
            f"{path}: not a JSON object: {error}",
            "the file is cut off, or is not what `plan -o json` wrote.",
        ) from error
    _check(envelope, path)
    try:
        plan = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanUnreadable(
            f"{path}: {error}", "the file was edited; make a new plan with `plan -o json`."
        ) from error
    for name in ("created", "expires", "taken", "started", "finished"):
        moment: datetime | msgspec.UnsetType = getattr(plan, name)
        if moment is not UNSET and moment.tzinfo is None:
            raise PlanUnreadable(
                f"{path}: `{moment.isoformat()}` has no offset from UTC - at `$.{name}`",
                "add `Z`, or make a new plan with `plan -o json`.",
            )
    return plan


def _check(envelope: _Envelope, path: str) -> None:
    if envelope.kind not in KINDS:
        raise PlanUnreadable(
            f"{path}: kind is {_shown(envelope.kind)}, not Plan or Outcome - at `$.kind`",
            "another file was meant; `plan -o json --out FILE` writes a plan.",
        )
    if envelope.schemaVersion != SCHEMA_VERSION:
        raise PlanUnreadable(
            f"{path}: schemaVersion is {_shown(envelope.schemaVersion)}, and this version reads "
            f'"{SCHEMA_VERSION}" only - at `$.schemaVersion`',
            "another version of the rescheduler wrote it; make a new plan with this one.",
        )


def _shown(value: Any) -> str:
    text = "missing" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:60]}..."


def plan_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `to_json` writes."""
    (root,), parts = msgspec.json.schema_components([Plan], ref_template="#/$defs/{name}")
    for name, part in parts.items():
        part["description"] = " ".join(part["description"].split())
        # A description beside "$ref" is allowed since 2019-09.
        part["properties"] = {
            key: {"description": PROPERTIES[name][key], **field}
            for key, field in part["properties"].items()
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Plan or Outcome of the rescheduler",
        "description": (
            "A plan names the moves that are proposed, and why others are not; an outcome is the "
            "same plan with what became of each move."
        ),
        **root,
        "$defs": dict(sorted(parts.items())),
    }
