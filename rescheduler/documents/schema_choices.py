"""JSON Schema's form for which fields of a model go together."""

from typing import Any

from pydantic import ConfigDict


def at_least_one_of(*fields: str) -> dict[str, Any]:
    """One of the fields must be given, and not as null."""
    return {
        "anyOf": [
            {"properties": {each: {"not": {"type": "null"}}}, "required": [each]} for each in fields
        ]
    }


def all_or(*narrowing: str) -> ConfigDict:
    """Either `all: true` without the narrowing fields, or at least one of these."""
    everything: dict[str, Any] = {"properties": {"all": {"const": True}}, "required": ["all"]}
    return ConfigDict(json_schema_extra={"oneOf": [everything, at_least_one_of(*narrowing)]})
