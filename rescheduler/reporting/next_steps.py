"""What to type after a report: commands that can be run as they stand, as far as that is known."""

import shlex
from dataclasses import dataclass

from rescheduler.model.moves.plan import Outcome, Plan, Report, plan_in
from rescheduler.model.moves.plan_digest import ID_LENGTH
from rescheduler.model.wording import clean


@dataclass(frozen=True, slots=True)
class Invocation:
    """How the report was asked for, so that the next command reads from the same places.

    file: where the plan or outcome is saved; "" where it is not. policies: their path.
    options: of the cluster, its metrics and its scheduler, as given, each with its value; None
    where they are not known, as of a report that is shown again.
    """

    file: str = ""
    policies: str = ""
    options: tuple[tuple[str, ...], ...] | None = None


NOT_GIVEN = Invocation()


@dataclass(frozen=True, slots=True)
class Step:
    """A command to type next. parts: the command, and each option with its value, for a shell."""

    label: str
    parts: tuple[str, ...]

    @property
    def command(self) -> str:
        """In one line."""
        return " ".join(self.parts)

    def lines(self, width: int) -> list[str]:
        """In lines of at most that many characters where that can be, continued by backslashes."""
        answer = [self.parts[0]]
        for part in self.parts[1:]:
            if len(answer[-1]) + len(part) + 3 <= width:
                answer[-1] += f" {part}"
            else:
                answer[-1] += " \\"
                answer.append(f"  {part}")
        return answer


def next_steps(report: Report, given: Invocation, *, applicable: bool) -> list[Step]:
    """What to type next. applicable: whether `apply` would take the plan."""
    plan, kind = plan_in(report), "outcome" if isinstance(report, Outcome) else "plan"
    saved = _word(given.file or f"{kind.upper()}.json")
    options = _options(plan, given)
    again = ("rescheduler plan", f"--policies {_word(given.policies or 'PATH')}", *options)
    page = (f"rescheduler render {saved}", "-o html", f"--out {kind}.html")
    if kind == "outcome":
        return [Step("Share", page), Step("Plan again", again)]
    kept = (*again, "-o json", "--out PLAN.json")
    if not applicable:
        fresh = Step("Plan live" if plan.recorded else "Plan again", kept)
        return [Step("Review", page), fresh] if given.file else [fresh, Step("Review", page)]
    # A plan that was only shown is made again, so that what is applied is what was reviewed.
    save = [] if given.file else [Step("Save", kept)]
    approved = (f"--digest {plan.id[:ID_LENGTH]}",) if given.file else ()
    apply = (f"rescheduler apply {saved}", *approved, *options, "--yes")
    return [*save, Step("Review", page), Step("Apply", apply)]


def _options(plan: Plan, given: Invocation) -> tuple[str, ...]:
    """The options as given; where they are not known or were of a recording, what none can lack."""
    if given.options is None or plan.recorded:
        return ("--prometheus-url URL",) if plan.readings else ()
    return tuple(" ".join(map(_word, option)) for option in given.options)


def _word(word: str) -> str:
    return shlex.quote(clean(word))
