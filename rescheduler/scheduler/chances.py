"""The probability of each feasible node, when any window of them may be the one that is scored."""

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.scheduler.normalizing import NEVER, Circumstance, Relative
from rescheduler.scheduler.sampling import masses, share_out, shares, start_bounds
from rescheduler.scheduler.windows import Int64Array, Windows

Weighted = tuple[int, Relative]
Table = tuple[Int64Array, IntArray, Int64Array]
"""Points by circumstance and code, the circumstance of each stretch, the code of each node."""

_DEAR = 0.25
"""What sharing out one node costs, in comparisons of one candidate; found by measuring."""
_SETTING_UP = 1000
"""What sharing out one stretch costs beside, in nodes."""
_CELLS = 1_000_000
"""The most comparisons of a candidate in a stretch of windows that are made at once."""
_MOST = 2**62
"""Greater numbers of circumstances side by side are numbered again, so that not two become one."""
_FEW_STRETCHES = 64
"""Up to so many it costs more to find the equal ones than to score each."""


def chances(
    base: Int64Array, relatives: list[Weighted], ranks: IntArray, nodes: int, width: int
) -> FloatArray:
    """The probability of each feasible node, exactly.

    base: (feasible,) the sum of the scores that depend on the node alone.
    relatives: the other scores, each with its weight. ranks, nodes, width: as in `shares`.

    A window's normalized scores depend on a few numbers of it (a greatest raw score, a count of
    zones), which are the same over long stretches of windows. Where they never change, one set of
    scores serves all windows. Else the nodes that are the best in no window, by bounds over all
    circumstances, are left out; the rest are compared in every stretch.
    """
    count = len(base)
    if width >= count:
        return shares(total_scores(base, relatives), ranks, nodes, width)
    windows = Windows(count, width)
    moving: list[tuple[int, Relative, list[Circumstance]]] = []
    changes = np.zeros(count, dtype=np.bool_)
    changes[0] = True
    for weight, relative in relatives:
        numbers: list[Circumstance] = []
        for number in relative.circumstances(windows):
            steps = False if isinstance(number, int) else number[1:] != number[:-1]
            if np.any(steps):
                changes[1:] |= steps
                numbers.append(number)
            else:
                numbers.append(number if isinstance(number, int) else int(number[0]))
        if all(isinstance(number, int) for number in numbers):
            row = np.array([numbers], dtype=np.int64)
            base = base + weight * relative.table(row)[0][relative.codes]
        else:
            moving.append((weight, relative, numbers))
    if not moving:
        return shares(base, ranks, nodes, width)
    stretches = np.flatnonzero(changes).astype(np.int32)
    return _over_stretches(base, moving, stretches, windows, start_bounds(ranks, nodes)) / nodes


def total_scores(base: Int64Array, relatives: list[Weighted]) -> Int64Array:
    """(feasible,) the total scores where all feasible nodes are scored together."""
    for weight, relative in relatives:
        base = base + weight * relative.points()
    return base


def _over_stretches(
    base: Int64Array,
    moving: list[tuple[int, Relative, list[Circumstance]]],
    stretches: IntArray,
    windows: Windows,
    bounds: IntArray,
) -> FloatArray:
    """(feasible,) how many starts lead to each node: compare the candidates in each stretch.

    stretches: the first windows of the stretches. bounds: as of `start_bounds`.
    """
    lower, upper = base, base
    tables: list[Table] = []
    for weight, relative, numbers in moving:
        rows, which = _distinct(numbers, stretches)
        table = weight * relative.table(rows)
        there = table > NEVER
        lower = lower + np.where(there, table, -NEVER).min(axis=0)[relative.codes]
        upper = upper + np.where(there, table, NEVER).max(axis=0)[relative.codes]
        tables.append((table, which, relative.codes))
    # In every window some node has at least its own lower bound.
    ahead = windows.least_around(windows.maximum(lower))
    candidates = np.flatnonzero(upper >= ahead).astype(np.int32)
    count, width = windows.count, windows.width
    changes = np.zeros(count, dtype=np.bool_)
    for places in (stretches, (candidates - width + 1) % count, (candidates + 1) % count):
        changes[places] = True
    edges = np.flatnonzero(changes).astype(np.int32)
    compared = len(edges) * len(candidates)
    if compared > _DEAR * (count + len(stretches) * (width + _SETTING_UP)):
        return _each_stretch(base, tables, stretches, width, bounds)
    return _candidates_alone(base, tables, stretches, width, bounds, candidates, edges)


def _each_stretch(
    base: Int64Array, tables: list[Table], stretches: IntArray, width: int, bounds: IntArray
) -> FloatArray:
    """Score all nodes of each stretch of windows."""
    count = len(base)
    answer = np.zeros(count)
    ends = np.append(stretches[1:], count)
    for number, (begin, end) in enumerate(zip(stretches.tolist(), ends.tolist(), strict=True)):
        nodes = np.arange(begin, end + width - 1) % count
        scores = base[nodes]
        for table, which, codes in tables:
            scores += table[which[number]][codes[nodes]]
        np.add.at(answer, nodes, share_out(scores, width, bounds[begin : end + 1]))
    return answer


def _candidates_alone(
    base: Int64Array,
    tables: list[Table],
    stretches: IntArray,
    width: int,
    bounds: IntArray,
    candidates: IntArray,
    edges: IntArray,
) -> FloatArray:
    """Compare the candidates wherever one of them, or the scores, come or go."""
    count = len(base)
    answer = np.zeros(count)
    mass = masses(bounds, edges)
    stretch_of = np.searchsorted(stretches, edges, side="right") - 1
    step = max(1, _CELLS // max(len(candidates), 1))
    for begin in range(0, len(edges), step):
        part = slice(begin, begin + step)
        scores = np.repeat(base[candidates][None, :], len(edges[part]), axis=0)
        for table, which, codes in tables:
            scores += table[which[stretch_of[part]]][:, codes[candidates]]
        present = (candidates[None, :] - edges[part][:, None]) % count < width
        scores[~present] = NEVER * 2
        best = scores == scores.max(axis=1, keepdims=True)
        share = mass[part] / best.sum(axis=1)
        answer[candidates] += share @ best
    return answer


def _distinct(numbers: list[Circumstance], stretches: IntArray) -> tuple[Int64Array, IntArray]:
    """The rows of numbers that the stretches have, and which of them each stretch has."""
    columns = np.empty((len(stretches), len(numbers)), dtype=np.int64)
    for place, number in enumerate(numbers):
        columns[:, place] = number if isinstance(number, int) else number[stretches]
    if len(columns) <= _FEW_STRETCHES:
        return columns, np.arange(len(columns), dtype=np.int32)
    combined = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        values = column - column.min()
        size = int(values.max()) + 1
        if int(combined.max()) >= _MOST // size:
            combined = np.unique(combined, return_inverse=True)[1].astype(np.int64)
        combined = combined * size + values
    _, first, which = np.unique(combined, return_index=True, return_inverse=True)
    return columns[first], which.astype(np.int32)
