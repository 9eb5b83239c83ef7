"""Measured load as hinges: they change as the term does, and room ends where pods overfill."""

import numpy as np

from rescheduler.model.cluster.readings import BoolArray
from rescheduler.policies.shared.loads.term import UtilizationTerm
from tests.bench.drawn_load import drawn, policies


def test_hinges_change_as_the_term_does_and_room_ends_where_pods_overfill() -> None:
    [policy] = policies(["Utilization"])
    cluster = drawn(12, "tight", 0)
    term = policy.compile(cluster.read([policy]))
    assert isinstance(term, UtilizationTerm)
    hinges, nodes = term.estimate(), np.arange(12, dtype=np.int32)
    assert abs(hinges.cost() - term.cost()) < 1e-9
    pods = np.arange(len(cluster.snapshot.pods), dtype=np.int32)
    table = hinges.departure_deltas(pods)[:, None] + hinges.arrival_deltas(pods, nodes)
    takes, left = term.room()
    fits: BoolArray = np.all(takes[:, None, :] <= left[None, :, :] + 1e-6, axis=2)
    for pod in pods.tolist():
        elsewhere = nodes != cluster.snapshot.pod_node[pod]
        told = term.deltas(pod, nodes)
        np.testing.assert_allclose(table[pod][elsewhere], told[elsewhere], atol=1e-9)
        assert (fits[pod] == ~term.overfills(pod, nodes))[elsewhere].all()
    assert fits.any()
    assert not fits.all()
