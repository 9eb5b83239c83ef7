"""What a policy finds that can be counted, in people's words."""

import msgspec


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """How many of a thing there are before the plan and after it. one, many: what it is called."""

    one: str
    many: str
    before: int
    after: int
