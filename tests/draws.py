"""How many cases the costly properties are tried with."""

from hypothesis import settings


def tries(number: int, share: int = 10) -> int:
    """So many where `make draw` draws them again; one in `share` in the suite that is the same."""
    return number // share if settings().derandomize else number
