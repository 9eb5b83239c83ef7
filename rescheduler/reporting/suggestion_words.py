"""Suggestions in words: what to change, what that brings, and who has to decide it."""

from collections.abc import Iterator
from dataclasses import dataclass

from rescheduler.model.moves.plan import Report, plan_in
from rescheduler.model.moves.suggestion import Suggestion, TrialResult
from rescheduler.model.wording import count_text, verb_for
from rescheduler.reporting.phrasing import ARROW, amount, percent, resource

HEADING = "What would help most"
HEADING_OF_WHOLE = "What would help the whole plan most"
"""Above the same beside one pod or node, which may gain nothing by it."""
_LEAST = 0.005
"""A gain that differs by less is shown as the same."""


@dataclass(frozen=True)
class SuggestionRow:
    """A suggestion as people read it. promise: the change and what it brings; how: what to write.

    caution: what becomes less safe and who decides that; "": nothing.
    """

    promise: str
    how: str
    caution: str

    @property
    def whole(self) -> str:
        """In one paragraph."""
        return " ".join(part for part in (self.promise, self.how, self.caution) if part)


def standing_suggestions(report: Report) -> list[Suggestion]:
    """Those of the report; none where its moves were tried, which may have changed everything."""
    plan = plan_in(report)
    tried = report is not plan and any(move.mode == "Enforce" for move in plan.moves)
    return [] if tried else plan.suggestions


def suggestion_rows(suggestions: list[Suggestion]) -> list[SuggestionRow]:
    """The rows, in the order of the plan."""
    return [_row(suggestion) for suggestion in suggestions]


def _row(suggestion: Suggestion) -> SuggestionRow:
    trial = suggestion.trial
    if trial is not None:
        promise = f"{suggestion.change}: {', '.join(_effects(trial))}."
    else:
        why = f" ({suggestion.untried})" if suggestion.untried else ""
        promise = f"{suggestion.change}{why}."
    how = f"{suggestion.how.rstrip('.')}." if suggestion.how else ""
    return SuggestionRow(promise, how, _caution(suggestion))


def _effects(trial: TrialResult) -> Iterator[str]:
    """What it brings: moves, the hottest node, what there is less of."""
    more = trial.moves - trial.movesNow
    if more > 0:
        yield count_text(more, "more move" if trial.movesNow else "move")
    elif trial.gain > trial.gainNow + _LEAST:
        moves = count_text(trial.moves, "move")
        yield f"{moves} gain{'s' if trial.moves == 1 else ''} {amount(trial.gain)}" + (
            f" instead of {amount(trial.gainNow)}" if trial.movesNow else ""
        )
    worst = trial.worst
    if worst is not None:
        yield (
            f"worst {resource(worst.reading)} of a node {percent(worst.now)} {ARROW} "
            f"{percent(worst.changed)}"
        )
    for count in trial.counts:
        become = verb_for(count.before, "becomes", "become")
        yield f"{count_text(count.before, count.one, count.many)} {become} {count.after:,}"


def _caution(suggestion: Suggestion) -> str:
    if not suggestion.risk:
        return ""
    decides = f" To be decided by {suggestion.decides}." if suggestion.decides else ""
    return f"Less safe: {suggestion.risk}.{decides}"
