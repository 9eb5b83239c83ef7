"""What a policy's findings count in words of people, such as hot nodes: before and after a plan."""

import msgspec


class FindingCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many of a thing there are before the plan and after it. one, many: what it is called."""

    one: str
    many: str
    before: int
    after: int
