"""JSON Schemas of what we write, from the types that it is written by."""

from collections.abc import Sequence
from typing import Any

import msgspec


def schema_parts(kinds: Sequence[type]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A reference to each kind, and the definitions that these need, sorted by name."""
    roots, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for part in parts.values():
        part["description"] = " ".join(part["description"].split())
        for field in part["properties"].values():
            if field.keys() == {"enum"} and len(field["enum"]) == 1:  # a tag: no field of the type
                field["description"] = f"Always {field['enum'][0]}."
    return list(roots), dict(sorted(parts.items()))
