"""Series of samples, as promtool's tests write them."""

import re

import numpy as np

from rescheduler.model.readings import FloatArray

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?%?"
_TOKEN = re.compile(
    rf"(?P<start>-?{_NUMBER}|_)(?P<step>[+-]{_NUMBER})?(?:x(?P<count>[0-9]{{1,4}}))?"
)
_MOST = 10_000


def samples(text: str | float | None) -> FloatArray:
    """(n,) the samples, oldest first; NaN is absent.

    `0.5`, `50%`; `1 2 _ 4` with `_` for an absent sample; `0.2+0.1x5` for 0.2 and five more steps
    of 0.1; `70%x9` for ten samples of 70 %. None is a value that ought to be there and is not.

    Raises:
        ValueError: it is not such a series.
    """
    if text is None:
        return np.array([np.nan])
    found: list[float] = []
    for token in str(text).split():
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise ValueError(f"`{token}` is not a sample such as 0.5, 50%, _ or 0.2+0.1x5")
        if match["step"] and not match["count"]:
            raise ValueError(f"`{token}` has a step and no count, as in 0.2+0.1x5")
        start, step = _value(match["start"]), _value(match["step"] or "0")
        found += [start + step * index for index in range(int(match["count"] or 0) + 1)]
        if len(found) > _MOST:
            raise ValueError(f"more than {_MOST:,} samples")
    if not found:
        raise ValueError("a series needs at least one sample")
    return np.array(found, dtype=np.float64)


def _value(text: str) -> float:
    if text == "_":
        return float("nan")
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)
