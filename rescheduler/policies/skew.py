"""How uneven some counts are: the fewest moves that bring their skew down to what is allowed.

The skew is the highest count less the lowest, as in the topology spread API. With s the allowed
skew, the counts must end in an interval [m, m + s] for some floor m. The pods above m + s must
leave, those missing below m must come, and one move does both, so

    moves = min over m of max(sum of (count - m - s)+, sum of (m - count)+).

It is 0 exactly when the skew is allowed, and while it is positive one move lowers it by 1 (the
first of the fewest): choosing the best move again and again never stalls on a plateau.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


def moves_needed(counts: Counts, allowed: int) -> int:
    """The fewest single moves between the domains that bring the skew to `allowed` or less.

    counts: (domains,) pods in each domain, zeros included. allowed: at least 1.
    """
    return 0 if len(counts) < 2 else int(_imbalance(_histogram(counts), allowed).min())


def surplus(counts: Counts, allowed: int) -> Counts:
    """(domains,) how many pods each must give away in one such cheapest plan.

    They sum to `moves_needed`. Where the pods above the ceiling are too few to fill the domains
    below the floor, the fullest of the others give too.
    """
    if len(counts) < 2:
        return np.zeros(len(counts), dtype=np.int64)
    moves = _imbalance(_histogram(counts), allowed)
    floor = int(moves.argmin())
    gives: Counts = np.maximum(counts - floor - allowed, 0)
    for _ in range(int(moves[floor]) - int(gives.sum())):
        gives[int((counts - gives).argmax())] += 1
    return gives


def changes(counts: Counts, allowed: int, source: int | None) -> dict[int, int]:
    """How `moves_needed` changes when a pod moves to a domain that holds so many, by that number.

    source: the count of the domain that the pod leaves, or None if it leaves none.
    Domains with equal counts are alike, so one answer serves all of them; the domain that the pod
    leaves is not among the destinations. Key -1 is the destination outside of every domain.
    """
    return dict(_changes(_histogram(counts).tobytes(), allowed, source))


@lru_cache(maxsize=16_384)
def _changes(histogram: bytes, allowed: int, source: int | None) -> dict[int, int]:
    """Workloads with the same counts, in whatever domains, share the answer."""
    domains = np.frombuffer(histogram, dtype=np.int64)
    before = int(_imbalance(domains, allowed).min()) if domains.sum() > 1 else 0
    left = np.append(domains, 0)
    if source is not None:
        left[source] -= 1
    answer = {}
    for count in np.flatnonzero(left):
        after = left.copy()
        after[count] -= 1
        after[count + 1] += 1
        answer[int(count)] = _total(after, allowed, source) - before
    answer[-1] = _total(left, allowed, source) - before
    return answer


def _histogram(counts: Counts) -> Counts:
    """(highest count + 1,) how many domains hold 0, 1, 2, ... pods."""
    return np.bincount(counts, minlength=1).astype(np.int64)


def _total(domains: Counts, allowed: int, source: int | None) -> int:
    if source is not None:
        domains = domains.copy()
        domains[source - 1] += 1
    return int(_imbalance(domains, allowed).min()) if domains.sum() > 1 else 0


def _imbalance(domains: Counts, allowed: int) -> Counts:
    """(floors,) the moves for each floor m, given how many domains hold 0, 1, 2, ... pods."""
    levels = len(domains)
    held = np.arange(levels) * domains
    below = np.cumsum(domains) - domains
    missing = np.arange(levels) * below - (np.cumsum(held) - held)
    ceilings = np.minimum(np.arange(levels) + allowed, levels - 1)
    above = domains.sum() - np.cumsum(domains)
    extra = (held.sum() - np.cumsum(held)) - np.arange(levels) * above
    moves: Counts = np.maximum(extra[ceilings], missing)
    return moves
