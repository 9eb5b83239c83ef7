"""Kubelet's choice of zones, held against its own algorithm written down hint by hint."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kubelet.numa_zones import demands, read_zones, resources_of
from rescheduler.kubelet.topology_manager import fewest_zones, least_spread, place
from rescheduler.policytest.topologies import topology
from tests.cases import every
from tests.cluster import node, pod, snapshot
from tests.draws import tries
from tests.policies.numa_drawing import GPU, NIC, guaranteed

KINDS = (GPU, NIC)
Zone = tuple[int, int]  # what it holds, what is free


def hints(zones: list[Zone], wanted: int) -> list[tuple[int, bool]]:
    """Masks with whether they are preferred: deviceManager.generateDeviceTopologyHints."""
    least, found = len(zones), []
    masks = sorted(range(1, 2 ** len(zones)), key=int.bit_count)
    for mask in masks:
        inside = [zone for number, zone in enumerate(zones) if mask >> number & 1]
        if sum(total for total, _ in inside) >= wanted:
            least = min(least, mask.bit_count())
        if sum(free for _, free in inside) >= wanted:
            found.append(mask)
    return [(mask, mask.bit_count() == least) for mask in found]


def kubelet(zones: list[list[Zone]], wanted: list[int], policy: str) -> tuple[bool, int | None]:
    """Whether it admits a container, and the mask of its zones where that is preferred.

    zones: by resource, then by zone.
    """
    lists: list[list[tuple[int | None, bool]]] = []
    for rooms, amount in zip(zones, wanted, strict=True):
        if amount == 0 or sum(total for total, _ in rooms) == 0:
            continue
        given_hints: list[tuple[int | None, bool]] = list(hints(rooms, amount))
        given_hints = given_hints or [(None, False)]
        if policy == "single-numa-node":
            given_hints = [
                (mask, good)
                for mask, good in given_hints
                if good and (mask is None or mask.bit_count() == 1)
            ]
        lists.append(given_hints)
    everything = 2 ** len(zones[0]) - 1
    best: tuple[int, bool] | None = None
    for permutation in product(*lists):
        masks = [mask for mask, _ in permutation if mask is not None]
        good = all(good for _, good in permutation) and len(set(masks)) <= 1
        merged = everything
        for mask in masks:
            merged &= mask
        if merged == 0:
            continue
        narrower = best is not None and (merged.bit_count(), merged) < (
            best[0].bit_count(),
            best[0],
        )
        if best is None or ((good, narrower) > (best[1], False) and good >= best[1]):
            best = (merged, good)
    preferred = best is not None and best[1]
    admitted = preferred or policy in ("best-effort", "none")
    return admitted, best[0] if preferred and best is not None and lists else None


rooms = st.integers(0, 4).flatmap(lambda total: st.tuples(st.just(total), st.integers(0, total)))


@settings(max_examples=tries(500))
@given(
    zones=st.integers(1, 3).flatmap(
        lambda count: st.tuples(*[st.lists(rooms, min_size=count, max_size=count)] * 2)
    ),
    wanted=st.tuples(st.integers(0, 5), st.integers(0, 2)),
    policy=st.sampled_from(["single-numa-node", "restricted", "best-effort", "none"]),
    scope=st.sampled_from(["container", "pod"]),
)
def test_one_container_is_placed_as_kubelet_places_it(
    zones: tuple[list[Zone], list[Zone]], wanted: tuple[int, int], policy: str, scope: str
) -> None:
    described = [dict(zip(KINDS, pair, strict=True)) for pair in zip(*zones, strict=True)]
    topologies = [topology("n1", *described, policy=policy, scope=scope)]
    asked = {k: v for k, v in zip(KINDS, wanted, strict=True) if v}
    # Somebody else holds the devices that are not free, so that zones and pods agree.
    holders = [
        pod(f"h-{kind}-{number}", "n1", requests={kind: str(total - free)})
        for kind, by_zone in zip(KINDS, zones, strict=True)
        for number, (total, free) in enumerate(by_zone)
        if total > free
    ]
    before = snapshot([node("n1")], [*holders, guaranteed("p", "", asked)], topologies=topologies)
    resources = resources_of(topologies)
    found, of_pod = demands(before, resources)
    known = read_zones(before, resources, found, of_pod)
    assert known.odd == {}
    if of_pod[-1] < 0:
        assert sum(wanted) == 0
        return
    placement = place(known, np.array([0], np.int32), known.free, found[of_pod[-1]])
    admitted, mask = kubelet(list(zones), list(wanted), policy)
    assert bool(placement.admitted[0]) == admitted
    if policy == "none":
        assert placement.spread[0] == 0
    else:
        assert placement.spread[0] == (0 if mask is None else mask.bit_count())
    if mask is not None and mask.bit_count() == 1:
        taken = (known.free - placement.free)[0].sum(axis=1)
        assert [int(n) for n in np.flatnonzero(taken)] in ([], [mask.bit_length() - 1])


def test_the_scope_decides_whether_containers_may_part() -> None:
    zones = [{GPU: 2.0, "cpu": 8.0}, {GPU: 2.0, "cpu": 8.0}]
    both = [topology("n1", *zones), topology("n2", *zones, scope="pod")]
    before = snapshot(
        [node("n1"), node("n2")],
        [guaranteed("p", "", {GPU: 2}, {GPU: 1})],
        topologies=both,
    )
    resources = resources_of(both)
    found, of_pod = demands(before, resources)
    known = read_zones(before, resources, found, of_pod)
    placement = place(known, np.array([0, 1], np.int32), known.free, found[0])
    assert placement.admitted.tolist() == [True, False]
    assert placement.spread.tolist() == [2, 0]
    assert fewest_zones(known, np.array([0], np.int32), found[0]).tolist() == [2]


@every(
    [
        ({"cpu": "4", "memory": "1Gi"}, {"cpu": "4", "memory": "1Gi"}, 4.0),
        ({}, {"cpu": "4", "memory": "1Gi"}, 4.0),
        ({"cpu": "3500m", "memory": "1Gi"}, {"cpu": "3500m", "memory": "1Gi"}, 0.0),
        ({"cpu": "2", "memory": "1Gi"}, {"cpu": "4", "memory": "1Gi"}, 0.0),
        ({"cpu": "4"}, {"cpu": "4"}, 0.0),
    ]
)
def test_only_whole_cpus_of_guaranteed_pods_are_pinned(
    requests: dict[str, str], limits: dict[str, str], cpus: float
) -> None:
    one = {"name": "c", "resources": {"requests": requests, "limits": {**limits, GPU: "1"}}}
    before = snapshot([node("n1")], [pod("p", containers=[one])])
    [demand], _ = demands(before, ("cpu", GPU))
    assert demand.whole.tolist() == [cpus, 1.0]


def test_an_object_that_disagrees_with_the_pods_is_not_believed() -> None:
    late = [topology("n1", {GPU: (4, 2)}, {GPU: (4, 4)})]
    before = snapshot([node("n1")], [guaranteed("p", "n1", {GPU: 3})], topologies=late)
    resources = resources_of(late)
    found, of_pod = demands(before, resources)
    known = read_zones(before, resources, found, of_pod)
    assert not known.known_nodes.any()
    assert "2 nvidia.com/gpu in use, and its pods ask for 3" in known.odd[0]


def test_what_the_zones_gave_away_proves_that_a_pod_is_split() -> None:
    wanted = np.array([2.0])
    assert least_spread(np.array([[1.0], [1.0]]), wanted) == 2
    assert least_spread(np.array([[2.0], [1.0]]), wanted) == 1
    assert least_spread(np.array([[1.0], [0.0]]), wanted) == 0
