"""The conformance kit, over the cases of a policy."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from rescheduler.policies.terms import Term
from tests.policies import kit, kit_cases

Check = Callable[[kit_cases.Case, Term], None]
Mistake = tuple[str, Check, Any]
"""What is replaced in `rescheduler.policies`, the check that must find it, and by what."""


class AllFoundError(Exception):
    """No mistake is left to be looked for."""


def unfound(kind: str, mistakes: Iterable[Mistake]) -> list[str]:
    """Of these mistakes those that the kit does not find; all are looked for in the same cases."""
    unseen = list(mistakes)

    def look(case: kit_cases.Case) -> None:
        unseen[:] = [mistake for mistake in unseen if not _shows(mistake, case)]
        if not unseen:
            raise AllFoundError

    with suppress(AllFoundError):
        _on_cases(kind, look, examples=1000)
    return [name for name, _, _ in unseen]


def _shows(mistake: Mistake, case: kit_cases.Case) -> bool:
    name, check, wrong = mistake
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"rescheduler.policies.{name}", wrong)
        try:
            term = kit.bound(case)
            if term is not None:
                check(case, term)
        except AssertionError:
            return True
    return False


def _run(
    kind: str,
    check: Check,
    *,
    examples: int,
    mutate: Callable[[Term], Any] = lambda term: term,
) -> None:
    def tried(case: kit_cases.Case) -> None:
        term = kit.bound(case, mutate)
        if term is not None:
            check(case, term)

    _on_cases(kind, tried, examples=examples)


def _on_cases(kind: str, check: Callable[[kit_cases.Case], None], *, examples: int) -> None:
    @settings(
        max_examples=examples,
        # Whether a mutant is found must not hang on luck.
        derandomize=settings().derandomize or examples > 100,
        phases=[Phase.generate] if examples > 100 else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(case=kit_cases.cases(kind))
    def tried(case: kit_cases.Case) -> None:
        check(case)

    tried()
