"""What Spread's kernel tells of moves and of pods that change places is what the term charges."""

import numpy as np

from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.spread.term import SpreadTerm
from tests.bench.drawn_load import drawn, policies


def test_moves_and_exchanges_change_what_the_kernel_told() -> None:
    [policy] = policies(["Spread"])
    cluster = drawn(12, "tight", 0)
    term = policy.compile(cluster.read([policy]))
    assert not isinstance(term, Problem)
    assert isinstance(term, SpreadTerm)
    kernel = term.kernel()
    assert kernel is not None
    chance, where = np.random.default_rng(0), cluster.snapshot.pod_node.copy()
    nodes, changed = np.arange(12, dtype=np.int32), 0
    for _ in range(60):
        assert abs(kernel.cost() - term.cost()) < 1e-9
        pods = chance.integers(len(where), size=6).astype(np.int32)
        table = kernel.departure_deltas(pods)[:, None] + kernel.arrival_deltas(pods, nodes)
        for row, pod in enumerate(pods.tolist()):
            np.testing.assert_allclose(table[row], term.deltas(pod, nodes), atol=1e-9)
        others = chance.integers(len(where), size=6).astype(np.int32)
        told = kernel.exchange_deltas(pods, where[others], others)
        for pod, other, change in zip(pods.tolist(), others.tolist(), told.tolist(), strict=True):
            here, there, before = int(where[pod]), int(where[other]), term.cost()
            if here == there:
                continue
            made = [Shift(pod, here, there), Shift(other, there, here)]
            for shift in made:
                term.commit(shift)
            assert abs(term.cost() - before - change) < 1e-9
            changed += abs(change) > 1e-9
            for shift in reversed(made):
                term.commit(shift.shift_back())
        pod, node = int(pods[0]), int(chance.integers(12))
        if node != where[pod]:
            shift = Shift(pod, int(where[pod]), node)
            term.commit(shift)
            kernel.commit(shift)
            where[pod] = node
    assert changed > 20
