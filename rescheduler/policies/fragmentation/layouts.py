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

    def number(self, free: Left) -> int:
        """The row of this state in the tables."""
        state_row = self._numbers.get(free)
        if state_row is not None:
            return state_row
        row = self._numbers[free] = len(self._numbers)
        if row == len(self.idle):
            self.idle = np.concatenate([self.idle, self.idle])
            self.usable = np.concatenate([self.usable, self.usable])
            self.fits = np.concatenate([self.fits, self.fits])
        devices = np.array(free, dtype=np.int64)
        full, most = free.count(WHOLE), max(free, default=0)
        enough = (devices[:, None] >= self._shares) * devices[:, None]
        usable = np.where(self._shares > 0, enough.sum(axis=0) / WHOLE, 0.0)
        usable[self._gpus > 0] = full
        self.fits[row] = (full >= self._gpus) & (most >= self._shares)
        self.usable[row] = np.where(self.fits[row], usable, 0.0)
        self.idle[row] = devices.sum() / WHOLE
        return row

    def states_after_arrival(self, fixed: Left, whole: int, shares: Left) -> IntArray:
        """(coming,) the state once a pod of each kind has come, -1 where there is no room.

        fixed: what known shares leave of each GPU. whole: how many are held.
        shares: those on GPUs that are not known, the largest first.
        """
        key = fixed, whole, shares
        states = self._next.get(key)
        if states is None:
            now, _ = laid_out(fixed, whole, shares)
            numbers = [self._state_with(key, now, kind) for kind in self._coming]
            states = self._next[key] = np.array(numbers, dtype=np.int32)
        return states

    def _state_with(self, key: tuple[Left, int, Left], now: Left, kind: Kind) -> int:
        gpus, share = kind
        if kind == (0, 0):
            return self.number(now)
        fixed, whole, shares = key
        if now[:gpus].count(WHOLE) < gpus or (share and not any(e >= share for e in now[gpus:])):
            return -1
        more = tuple(sorted((*shares, share), reverse=True)) if share else shares
        free, enough = laid_out(fixed, whole + gpus, more)
        return self.number(free) if enough else -1


def laid_out(fixed: Left, whole: int, shares: Left) -> tuple[Left, bool]:
    """What is left of each GPU, most first, and whether all had room."""
    free = list(fixed)
    enough = whole <= len(free) and all(free_share == WHOLE for free_share in free[:whole])
    free[:whole] = [0] * min(whole, len(free))
    for share in shares:
        fullest = -1
        for device, room in enumerate(free):
            if room >= share and (fullest < 0 or room < free[fullest]):
                fullest = device
        if fullest < 0:
            enough = False
            fullest = max(range(len(free)), key=free.__getitem__, default=-1)
        if fullest >= 0:
            free[fullest] = max(0, free[fullest] - share)
    return tuple(sorted(free, reverse=True)), enough
