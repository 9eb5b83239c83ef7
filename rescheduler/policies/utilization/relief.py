"""What was hot, is not any more, and is relieved further: to `low`."""

from collections.abc import Sequence
from datetime import datetime

from rescheduler.model.cluster.readings import BoolArray, FloatArray


def hot_or_not(high: float, begun: datetime | None, *, hot: bool) -> str:
    """Why a load above `low` makes pods leave, or does not. begun: when it was seen above `high`.

    That is where earlier moves have begun to relieve it, and it is not above `high` any more.
    """
    if begun is not None:
        return f" (relieved further: at {begun:%H:%M} UTC it was above {high:.0%})"
    return f" ({'hot' if hot else 'no pod leaves unless it is'} above {high:.0%})"


def heat_with_relief(
    heat: BoolArray, past: FloatArray | None, low: FloatArray, begun: Sequence[int]
) -> BoolArray:
    """(instants, k) when each was too full: hot; where its relief has begun, above `low`.

    past: (instants, k) the loads, None where they are not known. low: (k,). begun: which of the k.
    """
    if not begun or past is None:
        return heat
    answer = heat.copy()
    answer[:, begun] = past[:, begun] > low[begun]
    return answer
