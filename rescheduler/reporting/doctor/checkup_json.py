"""A checkup as JSON, with a schema."""

from typing import Any

import msgspec

from rescheduler.model.checkup import SCHEMA_VERSION, Checkup
from rescheduler.reporting.schema import schema_parts

SCHEMA_ID = f"https://rescheduler.io/schemas/checkup.v{SCHEMA_VERSION}.json"
PROPERTIES: dict[str, dict[str, str]] = {
    "Checkup": {
        "kind": "Always Checkup: what the rescheduler needs of a cluster.",
        "schemaVersion": "Version of this format; it changes when a field changes its meaning.",
        "tool": "Name and version of the program that wrote this.",
        "taken": "When the cluster was read, by the API server's clock where it was.",
        "cluster": "Name of the cluster, as the kubeconfig calls it.",
        "version": "Version of the API server; empty where the cluster could not be read.",
        "mode": "Mode for which the rights must do.",
        "account": "Whose rights were checked; empty where nobody could say.",
        "diagnoses": "All that was checked, area by area.",
    },
    "Diagnosis": {
        "area": "What it belongs to.",
        "severity": "ok; note: nothing must be done; warning: less moves than could, or it is less "
        "safe than it looks; error: something cannot work as it is.",
        "message": "What was found.",
        "advice": "What to do; empty for nothing.",
        "code": "Reason code; empty where there is none.",
    },
}

_encoder = msgspec.json.Encoder(order="deterministic")


def checkup_json(checkup: Checkup) -> bytes:
    """The checkup as JSON, two spaces deep."""
    return msgspec.json.format(_encoder.encode(checkup), indent=2) + b"\n"


def checkup_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `checkup_json` writes."""
    [root], parts = schema_parts([Checkup], PROPERTIES)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Checkup by the rescheduler",
        "description": "What the rescheduler needs of a cluster, and whether it is there.",
        **root,
        "$defs": parts,
    }
