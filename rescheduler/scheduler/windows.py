"""Windows over the feasible nodes: the scheduler scores one of them, and any may be the one."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from rescheduler.model.cluster.readings import BoolArray, IntArray

Int64Array = npt.NDArray[np.int64]
AnyInts = Int64Array | npt.NDArray[np.int16]
_SMALLEST = np.iinfo(np.int16).min


class Windows:
    """All runs of `width` of `count` nodes in a circle; window s begins at node s.

    Every answer is (count,), one value per window, in time that does not depend on the width.
    """

    def __init__(self, count: int, width: int) -> None:
        self.count = count
        self.width = width

    def maximum(self, values: AnyInts) -> Int64Array:
        """The greatest value in each window."""
        return slid_maximum(np.concatenate([values, values[: self.width - 1]]), self.width)

    def minimum(self, values: AnyInts) -> Int64Array:
        """The least value in each window."""
        return -self.maximum(-values)

    def least_around(self, values: Int64Array) -> Int64Array:
        """The least of the values of all windows that a node is in, for each node."""
        turned = np.concatenate([values[self.count - self.width + 1 :], values])
        return -slid_maximum(-turned, self.width)

    def total(self, flags: BoolArray) -> Int64Array:
        """How many of the window's nodes are flagged."""
        twice = np.concatenate([[0], flags, flags[: self.width - 1]]).cumsum(dtype=np.int64)
        answer: Int64Array = twice[self.width :][: self.count] - twice[: self.count]
        return answer

    def have_all_codes(self, codes: IntArray, flags: BoolArray) -> bool:
        """Whether every window has all the codes (-1 and above) that the flagged nodes have.

        So it is, if every block has them: there are so many that a window holds one as a whole.
        Else the distances between equal codes decide.
        """
        places = None if flags.all() else np.flatnonzero(flags)
        own = codes if places is None else codes[places]
        if not len(own):
            return True
        blocks, block_of = _blocks(self.count, (self.width + 1) // 2)
        kinds = int(own.max()) + 2
        keys = (block_of if places is None else block_of[places]) * kinds + own + 1
        there = np.bincount(keys, minlength=blocks * kinds).reshape(blocks, kinds) > 0
        return bool((there.all(axis=0) == there.any(axis=0)).all()) or self._gaps(codes, flags)

    def _gaps(self, codes: IntArray, flags: BoolArray) -> bool:
        """Whether no distance between equal codes of flagged nodes is wider than a window."""
        places = np.flatnonzero(flags)
        own = codes[places].astype(np.int16)  # sorted by counting
        order = np.argsort(own, kind="stable")
        own, places = own[order], places[order]
        same = own[1:] == own[:-1]
        steps = places[1:] - places[:-1]
        if int(steps.max(initial=0, where=same)) > self.width:
            return False
        first = np.concatenate([[True], ~same])
        last = np.concatenate([~same, [True]])
        around = places[first] + self.count - places[last]
        return int(around.max()) <= self.width

    def distinct(self, codes: IntArray, flags: BoolArray) -> Int64Array:
        """How many different codes (0 and above, or -1) the window's flagged nodes have."""
        places = np.flatnonzero(flags)
        answer = np.zeros(self.count + 1, dtype=np.int64)
        if not len(places):
            return answer[:-1]
        own = codes[places]
        order = np.argsort(own, kind="stable")
        places, own = places[order], own[order]
        # A node is its code's first in the windows that begin after the code's previous place.
        first = np.diff(own, prepend=own[0] - 1) != 0
        begins = np.flatnonzero(first)
        ends = np.append(begins[1:], len(own)) - 1
        before = np.empty(len(own), dtype=np.int64)
        before[1:] = places[:-1]
        before[begins] = places[ends] - self.count
        low = np.maximum(before + 1, places - self.width + 1)
        np.add.at(answer, np.maximum(low, 0), 1)
        np.add.at(answer, places + 1, -1)
        wrapped = low < 0
        answer[-1] = 0
        answer[:-1] = answer[:-1].cumsum()
        rest = np.zeros(self.count + 1, dtype=np.int64)
        np.add.at(rest, self.count + low[wrapped], 1)
        rest = rest.cumsum()
        return answer[:-1] + rest[:-1]


@lru_cache(maxsize=8)
def _blocks(count: int, longest: int) -> tuple[int, Int64Array]:
    """How many blocks as long as this, at most, cover so many nodes, and the block of each."""
    blocks = -(-count // longest)
    return blocks, np.arange(count, dtype=np.int64) * blocks // count


def slid_maximum(values: AnyInts, width: int) -> Int64Array:
    """The greatest of each run of `width` values: (values - width + 1,).

    Runs of 1, 2, 4... are put together from two halves, which overlap in the last step. In 16 bits
    where the values allow it: that is several times faster.
    """
    runs: AnyInts = values
    if values.dtype != np.int16 and values.min() > _SMALLEST and values.max() < -_SMALLEST:
        runs = values.astype(np.int16)
    length = 1
    while 2 * length <= width:
        runs = np.maximum(runs[:-length], runs[length:])
        length *= 2
    count, rest = len(values) - width + 1, width - length
    answer: Int64Array = np.maximum(runs[:count], runs[rest : rest + count]).astype(np.int64)
    return answer
