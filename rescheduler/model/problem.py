"""Why something must not be relied on, or is left alone: a reason code with its sentence."""

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """A reason code of `model/reasons.py`, and a sentence with the names and values at hand."""

    code: str
    message: str
