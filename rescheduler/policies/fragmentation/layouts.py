"""What is left of the GPUs of nodes, numbered: nodes come back to few states, and kinds are few.

A state is what is left of each GPU by the shares that are known to be on it, how many GPUs are
held whole, and the shares on GPUs that are not known. Of it follows what is left, as
`FreeCapacity` has it: the whole ones are the emptiest, and each share, the largest first, is on
the fullest with room.
"""

from collections.abc import Sequence

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.policies.shared.demand import WHOLE

Left = tuple[int, ...]
"""Thousandths left of each GPU of a node, most first."""

Kind = tuple[int, int]
"""What a pod asks of GPUs: how many whole ones, and thousandths of one."""

_MOST = 1 << 16
"""So many states are kept."""


class Layouts:
    """The states. coming: kinds of pods that come. using: kinds of types that could use the rest.

    idle: (states,) GPUs. usable: (states, using) GPUs that a type can use, 0 where it does not fit.
    fits: (states, using) whether it fits.
    """

    def __init__(self, coming: Sequence[Kind], using: Sequence[Kind]) -> None:
        self._coming = tuple(coming)
        self._gpus, self._shares = np.array(using, dtype=np.int64).reshape(-1, 2).T
        self._begin()

    def _begin(self) -> None:
        size, using = 256, len(self._gpus)
        self._numbers: dict[Left, int] = {}
        self._next: dict[tuple[Left, int, Left], IntArray] = {}
        self.idle: FloatArray = np.zeros(size)
        self.usable: FloatArray = np.zeros((size, using))
        self.fits: BoolArray = np.zeros((size, using), dtype=np.bool_)

    def trim(self) -> None:
        """Forget all if too many are kept; numbers known before then mean nothing."""
        if len(self._numbers) > _MOST or len(self._next) > _MOST:
            self._begin()

    def number(self, left: Left) -> int:
        """The row of this state in the tables."""
        known = self._numbers.get(left)
        if known is not None:
            return known
        row = self._numbers[left] = len(self._numbers)
        if row == len(self.idle):
            self.idle = np.concatenate([self.idle, self.idle])
            self.usable = np.concatenate([self.usable, self.usable])
            self.fits = np.concatenate([self.fits, self.fits])
        devices = np.array(left, dtype=np.int64)
        full, most = left.count(WHOLE), max(left, default=0)
        enough = (devices[:, None] >= self._shares) * devices[:, None]
        usable = np.where(self._shares > 0, enough.sum(axis=0) / WHOLE, 0.0)
        usable[self._gpus > 0] = full
        self.fits[row] = (full >= self._gpus) & (most >= self._shares)
        self.usable[row] = np.where(self.fits[row], usable, 0.0)
        self.idle[row] = devices.sum() / WHOLE
        return row

    def after(self, fixed: Left, whole: int, shares: Left) -> IntArray:
        """(coming,) the state once a pod of each kind has come, -1 where there is no room.

        fixed: what known shares leave of each GPU. whole: how many are held.
        shares: those on GPUs that are not known, the largest first.
        """
        key = fixed, whole, shares
        known = self._next.get(key)
        if known is None:
            now, _ = laid_out(fixed, whole, shares)
            found = [self._with(key, now, kind) for kind in self._coming]
            known = self._next[key] = np.array(found, dtype=np.int32)
        return known

    def _with(self, key: tuple[Left, int, Left], now: Left, kind: Kind) -> int:
        gpus, share = kind
        if kind == (0, 0):
            return self.number(now)
        fixed, whole, shares = key
        if now[:gpus].count(WHOLE) < gpus or (share and not any(e >= share for e in now[gpus:])):
            return -1
        more = tuple(sorted((*shares, share), reverse=True)) if share else shares
        left, enough = laid_out(fixed, whole + gpus, more)
        return self.number(left) if enough else -1


def laid_out(fixed: Left, whole: int, shares: Left) -> tuple[Left, bool]:
    """What is left of each GPU, most first, and whether all had room."""
    left = list(fixed)
    enough = whole <= len(left) and all(each == WHOLE for each in left[:whole])
    left[:whole] = [0] * min(whole, len(left))
    for share in shares:
        fullest = -1
        for device, room in enumerate(left):
            if room >= share and (fullest < 0 or room < left[fullest]):
                fullest = device
        if fullest < 0:
            enough = False
            fullest = max(range(len(left)), key=left.__getitem__, default=-1)
        if fullest >= 0:
            left[fullest] = max(0, left[fullest] - share)
    return tuple(sorted(left, reverse=True)), enough
