"""Compares, mixes and refuses landings."""

from dataclasses import replace

import numpy as np

from rescheduler.model.cluster.readings import FloatArray
from rescheduler.model.moves.move import Landing
from rescheduler.model.problem import Problem

NOBODY = np.zeros(0, dtype=np.int32)


def agree(one: Landing, other: Landing) -> bool:
    """Whether both lead to the same nodes, as likely."""
    return (
        np.array_equal(one.nodes, other.nodes)
        and np.allclose(one.probabilities, other.probabilities)
        and one.unschedulable == other.unschedulable
    )


def refused_landing(problem: Problem) -> Landing:
    """No landing, and why."""
    return replace(Landing(NOBODY, np.zeros(0)), refusal=problem)


def mix_landings(usual: Landing, rare: Landing, share: float) -> Landing:
    """The landing that is `rare` in that share of all cases. Both lead to some node."""
    if agree(usual, rare):
        return usual
    nodes = np.union1d(usual.nodes, rare.nodes).astype(np.int32)
    likely: FloatArray = np.zeros(len(nodes))
    likely[np.searchsorted(nodes, usual.nodes)] += usual.probabilities * (1.0 - share)
    likely[np.searchsorted(nodes, rare.nodes)] += rare.probabilities * share
    order = np.lexsort((nodes, -likely))
    returns = usual.returns * (1.0 - share) + rare.returns * share
    return replace(usual, nodes=nodes[order], probabilities=likely[order], returns=returns)
