"""JSON Schemas of what we write, from the types that it is written by."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


def schema_parts(
    kinds: Sequence[type], properties: Mapping[str, Mapping[str, str]]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A reference to each kind, and the definitions that these need, sorted by name.

    properties: by the name of a type, what each of its fields means.
    """
    roots, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for name, part in parts.items():
        part["description"] = " ".join(part["description"].split())
        # A description beside "$ref" is allowed since 2019-09.
        part["properties"] = {
            key: {"description": properties[name][key], **field}
            for key, field in part["properties"].items()
        }
    return list(roots), dict(sorted(parts.items()))
