"""What several policies and readings lack for one reason is told once."""

from collections.abc import Iterable

from rescheduler.model.moves.plan import Plan, PolicyResult
from rescheduler.model.problem import Problem


def cause_of(problem: Problem, plan: Plan) -> str:
    """What is wrong, without the name of the reading that the message begins with."""
    name, colon, rest = problem.message.partition(": ")
    named = bool(colon) and any(reading.name == name for reading in plan.readings)
    return rest if named else problem.message


def policies_by_cause(
    plan: Plan, problems: Iterable[tuple[PolicyResult, Problem]]
) -> list[tuple[list[PolicyResult], Problem]]:
    """The policies with the same problem together, in the order of the first of each.

    The message of several is the cause that they share; that of one also names the reading.
    """
    groups: dict[tuple[str, str], list[tuple[PolicyResult, Problem]]] = {}
    for policy, problem in problems:
        groups.setdefault((problem.code, cause_of(problem, plan)), []).append((policy, problem))
    return [
        (
            [policy for policy, _ in members],
            members[0][1] if len(members) == 1 else Problem(code, cause),
        )
        for (code, cause), members in groups.items()
    ]
