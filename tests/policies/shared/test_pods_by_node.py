"""The pods of a node, as one look through all of them would find them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.policies.shared.pods_by_node import OfNodes

NODES = 4


@given(where=st.lists(st.integers(-1, NODES - 1), max_size=12), chosen=st.data())
def test_each_node_has_its_pods_in_their_order(where: list[int], chosen: st.DataObject) -> None:
    pods = chosen.draw(
        st.lists(st.sampled_from(range(len(where))), unique=True) if where else st.just([])
    )
    found = OfNodes(np.array(pods, dtype=np.int32), np.array(where, dtype=np.int32))
    for node in range(NODES + 1):
        assert found[node] == tuple(pod for pod in pods if where[pod] == node)
