"""A checkup as JSON, with a schema."""

from typing import Any

import msgspec

from rescheduler.model.checkup import SCHEMA_VERSION, Checkup
from rescheduler.reporting.schema import schema_parts

SCHEMA_ID = f"https://rescheduler.io/schemas/checkup.v{SCHEMA_VERSION}.json"

_encoder = msgspec.json.Encoder(order="deterministic")


def checkup_json(checkup: Checkup) -> bytes:
    """The checkup as JSON, two spaces deep."""
    return msgspec.json.format(_encoder.encode(checkup), indent=2) + b"\n"


def checkup_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `checkup_json` writes."""
    [root], parts = schema_parts([Checkup])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Checkup by the rescheduler",
        "description": "What the rescheduler needs of a cluster, and whether it is there.",
        **root,
        "$defs": parts,
    }
