"""The conformance kit, over the cases of a policy."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from rescheduler.policies.terms import Term
from tests.policies import kit, kit_cases


def _run(
    kind: str,
    check: Callable[[kit_cases.Case, Term], None],
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
