"""From scores to probabilities: the scan order of nodes, how many are scored, and ties."""

from collections.abc import Sequence

import numpy as np

from rescheduler.kube.objects import Labels, Node
from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.scheduler.plugin import ScoreArray
from rescheduler.scheduler.windows import slid_maximum

RACES = 0.02
"""How often a hole in the window decides. Measured in tests/e2e/landing on two busy cores: a tenth
of the windows have holes, and about one in a hundred decides; more cores may make more."""
FEW_NODES = 100
"""Below this all nodes are scored, and never fewer feasible ones are searched for."""


def sample_size(nodes: int, percentage: int = 0) -> int:
    """How many feasible nodes end the search (numFeasibleNodesToFind in schedule_one.go).

    percentage: percentageOfNodesToScore; 0 adapts to the number of nodes, 50 % down to 5 %.
    """
    if nodes < FEW_NODES:
        return nodes
    return max(FEW_NODES, nodes * (percentage or max(5, 50 - nodes // 125)) // 100)


def scan_order(nodes: Sequence[Node]) -> IntArray:
    """The nodes in the order of the scan: one from each zone, round robin.

    The scheduler keeps its zones and their nodes in the order in which it learned of them; that is
    not in the API, so the snapshot's order stands in. Source: backend/cache/node_tree.go.
    """
    zones: dict[tuple[str, str], int] = {}
    filled: list[int] = []
    place = np.zeros(len(nodes), dtype=np.int64)
    zone_of = np.zeros(len(nodes), dtype=np.int64)
    for number, node in enumerate(nodes):
        zone = zones.setdefault(_zone(node.metadata.labels or {}), len(zones))
        if zone == len(filled):
            filled.append(0)
        zone_of[number], place[number] = zone, filled[zone]
        filled[zone] += 1
    return np.lexsort((zone_of, place)).astype(np.int32)


def shares(scores: ScoreArray, ranks: IntArray, nodes: int, width: int) -> FloatArray:
    """The probability of each feasible node, when the scan may start anywhere.

    scores: (feasible,) total scores. ranks: (feasible,) increasing positions in the scan.
    nodes: length of the scan. width: how many feasible nodes end it.

    Every start is equally likely; a window of `width` feasible nodes follows it, and the nodes tied
    at the window's best score share it equally. Where the window holds all feasible nodes, only
    the ties are left.
    """
    count = len(scores)
    if width >= count:
        best = scores == scores.max()
        equal: FloatArray = best / best.sum()
        return equal
    answer = share_out(
        np.concatenate([scores, scores[: width - 1]]), width, start_bounds(ranks, nodes)
    )
    answer[: width - 1] += answer[count:]
    normalized: FloatArray = answer[:count] / nodes
    return normalized


def start_bounds(ranks: IntArray, nodes: int) -> IntArray:
    """(windows + 1,) the positions between which a scan has to start for each window.

    ranks, nodes: as in `shares`. Window s is scanned from all starts after the feasible node
    before it and up to its own first one; so from `bounds[s + 1] - bounds[s]` of all starts.
    """
    answer = np.empty(len(ranks) + 1, dtype=np.int32)
    answer[0] = ranks[-1] - nodes
    answer[1:] = ranks
    return answer


def masses(bounds: IntArray, runs: IntArray) -> IntArray:
    """How many starts lead to each run of windows. runs: the first windows, increasing from 0."""
    ends = np.concatenate([bounds[runs], bounds[-1:]])
    answer: IntArray = ends[1:] - ends[:-1]
    return answer


def share_out(scores: ScoreArray, width: int, bounds: IntArray) -> FloatArray:
    """Give the starts of each window to the nodes tied at its best score, in equal parts.

    scores: (windows + width - 1,) in the order of the scan. bounds: as of `start_bounds`.
    Returns (scores,), how many starts each node gets.

    Only the few nodes that are as good as the worst window's best can get any; windows between
    which none of these comes or goes are one.
    """
    best = slid_maximum(scores, width)
    places = np.flatnonzero(scores >= best.min())
    changes = np.zeros(len(scores) + 1, dtype=np.bool_)
    changes[0] = True
    changes[np.maximum(places - width + 1, 0)] = True
    changes[places + 1] = True
    runs = np.flatnonzero(changes[: len(best)]).astype(np.int32)
    chosen = scores[places]
    order = np.argsort(chosen, kind="stable")
    span = len(scores) + 1
    keys = chosen[order] * span + places[order]
    wanted = best[runs] * span + runs
    low, high = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted + width)
    share = masses(bounds, runs) / (high - low)
    length = len(keys) + 1
    touched = np.cumsum(np.bincount(low, minlength=length) - np.bincount(high, minlength=length))
    mass = np.cumsum(
        np.bincount(low, weights=share, minlength=length)
        - np.bincount(high, weights=share, minlength=length)
    )
    answer = np.zeros(len(scores))
    answer[places[order]] = np.where(touched > 0, mass, 0.0)[:-1]
    return answer


def _zone(labels: Labels) -> tuple[str, str]:
    region = labels.get(
        "failure-domain.beta.kubernetes.io/region", labels.get("topology.kubernetes.io/region", "")
    )
    zone = labels.get(
        "failure-domain.beta.kubernetes.io/zone", labels.get("topology.kubernetes.io/zone", "")
    )
    return region, zone


def with_races(
    likely: FloatArray, totals: ScoreArray, ranks: IntArray, nodes: int, width: int
) -> FloatArray:
    """The probabilities, when the window has holes as often as `RACES`.

    likely: (feasible,) of whole windows. totals: (feasible,) scores over all feasible nodes.
    ranks, nodes, width: as in `shares`.

    Sixteen workers take the nodes in pieces, and stop as soon as enough are found: one that lags
    leaves a piece out. Where the best node was in it, the next best wins; so what would win if no
    node of `likely` were there gets a share. Source: findNodesThatPassFilters in schedule_one.go.
    """
    rest = np.flatnonzero(likely == 0.0)
    if not len(rest):
        return likely
    answer: FloatArray = likely * (1.0 - RACES)
    answer[rest] = RACES * shares(totals[rest], ranks[rest], nodes, min(width, len(rest)))
    return answer
