"""The probability of each feasible node, when any window of them may be the one that is scored."""

import numpy as np

from rescheduler.model.readings import FloatArray, IntArray
from rescheduler.scheduler.normalizing import NEVER, Relative
from rescheduler.scheduler.sampling import share_out, shares, window_masses
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


def chances(
    base: Int64Array, relatives: list[Weighted], ranks: IntArray, nodes: int, found: int
) -> FloatArray:
    """The probability of each feasible node, exactly.

    base: (feasible,) the sum of the scores that depend on the node alone.
    relatives: the other scores, each with its weight. ranks, nodes, found: as in `shares`.

    A window's normalized scores depend on a few numbers of it (a greatest raw score, a count of
    zones), which are the same over long stretches of windows. Where they never change, one set of
    scores serves all windows. Else the nodes that are the best in no window, by bounds over all
    circumstances, are left out; the rest are compared in every stretch.
    """
    count = len(base)
    if found >= count:
        return shares(together(base, relatives), ranks, nodes, found)
    windows = Windows(count, found)
    moving: list[tuple[int, Relative, list[Int64Array]]] = []
    changes = np.zeros(count, dtype=np.bool_)
    changes[0] = True
    for weight, relative in relatives:
        numbers = relative.circumstances(windows)
        steady = True
        for number in numbers:
            steps = number[1:] != number[:-1]
            if steps.any():
                steady = False
                changes[1:] |= steps
        if steady:
            row = np.array([[int(number[0]) for number in numbers]], dtype=np.int64)
            base = base + weight * relative.table(row)[0][relative.codes]
        else:
            moving.append((weight, relative, numbers))
    if not moving:
        return shares(base, ranks, nodes, found)
    stretches = np.flatnonzero(changes).astype(np.int32)
    return _over_stretches(base, moving, stretches, windows, window_masses(ranks, nodes))


def together(base: Int64Array, relatives: list[Weighted]) -> Int64Array:
    """(feasible,) the total scores where all feasible nodes are scored together."""
    for weight, relative in relatives:
        base = base + weight * relative.points()
    return base


def _over_stretches(
    base: Int64Array,
    moving: list[tuple[int, Relative, list[Int64Array]]],
    stretches: IntArray,
    windows: Windows,
    starts: FloatArray,
) -> FloatArray:
    """Compare the candidates in each stretch of windows with one set of scores."""
    lower, upper = base.copy(), base.copy()
    tables: list[Table] = []
    for weight, relative, numbers in moving:
        rows, which = _distinct([number[stretches] for number in numbers])
        table = weight * relative.table(rows)
        there = table > NEVER
        lower += np.where(there, table, -NEVER).min(axis=0)[relative.codes]
        upper += np.where(there, table, NEVER).max(axis=0)[relative.codes]
        tables.append((table, which, relative.codes))
    # In every window some node has at least its own lower bound.
    beaten = windows.maximum(lower)
    ahead = np.roll(windows.minimum(beaten), windows.width - 1)
    candidates = np.flatnonzero(upper >= ahead).astype(np.int32)
    count, width = windows.count, windows.width
    edges: IntArray = np.unique(
        np.concatenate([stretches, (candidates - width + 1) % count, (candidates + 1) % count])
    )
    compared = len(edges) * len(candidates)
    if compared > _DEAR * (count + len(stretches) * (width + _SETTING_UP)):
        answer = _each_stretch(base, tables, stretches, width, starts)
    else:
        answer = _candidates_alone(base, tables, stretches, width, starts, candidates, edges)
    normalized: FloatArray = answer / answer.sum()
    return normalized


def _each_stretch(
    base: Int64Array, tables: list[Table], stretches: IntArray, width: int, starts: FloatArray
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
        np.add.at(answer, nodes, share_out(scores, width, starts[begin:end]))
    return answer


def _candidates_alone(
    base: Int64Array,
    tables: list[Table],
    stretches: IntArray,
    width: int,
    starts: FloatArray,
    candidates: IntArray,
    edges: IntArray,
) -> FloatArray:
    """Compare the candidates wherever one of them, or the scores, come or go."""
    count = len(base)
    answer = np.zeros(count)
    mass = np.add.reduceat(starts, edges)
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
        answer[candidates] += (best * share[:, None]).sum(axis=0)
    return answer


def _distinct(numbers: list[Int64Array]) -> tuple[Int64Array, IntArray]:
    """The distinct rows of these columns, and which of them each row is."""
    columns = np.stack(numbers, axis=1)
    combined = np.zeros(len(columns), dtype=np.int64)
    for column in range(columns.shape[1]):
        values = columns[:, column] - columns[:, column].min()
        combined = combined * (int(values.max()) + 1) + values
    _, first, which = np.unique(combined, return_index=True, return_inverse=True)
    return columns[first], which.astype(np.int32)
