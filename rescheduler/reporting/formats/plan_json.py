"""The plan or the outcome as JSON, for other programs and for `apply`."""

from typing import Any

import msgspec

from rescheduler.model.errors import PlanUnreadable
from rescheduler.model.moves.plan import SCHEMA_VERSION, Outcome, Plan, Report, plan_in
from rescheduler.reporting.integrity import CHECKSUMS, check_unedited, checksums
from rescheduler.reporting.schema import schema_parts

KINDS = ("Plan", "Outcome")
_CHECKSUMS_PROPERTY: dict[str, Any] = {
    "description": "The first digits of the SHA-256 of each part of the file; it is refused if "
    "they differ.",
    "type": "object",
    "additionalProperties": {"type": "string"},
}

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)


class _Envelope(msgspec.Struct):
    """The fields that say whether the rest can be read at all."""

    kind: Any = None
    schemaVersion: Any = None


def to_json(report: Report) -> bytes:
    """The plan or outcome as JSON: fields in their declared order, maps sorted, two spaces deep.

    Its checksums come last. Equal plans give equal bytes.

    Raises:
        ValueError: it would not read back as the same plan, as with a number that is not finite.
    """
    plan = plan_in(report)
    try:
        canonical = _decoder.decode(_encoder.encode(report))
    except msgspec.ValidationError as error:
        raise ValueError(f"the plan {plan.id} would not read back: {error}") from error
    if canonical != report:
        raise ValueError(f"the plan {plan.id} would not read back as it is: a number is not finite")
    document = msgspec.json.decode(_encoder.encode(canonical))
    document[CHECKSUMS] = checksums(document)
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def from_json(data: bytes, *, path: str = "the plan") -> Report:
    """The plan or outcome in a JSON file. path: what messages call the file.

    Raises:
        PlanUnreadable: it is not JSON, not of this schema, or a field is wrong.
        PlanEdited: it is not as `to_json` wrote it, whatever its layout.
    """
    try:
        return _read(data, path)
    except RecursionError as error:
        raise PlanUnreadable(
            f"{path}: its values are nested too deep",
            "the file was edited; make a new plan with `plan -o json`.",
        ) from error


def _read(data: bytes, path: str) -> Report:
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanUnreadable(
            f"{path}: not a JSON object: {error}",
            "the file is cut off, or is not what `plan -o json` wrote.",
        ) from error
    _check(envelope, path)
    try:
        report = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanUnreadable(
            f"{path}: {error}", "the file was edited; make a new plan with `plan -o json`."
        ) from error
    _check_times(report, path)
    _check_moves(report, path)
    check_unedited(report, msgspec.json.decode(data), path)
    return report


def _check_times(report: Report, path: str) -> None:
    plan = plan_in(report)
    where = "$" if plan is report else "$.plan"
    moments = {f"{where}.{name}": getattr(plan, name) for name in ("created", "expires", "taken")}
    if isinstance(report, Outcome):
        moments |= {"$.started": report.started, "$.finished": report.finished}
    for name, moment in moments.items():
        if moment.tzinfo is None:
            raise PlanUnreadable(
                f"{path}: `{moment.isoformat()}` has no offset from UTC - at `{name}`",
                "the file was edited; make a new plan with `plan -o json`.",
            )


def _check_moves(report: Report, path: str) -> None:
    """Each pod is moved once, and each result is that of the move at its place."""
    moved = [move.pod.uid for move in plan_in(report).moves]
    if len(set(moved)) < len(moved):
        raise PlanUnreadable(
            f"{path}: a pod is moved twice - at `$.moves`", "make a new plan with `plan -o json`."
        )
    if isinstance(report, Outcome) and [result.pod.uid for result in report.moves] != moved:
        raise PlanUnreadable(
            f"{path}: its results are not those of its plan's moves - at `$.moves`",
            "the file was edited; the ConfigMap rescheduler-state has what was evicted.",
        )


def _check(envelope: _Envelope, path: str) -> None:
    if envelope.kind not in KINDS:
        raise PlanUnreadable(
            f"{path}: kind is {_value_text(envelope.kind)}, not Plan or Outcome - at `$.kind`",
            "another file was meant; `plan -o json --out FILE` writes a plan.",
        )
    if envelope.schemaVersion != SCHEMA_VERSION:
        raise PlanUnreadable(
            f"{path}: schemaVersion is {_value_text(envelope.schemaVersion)}, and this version "
            "reads "
            f'"{SCHEMA_VERSION}" only - at `$.schemaVersion`',
            "another version of the rescheduler wrote it; make a new plan with this one.",
        )


def _value_text(value: Any) -> str:
    text = "missing" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:60]}..."


def plan_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a plan, as `to_json` writes it."""
    return _schema(
        Plan, "A plan names the moves that are proposed, and why other pods are left alone."
    )


def outcome_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of an outcome, as `to_json` writes it."""
    return _schema(
        Outcome,
        "An outcome holds the plan that was acted on, and what became of each of its moves.",
    )


def _schema(kind: type[Plan | Outcome], description: str) -> dict[str, Any]:
    [root], parts = schema_parts([kind])
    name = kind.__name__
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://rescheduler.io/schemas/{name.lower()}.v{SCHEMA_VERSION}.json",
        "title": f"{name} of the rescheduler",
        "description": description,
        **root,
        "properties": {CHECKSUMS: _CHECKSUMS_PROPERTY},
        "required": [CHECKSUMS],
        "$defs": parts,
    }
