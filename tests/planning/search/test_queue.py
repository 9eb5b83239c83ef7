"""The queue gives what a heap of all keys would give, though it works out few of them."""

import hashlib
import heapq

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.planning.search.queue import NEVER, Pods, Queue
from tests.draws import tries

AMOUNTS = st.sampled_from([0.1, 0.1 + 1e-12, 0.3, 1.0, 1.0 + 1e-8, 7.5])


def tie(pods: Pods) -> bytes:
    return hashlib.blake2b(repr(pods).encode(), digest_size=4).digest()


@settings(max_examples=tries(500), database=None)
@given(
    st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=12),
    st.lists(st.tuples(st.sampled_from(["push", "pop", "again"]), AMOUNTS, AMOUNTS), max_size=20),
)
def test_the_best_comes_first(
    singles: list[tuple[float, float]], steps: list[tuple[str, float, float]]
) -> None:
    queue = Queue(tie)
    values, disruptions = (np.array([single[side] for single in singles]) for side in (0, 1))
    queue.add_singles(np.arange(len(singles), dtype=np.int32), values, disruptions)
    known: list[tuple[float, float, bytes, Pods, int]] = [
        (-round(value, 9), round(disruption, 9), tie((pod,)), (pod,), NEVER)
        for pod, (value, disruption) in enumerate(singles)
    ]
    heapq.heapify(known)
    for number, (step, value, disruption) in enumerate(steps, 100):
        assert len(queue) == len(known)
        assert sorted(queue.pods()) == sorted(candidate[3] for candidate in known)
        pods, key = (number, number + 1), (-round(value, 9), round(disruption, 9))
        entry = (*key, tie(pods), pods, number)
        if step == "push":
            queue.push(pods, value, disruption, number)
            heapq.heappush(known, entry)
        elif step == "again":
            pushed = queue.push_unless_first(pods, value, disruption, number)
            assert pushed == (bool(known) and known[0][:3] < entry[:3])
            if pushed:
                heapq.heappush(known, entry)
        elif known:
            found, expected = queue.pop(), heapq.heappop(known)
            assert (found.pods, found.version) == expected[3:]
    among = [candidate.pods for candidate in queue.select_waiting({(100, 101), (101, 102)})]
    assert among == [
        candidate[3] for candidate in sorted(known) if candidate[3] in {(100, 101), (101, 102)}
    ]


def test_ties_are_broken_only_among_nodes_that_may_be_first() -> None:
    asked: list[Pods] = []

    def counted(pods: Pods) -> bytes:
        asked.append(pods)
        return tie(pods)

    queue = Queue(counted)
    values = np.array([3.0, 1.0, 1.0, 2.0, 2.0])
    queue.add_singles(np.arange(5, dtype=np.int32), values, np.ones(5))
    assert queue.pop().pods == (0,)
    assert asked == [(0,)]
    assert queue.pop().pods in {(3,), (4,)}
    assert sorted(asked) == [(0,), (3,), (4,)]
