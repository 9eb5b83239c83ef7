"""How many cases the costly properties are tried with."""

from hypothesis import settings


def tries(number: int) -> int:
    """So many where `make draw` draws them anew; a fifth in the suite that is always the same."""
    return number // 5 if settings().derandomize else number
