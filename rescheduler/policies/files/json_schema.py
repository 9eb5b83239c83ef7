"""JSON Schema of policy documents, for editors and for checks before a commit.

Draft 7, because that is what the YAML language servers read. It accepts what the models accept,
but for comparisons of one field with another (`low` with `high`, `coolDownCap` with `coolDown`).
"""

from datetime import timedelta
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from rescheduler.documents.envelope import API_VERSION
from rescheduler.documents.fields import Strict, duration_text
from rescheduler.policies.registry import DOCUMENTS


def json_schema() -> dict[str, Any]:
    """The schema of one document: the envelope, and the spec of each kind."""
    definitions: dict[str, Any] = {}
    branches = []
    for kind, model in DOCUMENTS.items():
        spec = _spec(model)
        for name, definition in {**spec.pop("$defs", {}), kind: spec}.items():
            if definitions.setdefault(name, definition) != definition:
                raise ValueError(f"two different models are named {name}; rename one")
        branches.append(
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {"properties": {"spec": {"$ref": f"#/definitions/{kind}"}}},
            }
        )
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "description": "A policy of the rescheduler.",
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"enum": list(DOCUMENTS), "description": "What the document defines."},
            "metadata": _METADATA,
            "spec": {"type": "object"},
        },
        "allOf": branches,
        "definitions": definitions,
    }
    moved: dict[str, Any] = _to_draft_7(schema)
    return moved


_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}

_METADATA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "Unique among all policies."},
        "labels": {**_TEXTS, "description": "Free for owners."},
        "annotations": {**_TEXTS, "description": "Free for owners."},
    },
}


class _AsWritten(GenerateJsonSchema):
    """Durations as operators write them, in the models below the document's own too."""

    def encode_default(self, dft: Any) -> Any:
        return duration_text(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def _spec(model: type[Strict]) -> dict[str, Any]:
    """The model without what the envelope gives, with defaults as operators would write them."""
    spec = model.model_json_schema(schema_generator=_AsWritten)
    for name in ("kind", "name"):
        spec["properties"].pop(name)
    spec["required"] = [
        field for field in spec.get("required", []) if field not in ("kind", "name")
    ]
    optional = {
        name: field
        for name, field in model.model_fields.items()
        if name in spec["properties"] and not field.is_required()
    }
    # Optional fields do not depend on each other, so the model itself writes their defaults down.
    written = model.model_construct(
        **{name: field.get_default(call_default_factory=True) for name, field in optional.items()}
    ).model_dump(mode="json", include=set(optional), exclude_none=True)
    for name in optional:
        spec["properties"][name].pop("default", None)
        if name in written:
            spec["properties"][name]["default"] = written[name]
    return spec


def _to_draft_7(value: Any) -> Any:
    """Draft 7's place for definitions, and nothing that is not JSON Schema or has no effect."""
    if isinstance(value, list):
        return [_to_draft_7(element) for element in value]
    if isinstance(value, dict):
        return {key: _to_draft_7(child) for key, child in value.items() if not _idle(key, child)}
    return value.replace("#/$defs/", "#/definitions/") if isinstance(value, str) else value


def _idle(key: str, value: Any) -> bool:
    """Titles that repeat a name, pydantic's own words for bounds, and defaults that add nothing."""
    if key == "default":
        return value is None
    return key in ("title", "ge", "le", "gt") and not isinstance(value, dict)
