"""What to type after a report: commands that can be run as they stand, as far as that is known."""

import shlex
from dataclasses import dataclass

from rescheduler.model.moves.plan import Outcome, Plan, Report, plan_in
from rescheduler.model.moves.plan_digest import ID_LENGTH
from rescheduler.model.wording import clean


@dataclass(frozen=True, slots=True)
class Invocation:
    """How the report was requested, so that the next command reads from the same places.

    file: where the plan or outcome is saved; "" where it is not. policies: their path, "" for those
    that come with the program.
    options: of the cluster, its metrics and its scheduler, as given, each with its value; None
    where they are not known, as of a report that is shown again.
    """

    file: str = ""
    policies: str = ""
    options: tuple[tuple[str, ...], ...] | None = None


NOT_GIVEN = Invocation()


@dataclass(frozen=True, slots=True)
class NextStep:
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


def next_steps(report: Report, invocation: Invocation, *, applicable: bool) -> list[NextStep]:
    """What to type next. applicable: whether `apply` would take the plan."""
    plan, kind = plan_in(report), "outcome" if isinstance(report, Outcome) else "plan"
    saved = _word(invocation.file or f"{kind.upper()}.json")
    options = _options(plan, invocation)
    again = ("rescheduler plan", *_policies(invocation, kind), *options)
    page = (f"rescheduler render {saved}", "-o html", f"--out {kind}.html")
    if kind == "outcome":
        return [NextStep("Share", page), NextStep("Plan again", again)]
    kept = (*again, "-o json", "--out PLAN.json")
    if not applicable:
        fresh = NextStep("Plan live" if plan.recorded else "Plan again", kept)
        return (
            [NextStep("Review", page), fresh]
            if invocation.file
            else [fresh, NextStep("Review", page)]
        )
    # A plan that was only shown is made again, so that what is applied is what was reviewed.
    save = [] if invocation.file else [NextStep("Save", kept)]
    approved = (f"--digest {plan.id[:ID_LENGTH]}",) if invocation.file else ()
    apply = (f"rescheduler apply {saved}", *approved, *options, "--yes")
    return [*save, NextStep("Review", page), NextStep("Apply", apply)]


def _policies(invocation: Invocation, kind: str) -> tuple[str, ...]:
    """The path as given; none of a plan that was just made with those that come along."""
    if kind == "plan" and invocation.options is not None and not invocation.policies:
        return ()
    return (f"--policies {_word(invocation.policies or 'PATH')}",)


def _options(plan: Plan, invocation: Invocation) -> tuple[str, ...]:
    """The options as given; where they are not known or were of a recording, what none can lack."""
    if invocation.options is None or plan.recorded:
        return ("--prometheus-url URL",) if plan.readings else ()
    return tuple(" ".join(map(_word, option)) for option in invocation.options)


def _word(word: str) -> str:
    return shlex.quote(clean(word))
