"""What a policy's findings count in words of people, such as hot nodes: before and after a plan."""

from typing import Annotated

import msgspec

from rescheduler.model.field_doc import doc


class FindingCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many of a thing there are."""

    one: Annotated[str, doc("What one of these is called.")]
    many: Annotated[str, doc("What several of these are called.")]
    before: Annotated[int, doc("How many there are before the moves.")]
    after: Annotated[int, doc("How many there are after the moves.")]
