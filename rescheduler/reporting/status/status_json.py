"""The status as JSON, with a schema."""

from typing import Any

import msgspec

from rescheduler.model.run_status import SCHEMA_VERSION, RunStatus
from rescheduler.reporting.schema import schema_parts

SCHEMA_ID = f"https://rescheduler.io/schemas/status.v{SCHEMA_VERSION}.json"

_encoder = msgspec.json.Encoder(order="deterministic")


def status_json(status: RunStatus) -> bytes:
    """The status as JSON, two spaces deep."""
    return msgspec.json.format(_encoder.encode(status), indent=2) + b"\n"


def status_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `status_json` writes."""
    [root], parts = schema_parts([RunStatus])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Status by the rescheduler",
        "description": "What runs in a cluster, why nothing moves now, and what is left of each "
        "budget.",
        **root,
        "$defs": parts,
    }
