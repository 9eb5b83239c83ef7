"""One test over many small cases: each is tried, and each that fails is named and shown.

For cases that cost less than a test of their own does, about two milliseconds of it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest


def every(
    cases: Mapping[str, tuple[Any, ...]] | list[Any],
) -> Callable[[Callable[..., None]], Any]:
    """Make a check of one case a test of all; cases: what the check is given, by name or numbered.

    The test fails with a group of what the failed cases raised, each with the name of its case. A
    case that skips counts as failed, since a test over many cannot be skipped in part.
    """
    if not cases:
        raise ValueError("a test without a case cannot fail")
    named = numbered(cases) if isinstance(cases, list) else cases

    def of(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            failed: dict[str, BaseException] = {}
            for name, case in named.items():
                try:
                    check(*case)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - raised below
                    error.add_note(f"This is the case {name!r}.")
                    failed[name] = error
            if failed:
                said = f"{len(failed)} of {len(named)} cases failed: {', '.join(failed)}"
                raise BaseExceptionGroup(said, list(failed.values()))

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__qualname__, test.__module__ = check.__qualname__, check.__module__
        if hasattr(check, "pytestmark"):
            vars(test)["pytestmark"] = check.pytestmark
        return test

    return of


def numbered(cases: list[Any]) -> dict[str, tuple[Any, ...]]:
    """The cases by their place in the list; each is what the check is given, or all of it."""
    return {str(at): case if isinstance(case, tuple) else (case,) for at, case in enumerate(cases)}
