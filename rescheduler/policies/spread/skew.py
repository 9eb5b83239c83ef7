"""How uneven some counts are: the fewest moves that bring them into their bounds.

The skew is the highest count less the lowest, as in the topology spread API. With s the allowed
skew, the counts must end in an interval [m, m + s] for some floor m. The pods above m + s must
leave, those missing below m must come, and one move does both, so

    moves = min over m of max(sum of (count - m - s)+, sum of (m - count)+).

It is 0 exactly when the skew is allowed, and while it is positive one move lowers it by 1 (the
first of the fewest): choosing the best move again and again never stalls on a plateau.

Where there are fewer domains than `minDomains` the floor is 0, as the API has it; with a cap the
bounds are 0 and the cap, or the fair share rounded up where that is more.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


class SkewBounds(NamedTuple):
    """What counts must keep.

    allowed: the greatest skew, at least 1. floored: whether the floor is 0, because too few domains
    count. cap: how many pods a domain may hold, instead of any skew.
    """

    allowed: int = 1
    floored: bool = False
    cap: int | None = None


def histogram(counts: Counts, empty: int = 0) -> Counts:
    """(highest count + 1,) how many domains hold 0, 1, 2, ... pods; `empty` more hold none."""
    answer: Counts = np.bincount(counts, minlength=1).astype(np.int64)
    answer[0] += empty
    return answer


def moves_needed(domains: Counts, rule: SkewBounds) -> int:
    """The fewest single moves between the domains of a histogram that satisfy the rule."""
    return int(_imbalance(domains, rule).min())


def surplus(counts: Counts, domains: Counts, rule: SkewBounds) -> Counts:
    """(k,) how many pods each of these domains must give away in one such cheapest plan.

    counts: of the domains that hold any. domains: the histogram of all. They sum to `moves_needed`.
    Where the pods above the ceiling are too few to fill the domains below the floor, the fullest of
    the others give too.
    """
    moves = _imbalance(domains, rule)
    floor = int(moves.argmin())
    ceiling = floor + rule.allowed if rule.cap is None else int(_ceiling(domains, rule.cap)[0])
    gives: Counts = np.maximum(counts - ceiling, 0)
    for _ in range(int(moves[floor]) - int(gives.sum())):
        gives[int((counts - gives).argmax())] += 1
    return gives


def changes(domains: Counts, rule: SkewBounds, source: int | None) -> dict[int, int]:
    """How `moves_needed` changes when a pod moves to a domain that holds so many, by that number.

    source: the count of the domain that the pod leaves, or None if it leaves none.
    Domains with equal counts are alike, so one answer serves all of them; the domain that the pod
    leaves is not among the destinations. Key -1 is the destination outside of every domain.
    """
    return _changes(domains.tobytes(), rule, source)


@lru_cache(maxsize=16_384)
def _changes(encoded: bytes, rule: SkewBounds, source: int | None) -> dict[int, int]:
    """Workloads with the same counts, in whatever domains, share the answer."""
    domains = np.frombuffer(encoded, dtype=np.int64)
    before = moves_needed(domains, rule)
    domains_after = np.append(domains, 0)
    base = domains_after.copy()
    if source is not None:
        domains_after[source] -= 1
        base[source] -= 1
        base[source - 1] += 1
    counts = np.flatnonzero(domains_after)
    after = np.repeat(base[None, :], len(counts) + 1, axis=0)
    rows = np.arange(len(counts))
    after[rows, counts] -= 1
    after[rows, counts + 1] += 1
    needed = (_imbalance(after, rule).min(axis=1) - before).tolist()
    return dict(zip([*counts.tolist(), -1], needed, strict=True))


def _imbalance(domains: Counts, rule: SkewBounds) -> Counts:
    """(..., floors) the moves for each floor m, given how many domains hold 0, 1, 2, ... pods.

    domains: (..., highest count + 1).
    """
    levels = np.arange(domains.shape[-1])
    if rule.cap is not None or rule.floored:
        ceiling = rule.allowed if rule.cap is None else _ceiling(domains, rule.cap)
        over = np.maximum(levels - ceiling, 0) * domains
        return np.asarray(over.sum(axis=-1, keepdims=True))
    held = levels * domains
    so_many, so_far = domains.cumsum(axis=-1), held.cumsum(axis=-1)
    missing = levels * (so_many - domains) - (so_far - held)
    extra = so_far[..., -1:] - so_far - levels * (so_many[..., -1:] - so_many)
    ceilings = np.minimum(levels + rule.allowed, domains.shape[-1] - 1)
    moves: Counts = np.maximum(extra[..., ceilings], missing)
    return moves


def _ceiling(domains: Counts, cap: int) -> Counts:
    """(..., 1) the most that a domain may hold."""
    total = (np.arange(domains.shape[-1]) * domains).sum(axis=-1, keepdims=True)
    share = -(-total // np.maximum(domains.sum(axis=-1, keepdims=True), 1))
    ceiling: Counts = np.maximum(cap, share)
    return ceiling
