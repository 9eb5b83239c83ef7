"""Which NUMA nodes an allocation touches, beside trying out every allocation that there is."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube.dra.device_inventory import DeviceInventory
from rescheduler.kube.dra.device_needs import Need, Needs
from rescheduler.policies.numa.device_choice import DeviceChoice, narrow_to_node, wanted_of
from rescheduler.policies.numa.device_zones import NUMA_ATTRIBUTES, DeviceZones
from tests.draws import tries
from tests.policies.device_drawing import GPU, NIC, offered, on_zones

ZONES = st.lists(st.integers(0, 2), min_size=1, max_size=5)


def allocations(needs: Sequence[Need], taken: frozenset[int]) -> Iterator[list[int]]:
    """Every allocation, request by request, in the order in which the allocator tries them."""
    if not needs:
        yield []
        return
    devices, number = needs[0]
    open_ = [device for device in devices.tolist() if device not in taken]
    for chosen in combinations(open_, number):
        for rest in allocations(needs[1:], taken | set(chosen)):
            yield [*chosen, *rest]


@settings(max_examples=tries(400))
@given(
    gpus=ZONES,
    nics=ZONES,
    counts=st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2)),
    busy=st.sets(st.integers(0, 9), max_size=5),
)
def test_first_widest_and_narrowest_are_those_of_all_allocations(
    gpus: list[int], nics: list[int], counts: tuple[int, int, int], busy: set[int]
) -> None:
    slices = [
        offered("n0", GPU, *on_zones("gpu", 7)),
        offered("n1", GPU, *on_zones("gpu", *gpus)),
        offered("n1", NIC, *on_zones("nic", *nics)),
    ]
    inventory = DeviceInventory(slices, {"n0": 0, "n1": 1})
    zones = DeviceZones(inventory, NUMA_ATTRIBUTES, 2)
    of_driver = {
        driver: np.array(
            [n for n, subject in enumerate(inventory.subjects) if subject.driver == driver],
            np.int32,
        )
        for driver in (GPU, NIC)
    }
    # Two requests for GPUs and one for NICs; those of another node do not help.
    asked = zip((GPU, NIC, GPU), counts, strict=True)
    needs = [Need(of_driver[driver], count) for driver, count in asked if count]
    wanted = wanted_of(Needs(needs), zones)
    if wanted is None:
        assert sum(counts) < 2
        return
    here = [Need(need.devices[inventory.node[need.devices] == 1], need.number) for need in needs]
    taken = frozenset(device + 1 for device in busy)
    free = np.array([n not in taken for n in range(len(inventory))], dtype=np.bool_)

    def spread(devices: list[int]) -> int:
        return len({int(zones.zone[device]) for device in devices})

    empty = [spread(allocation) for allocation in allocations(here, frozenset())]
    now = [spread(allocation) for allocation in allocations(here, taken)]
    nodes = np.arange(2, dtype=np.int32)
    for places, row in (
        (DeviceChoice(zones, wanted, nodes, 2), 1),
        (DeviceChoice(zones, narrow_to_node(wanted, zones, 1), nodes[1:], 2), 0),
    ):
        if empty:
            assert places.fewest_zones()[row] == min(empty)
        assert places.spread(free, alone=True)[row] == (now[0] if now else 0)
        assert places.spread(free, alone=False)[row] == max(now, default=0)
