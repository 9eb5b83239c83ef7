"""Explanations as text for a terminal, and as JSON with a schema."""

from typing import Any

import msgspec

from rescheduler.model.explanation import (
    SCHEMA_VERSION,
    Explanation,
    NodeExplanation,
    PendingExplanation,
    PodExplanation,
)
from rescheduler.reporting.explain.node_report import draw_node
from rescheduler.reporting.explain.pending_report import draw_pending
from rescheduler.reporting.explain.pod_report import draw_pod
from rescheduler.reporting.formats.screen import Screen
from rescheduler.reporting.schema import schema_parts
from rescheduler.reporting.view import clean_value

SCHEMA_ID = f"https://rescheduler.io/schemas/explanation.v{SCHEMA_VERSION}.json"
KINDS = (PodExplanation, NodeExplanation, PendingExplanation)

_encoder = msgspec.json.Encoder(order="deterministic")


def render_explanation(explanation: Explanation, *, width: int, color: bool) -> str:
    """The explanation as text of that width in screen cells; with color, as ANSI sequences."""
    screen = Screen(width=width, color=color)
    seen = msgspec.convert(clean_value(msgspec.to_builtins(explanation)), type(explanation))
    if isinstance(seen, PodExplanation):
        draw_pod(screen, seen)
    elif isinstance(seen, NodeExplanation):
        draw_node(screen, seen)
    else:
        draw_pending(screen, seen)
    return screen.text()


def explanation_json(explanation: Explanation) -> bytes:
    """The explanation as JSON, two spaces deep."""
    return msgspec.json.format(_encoder.encode(explanation), indent=2) + b"\n"


def explanation_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `explanation_json` writes."""
    roots, parts = schema_parts(KINDS)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Explanation by the rescheduler",
        "description": "Why a pod, a node or Pending pods are as they are, and what may help.",
        "anyOf": roots,
        "$defs": parts,
    }
