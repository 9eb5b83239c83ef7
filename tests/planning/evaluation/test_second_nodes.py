"""The second node of a replacement is the one that the scheduler likes least."""

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.planning.evaluation.second_nodes import pairs_with_second


def pairs(
    points: list[int], nodes: list[int], spare: list[int], *, aims: bool = False
) -> list[list[int]]:
    good: IntArray = np.array(nodes, dtype=np.int32)
    more: IntArray = np.array(spare, dtype=np.int32)
    found = pairs_with_second(np.array(points), good, more, aims=aims)
    return [array.tolist() for array in found]


def test_each_of_the_two_best_nodes_is_beside_the_least_liked_one() -> None:
    assert pairs([50, 40, 10, 90], [0, 3, 1, 2], []) == [[0, 2], [3, 2]]
    assert pairs([10, 60, 20], [0, 1, 2], []) == [[0, 2], [1, 0]]


def test_where_nothing_is_gained_is_good_enough_for_a_second_node() -> None:
    assert pairs([50, 60, 20], [0, 1], [2]) == [[0, 2], [1, 2]]
    assert pairs([50, 60], [0], [1]) == [[0, 1]]


def test_where_only_the_best_will_do_it_may_go_with_the_next_best_too() -> None:
    assert pairs([50, 40, 10, 90], [0, 3, 1, 2], [], aims=True) == [[0, 2], [0, 3]]
    assert pairs([50, 40], [0, 1], [], aims=True) == [[0, 1]]


def test_one_node_alone_has_no_second() -> None:
    assert pairs([50], [0], []) == []
