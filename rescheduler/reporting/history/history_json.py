"""The history as JSON, with a schema."""

from typing import Any

import msgspec

from rescheduler.model.trails.trail_history import SCHEMA_VERSION, TrailHistory
from rescheduler.reporting.schema import schema_parts

SCHEMA_ID = f"https://rescheduler.io/schemas/history.v{SCHEMA_VERSION}.json"

_encoder = msgspec.json.Encoder(order="deterministic")


def history_json(history: TrailHistory) -> bytes:
    """The history as JSON, two spaces deep."""
    return msgspec.json.format(_encoder.encode(history), indent=2) + b"\n"


def history_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `history_json` writes."""
    [root], parts = schema_parts([TrailHistory])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "History by the rescheduler",
        "description": "What was moved and why, where it went, whether it helped, and what was "
        "prevented.",
        **root,
        "$defs": parts,
    }
