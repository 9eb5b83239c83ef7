"""How the moves of a plan were searched for, and how good they are at least."""

from collections.abc import Sequence
from typing import Literal

import msgspec

Stop = Literal["complete", "full", "steps", "time"]
"""complete: nothing more is worth moving within the limits. full: the limits allow no more moves.
steps: as many moves were evaluated as one search may. time: its time was up."""


class SearchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How a search ended.

    steps: moves, alone or together, that were evaluated. gain: expected decrease of the weighted
    cost by all moves. bound: what as many moves could gain at most, whichever they are, and no more
    of a workload, node or namespace than the limits allow: no plan of as many moves gains more.
    chained: how many of the moves are parts of swaps and chains. alone: what single moves gained
    until none of them was possible that gains: without swaps and chains it would have ended there.
    singly: what moves gained that were found one by one, where others that were proposed together
    gain more, or the same with fewer evictions; these are the plan. resumed: what the moves of the
    last plan gain of it, where the search began with them.
    """

    stopped: Stop
    steps: int
    gain: float
    bound: float
    chained: int = 0
    alone: float | None = None
    singly: float | None = None
    resumed: float | None = None

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
