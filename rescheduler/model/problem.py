"""Why something must not be relied on, or is left alone: a reason code with its sentence."""

from typing import Annotated

import msgspec

from rescheduler.model.field_doc import doc


class Problem(msgspec.Struct, frozen=True):
    """A reason code of `model/reasons.py`, and a sentence with the names and values at hand."""

    code: Annotated[str, doc("Reason code: three letters for the family and a number.")]
    message: Annotated[str, doc("A sentence with the values.")]
