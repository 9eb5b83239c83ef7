"""Room for a gang is evaluated as a whole: no two pods count on one place, all or nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.policies.shared.demand import Devices, demand
from tests.cluster import deployment, pod, snapshot
from tests.draws import tries
from tests.picture import picture, proposed
from tests.policies.fragmentation.gang_places import GPU, POLICY, asking, term


def test_two_shapes_do_not_count_on_one_free_node() -> None:
    before = picture(
        """
        zone a | n1 gpu 8 cpu 64 | -
        zone a | n2 gpu 8 cpu 64 | small small
    """,
        requests={"small": {"cpu": "1", GPU: "1"}},
    )
    made = term(asking(before, {"train": [(1, 8, ""), (1, 7, "")]}))
    # Each alone would fit on n1. The second needs one of the two GPUs that are in use on n2.
    assert made.cost() == 2, "both wait for the last GPU"
    [finding] = made.findings()
    assert finding.subject == "gang gangs/train"
    assert "its 2 pending pods (15 GPUs)" in finding.message
    assert (
        f"1 place is too few, and free capacity for {1 / 7:.2f} pods is missing" in finding.message
    )
    assert finding.pods == (0, 1)


def test_small_and_large_pods_of_a_gang_share_a_node_with_room() -> None:
    before = picture("zone a | n1 gpu 8 cpu 64 | -")
    assert term(asking(before, {"train": [(1, 4, ""), (2, 2, "")]})).cost() == 0


def test_who_accepts_fewer_nodes_goes_first() -> None:
    before = picture("pool x | n1 gpu 8 cpu 64 | -\npool y | n2 gpu 8 cpu 64 | -")
    for shapes in ([(1, 8, ""), (1, 8, "x")], [(1, 8, "y"), (1, 8, "")]):
        assert term(asking(before, {"train": shapes})).cost() == 0


def test_nothing_is_freed_for_a_part_of_a_gang() -> None:
    """One node could be freed for one of the two, which would be of no use."""
    before = picture(
        """
        zone a | n1 gpu 8 cpu 64 | small
        zone a | n2 gpu 4 cpu 64 | -
    """,
        requests={"small": {"cpu": "1", GPU: "1"}},
    )
    whole = asking(before, {"train": [(2, 8, "")]})
    made = term(whole)
    assert made.cost() == 2
    assert len(made.candidates()) == 0
    [finding] = made.findings()
    assert "would not fit as a whole" in finding.message
    assert finding.pods == ()
    assert proposed(whole, POLICY) == []
    replicas = asking(before, {"train": [(2, 8, "")]}, kind="Deployment")
    assert term(replicas).cost() == pytest.approx(1 + 1 / 8), "replicas serve one by one"
    assert term(replicas).candidates().tolist() == [0]


def test_a_node_is_counted_on_no_oftener_than_it_can_hold() -> None:
    """An 8-GPU node never holds two pods of five, however much of a second is free."""
    before = picture(
        """
        zone a | n1 gpu 8 cpu 64 | -
        zone a | n2 gpu 8 cpu 64 | big
    """,
        requests={"big": {"cpu": "1", GPU: "7"}},
    )
    made = term(asking(before, {"train": [(2, 5, "")]}))
    assert made.cost() == 2
    [finding] = made.findings()
    assert "free capacity for 0.80 pods is missing" in finding.message
    assert finding.pods == (0,)


def test_two_gangs_do_not_count_on_one_node_and_the_urgent_one_is_first() -> None:
    before = picture("zone a | n1 gpu 8 cpu 64 | -")
    both = asking(before, {"first": [(2, 4, "")], "second": [(2, 4, "")]})
    assert subjects(both) == ["gang gangs/second"]
    both.pods[2].spec.priority = 10
    assert subjects(both) == ["gang gangs/first"]
    single = asking(before, {"first": [(1, 8, "")], "second": [(1, 8, "")]})
    assert subjects(single) == ["2 pending pods such as gangs/first-0"]
    assert term(single).cost() == 1, "single pods that are alike are one finding"


def subjects(before: Snapshot) -> list[str]:
    return [finding.subject for finding in term(before).findings()]


@st.composite
def waiting(draw: st.DrawFn) -> Snapshot:
    """A few nodes with movable pods of one GPU, and one or two gangs of up to three shapes."""
    rows = [
        f"pool {draw(st.sampled_from('xy'))} | n{number} gpu {draw(st.integers(1, 6))} cpu 64 | -"
        for number in range(draw(st.integers(1, 4)))
    ]
    before = picture("\n".join(rows))
    pods = []
    owner = deployment("small")
    for node in before.nodes:
        gpus = int((node.status.allocatable or {})[GPU])
        for number in range(draw(st.integers(0, gpus))):
            name = f"small-{node.metadata.name}-{number}"
            requests = {"cpu": "1", GPU: "1"}
            pods.append(pod(name, node.metadata.name, owner=owner[1], requests=requests))
    shapes = st.tuples(st.integers(1, 2), st.integers(1, 4), st.sampled_from(["", "x", "y"]))
    gangs = draw(st.lists(st.lists(shapes, min_size=1, max_size=3), min_size=1, max_size=2))
    made = snapshot(before.nodes, pods, controllers=[*before.controllers, *owner])
    return asking(made, {f"g{number}": gang for number, gang in enumerate(gangs)})


def fits(before: Snapshot, at: list[int]) -> bool:
    """Whether all pending pods fit at once, by trying everything; at: where the others are."""
    left = [int((node.status.allocatable or {})[GPU]) for node in before.nodes]
    for node in at:
        if node >= 0:
            left[node] -= 1
    asked = []
    for pod_object in before.pods:
        if pod_object.metadata.namespace == "gangs":
            pool = (pod_object.spec.nodeSelector or {}).get("pool")
            nodes = [
                number
                for number, one in enumerate(before.nodes)
                if pool in (None, (one.metadata.labels or {})["pool"])
            ]
            asked.append((demand(pod_object.spec, Devices(GPU)).gpus, nodes))

    def place(number: int) -> bool:
        if number == len(asked):
            return True
        gpus, nodes = asked[number]
        for node in nodes:
            if left[node] >= gpus:
                left[node] -= gpus
                found = place(number + 1)
                left[node] += gpus
                if found:
                    return True
        return False

    return place(0)


@settings(max_examples=tries(500))
@given(waiting(), st.data())
def test_where_nothing_is_missing_all_of_them_fit_at_once(
    before: Snapshot, data: st.DataObject
) -> None:
    """In the snapshot and after any moves; and nothing is gained for what cannot be whole."""
    made, at = term(before), before.pod_node.tolist()
    bound = [number for number, node in enumerate(at) if node >= 0]
    for _ in range(4):
        if made.cost() < 1e-9:
            assert fits(before, at)
        if not fits(before, [-1] * len(at)):
            assert made.cost() > 0
        if not bound:
            break
        mover = data.draw(st.sampled_from(bound))
        end = data.draw(st.integers(0, len(before.nodes) - 1))
        change = float(made.deltas(mover, np.array([end], dtype=np.int32))[0])
        cost = made.cost()
        made.commit(Shift(mover, at[mover], end))
        at[mover] = end
        assert made.cost() == pytest.approx(cost + change)
