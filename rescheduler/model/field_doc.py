"""What a field means, said on the field: the JSON Schema of what is written reads it there."""

from typing import Annotated

import msgspec


def doc(text: str) -> msgspec.Meta:
    """The description of a field, as metadata of its type; decoding is not changed by it."""
    return msgspec.Meta(description=text)


SchemaVersion = Annotated[
    str, doc("Version of this format; it changes when a field changes its meaning.")
]
