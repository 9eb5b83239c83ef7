"""What a published JSON Schema leaves unsaid."""

from typing import Any


def undescribed_fields(schema: dict[str, Any]) -> list[str]:
    """Each field, as `Type.field`, of which the schema does not say what it means."""
    return [
        f"{name}.{key}"
        for name, part in schema["$defs"].items()
        for key, field in part["properties"].items()
        if not field.get("description")
    ]
