"""How the moves of a plan were searched for, and how good they are at least."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from rescheduler.model.field_doc import doc

Stop = Literal["complete", "full", "steps", "time"]


class SearchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How a search ended."""

    stopped: Annotated[
        Stop,
        doc(
            "complete: nothing more is worth moving. full: the limits allow no more moves. "
            "steps: as many moves were evaluated as one search may. time: its time was up."
        ),
    ]
    steps: Annotated[int, doc("Moves, alone or together, that were evaluated.")]
    gain: Annotated[float, doc("Expected decrease of the weighted cost by all moves.")]
    bound: Annotated[
        float, doc("What as many moves within the limits could gain at most, each by itself.")
    ]
    chained: Annotated[int, doc("How many of the moves are parts of swaps and chains.")] = 0
    alone: Annotated[
        float | None, doc("What single moves gained before swaps and chains; null: all are single.")
    ] = None
    singly: Annotated[
        float | None,
        doc("What a plan found move by move gains, if this is a better one; null: it is not."),
    ] = None
    resumed: Annotated[
        float | None,
        doc("What the moves of the last plan gain of it; null: it did not begin with them."),
    ] = None

    @property
    def within(self) -> float | None:
        """The share of the bound that the moves miss, 0 to 1; None where nothing can be gained."""
        return None if self.bound <= 0 else max(0.0, 1.0 - self.gain / self.bound)


def merge_summaries(passes: Sequence[SearchSummary]) -> SearchSummary | None:
    """The passes of one plan as one search; None without any. It stopped as the first that did."""
    if not passes:
        return None
    return SearchSummary(
        stopped=next(
            (summary.stopped for summary in passes if summary.stopped != "complete"), "complete"
        ),
        steps=sum(summary.steps for summary in passes),
        gain=sum(summary.gain for summary in passes),
        bound=sum(summary.bound for summary in passes),
        chained=sum(summary.chained for summary in passes),
        alone=sum(summary.gain if summary.alone is None else summary.alone for summary in passes)
        if any(summary.alone is not None for summary in passes)
        else None,
        singly=sum(summary.gain if summary.singly is None else summary.singly for summary in passes)
        if any(summary.singly is not None for summary in passes)
        else None,
        resumed=sum(summary.resumed or 0.0 for summary in passes)
        if any(summary.resumed is not None for summary in passes)
        else None,
    )
