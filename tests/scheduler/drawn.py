"""Properties over drawn clusters."""

from collections.abc import Callable
from typing import Any

from hypothesis import given as any_given
from hypothesis import settings

from tests.draws import tries

EXAMPLES = settings(max_examples=tries(100))


def given(*strategies: Any) -> Callable[[Any], Any]:
    """hypothesis' given, with fewer examples: each builds several models of a whole cluster."""
    return lambda test: EXAMPLES(any_given(*strategies)(test))  # type: ignore[no-untyped-call]
