"""The second node of a replacement is one that the scheduler likes less, where there is one."""

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.planning.evaluation.second_nodes import certain_pairs


def pairs(
    points: list[int], nodes: list[int], spare: list[int], firsts: int = 4
) -> list[list[int]]:
    good: IntArray = np.array(nodes, dtype=np.int32)
    more: IntArray = np.array(spare, dtype=np.int32)
    found = certain_pairs(np.array(points), good[:firsts], good, more)
    return [each.tolist() for each in found]


def test_the_best_node_goes_with_the_best_and_the_least_liked_of_those_below_it() -> None:
    assert pairs([50, 40, 10, 90], [0, 3, 1, 2], []) == [[0, 1], [0, 2]]
    assert pairs([50, 40, 60], [0, 1], [2]) == [[0, 1]]


def test_where_nothing_is_gained_is_good_enough_for_a_second_node() -> None:
    assert pairs([50, 60, 20], [0, 1], [2]) == [[0, 2]]


def test_where_all_others_are_liked_as_much_the_next_best_node_is_tried() -> None:
    assert pairs([10, 60, 20], [0, 1, 2], []) == [[1, 2]]
    assert pairs([10, 60, 20], [0, 1, 2], [], firsts=1) == []
    assert pairs([7, 7], [0, 1], []) == []
