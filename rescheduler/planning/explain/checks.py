"""Every check that a pod must pass before it may move, also those after one that fails."""

from collections.abc import Iterator

from rescheduler.model.explanation import Check
from rescheduler.model.problem import Problem
from rescheduler.planning.search.working_copy import WorkingCopy

_BUDGETS = ("BUD001", "BUD003")
_LIMITS = ("PAC001", "PAC005", "PAC002", "PAC003", "PAC004", "BUD002", "BUD004")


def checks(copy: WorkingCopy, pod: int) -> list[Check]:
    """The checks of eligibility and budgets, in the order of their codes.

    Within a group the checks after one that fails are not asked.
    """
    found: dict[str, Check] = {}
    for codes, answer in _groups(copy, pod):
        for check in _checks(codes, answer):
            known = found.get(check.code)
            if known is None or known.result == "passed":
                found[check.code] = check
    return sorted(found.values(), key=lambda check: (_family(check.code), check.code))


def _groups(copy: WorkingCopy, pod: int) -> Iterator[tuple[tuple[str, ...], Problem | None]]:
    yield from copy.eligibility.checks(pod)
    permanent = copy.budgets.permanent(pod)
    yield _BUDGETS, permanent
    if permanent is None and copy.snapshot.pod_node[pod] >= 0:
        yield _LIMITS, copy.budgets.refusal(pod)


def _checks(codes: tuple[str, ...], answer: Problem | None) -> Iterator[Check]:
    failed = False
    for code in codes:
        if answer is not None and code == answer.code:
            failed = True
            yield Check(code=code, result="failed", message=answer.message)
        else:
            yield Check(code=code, result="not asked" if failed else "passed")


def _family(code: str) -> int:
    order = ("ELG", "DAT", "BUD", "PAC")
    return order.index(code[:3]) if code[:3] in order else len(order)
