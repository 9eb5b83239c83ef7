"""What was hot and is relieved further, to `low`; and what a finding says of it."""

import math
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


def too_many(above: float, load: float, pods: int, whose: str, which: str = "") -> str:
    """How many pods should leave, `: about 4 of its 8 pods should leave`; "" without pods.

    above: the load above the target. load: what the pods cause together, in the same unit; each
    counts as an average one. whose, which: before and after `pods`.
    """
    if not pods or not (above > 0 and load > 0):
        return ""
    if pods == 1:
        return f": {whose} only pod should leave"
    leaving = min(pods, math.ceil(above / (load / pods) - 1e-6))
    named = f"{whose} {pods} pods {which}".strip()
    return f": about {leaving} of {named} should leave"
