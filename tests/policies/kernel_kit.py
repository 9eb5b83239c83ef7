"""What the conformance kit asks of terms that are sums over nodes."""

import numpy as np

from rescheduler.model.moves.move import Shift
from rescheduler.policies.shared.separable_terms import Separable
from rescheduler.policies.terms import Term
from tests.policies.kit import near
from tests.policies.kit_cases import Case


def check_kernel(case: Case, term: Term) -> None:
    """Where costs are sums over nodes, the sums make the deltas, and bound what moves save."""
    made = term.kernel() if isinstance(term, Separable) else None
    if made is None:
        return
    at = np.array([on for _, on, _ in case.blueprint.pods], dtype=np.int32)
    nodes = np.arange(len(case.blueprint.nodes), dtype=np.int32)
    assert near(made.cost(), term.cost())
    before, savings, moved = term.cost(), made.savings(), set()
    for mover, destination in [*case.moves, (-1, -1)]:
        bound_pods = np.flatnonzero(at >= 0).astype(np.int32)
        table = made.departure_deltas(bound_pods)[:, None] + made.arrival_deltas(bound_pods, nodes)
        for row, pod in enumerate(bound_pods.tolist()):
            deltas = term.deltas(pod, nodes)
            told = np.isfinite(table[row]) & (nodes != at[pod])
            np.testing.assert_allclose(table[row][told], deltas[told], rtol=1e-9, atol=1e-9)
        if mover >= 0:
            shift = Shift(mover, int(at[mover]), destination)
            term.commit(shift)
            made.commit(shift)
            at[mover] = destination
            moved.add(mover)
            assert near(made.cost(), term.cost())
            saved = float(savings[list(moved)].sum())
            assert before - term.cost() <= saved + 1e-9 * max(1.0, before)
            again = term.kernel() if isinstance(term, Separable) else None
            assert again is not None
            assert near(again.cost(), term.cost())
