"""How far apart the domains of one level are, where that is measured.

The tree counts the same for every pair of zones. With a measurement of each pair (seconds of a
round trip, a price, bytes a second) the farthest pair counts as in the tree, and each other pair
its share of that.
"""

from dataclasses import replace

import numpy as np

from rescheduler.model.cluster.readings import FloatArray, Reading
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.policies.locality.domain_tree import Domains

_NOTHING = 1e-12
MOST_DOMAINS = 500
"""Domains of the measured level: each move is evaluated by the distances of all pairs of them."""


def measured_domains(
    domains: Domains, level: int, reading: Reading, min_coverage: float
) -> Domains | Problem:
    """The tree with measured distances between the domains of a level.

    Of both directions of a pair the mean counts, or the one that has a value. A pair that has none
    is as far as the farthest, and so is a node without a label of the level from every other.
    min_coverage: the share of the pairs that must have one.
    """
    names, size = domains.labels[level], domains.size(level)
    if size > MOST_DOMAINS:
        alone = size - len(names)
        without = f" and {count_text(alone, 'node')} without its label" if alone else ""
        text = (
            f"level {domains.names[level]} has {len(names)} domains{without}, and distances can be "
        )
        return Problem("LOC006", f"{text}measured between at most {MOST_DOMAINS}")
    place = {name: number for number, name in enumerate(names) if names.count(name) == 1}
    total, values = np.zeros((2, len(names), len(names)))
    for (one, other), value in zip(reading.pairs, reading.values.tolist(), strict=True):
        if one in place and other in place and np.isfinite(value) and value >= 0:
            total[place[one], place[other]] += value
            values[place[one], place[other]] += 1
    total, values = total + total.T, values + values.T
    has_value = np.triu(values > 0, 1)
    wanted = len(names) * (len(names) - 1) // 2
    absent = np.argwhere(np.triu(values == 0, 1))
    if has_value.sum() < min_coverage * wanted:
        one, other = (names[number] for number in absent[0].tolist())
        text = f"{len(absent)} of {wanted} pairs of a {domains.names[level]} have no value, such as"
        notes = "; ".join(reading.notes)
        return Problem("RDG003", f"{text} {one} and {other}. {notes}".strip())
    mean = np.divide(total, values, where=values > 0, out=np.zeros_like(total))
    farthest = float(mean[has_value].max(initial=0.0))
    if not 0 < farthest < np.inf:
        return Problem("LOC006", f"no measured distance of a {domains.names[level]} is above 0")
    far = np.ones((size + 1, size + 1))  # the last is NOWHERE
    far[: len(names), : len(names)] = np.where(values > 0, mean / farthest, 1.0)
    np.fill_diagonal(far[:-1, :-1], 0.0)
    return replace(domains, measured=level, far=far)


def distances_apart(one: FloatArray, other: FloatArray, far: FloatArray) -> FloatArray:
    """(k,) how far traffic between two sets goes, 0 to 1, with k ways to place them.

    one, other: (k, domains + 1) the share of each set in each domain; the last is NOWHERE, which
    is near to nothing. What both have in a domain stays there; of the rest, what leaves a domain
    goes to every domain that lacks some in proportion, each at its distance.
    """
    here = np.minimum(one, other)
    here[:, -1] = 0.0
    leaving, lacking = one - here, other - here
    rest = leaving.sum(axis=1)
    sums: FloatArray = ((leaving @ far) * lacking).sum(axis=1)
    share: FloatArray = np.divide(sums, rest, where=rest > _NOTHING, out=np.zeros_like(sums))
    return share
