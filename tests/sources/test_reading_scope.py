"""Who is measured and who is not, whose series they are, and whose coverage counts."""

import numpy as np
import pytest

from rescheduler.model.cluster.readings import Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.health.policy import Health
from rescheduler.policies.utilization.policy import Utilization
from tests import cluster
from tests.sources.metrics import Rows, Stub, read, sources_of

POOL = "pool"


def device(node: str, number: int, **more: str) -> dict[str, str]:
    return {"Hostname": node, "UUID": f"GPU-{node}-{number}", "gpu": str(number), **more}


def nodes(**rooms: dict[str, str]) -> Snapshot:
    return cluster.snapshot(
        [
            cluster.node(name, allocatable=room, labels={POOL: name[0]})
            for name, room in rooms.items()
        ],
        [],
    )


def heat(*devices: tuple[dict[str, str], object]) -> Stub:
    return Stub().series("node.gpu", list(devices))


def health(pool: str | None = None, sign: str = "ecc") -> Health:
    chosen = {"all": True} if pool is None else {"labels": {"matchLabels": {POOL: pool}}}
    return Health.model_validate(
        {
            "name": "h",
            "nodes": chosen,
            "match": {"all": True},
            "signs": {sign: True},
            "window": "5m",
            "maxAge": "3m",
        }
    )


def holding(before: Snapshot, policy: Health | Utilization, *found: Reading) -> Snapshot:
    """The snapshot with these readings, as the policy asks for them."""
    wanted = {request.name: request for request in policy.requests()}
    entries = tuple(
        Reading(
            request=wanted[reading.name],
            unit=reading.unit,
            values=reading.values,
            ages=reading.ages,
            expected=reading.expected,
            capacity=reading.capacity,
            problem=reading.problem,
            low_coverage=reading.low_coverage,
        )
        for reading in found
    )
    return cluster.snapshot(before.nodes, before.pods, readings=entries)


def ecc(before: Snapshot, rows: Rows) -> Reading:
    return read(Stub().series("node.gpu.ecc", rows), "node.gpu.ecc", before)


@pytest.mark.parametrize("resource", ["amd.com/gpu", "gpu.intel.com/xe", "habana.ai/gaudi"])
def test_devices_that_nothing_measures_are_a_problem_and_no_health(resource: str) -> None:
    before = nodes(a1={resource: "8"}, b1={})
    every, others = health(sign="xid"), health("b", "xid")
    reading = read(Stub().series("node.gpu.xid", []), "node.gpu.xid", before)
    assert not reading.expected.any()
    problem = every.compile(holding(before, every, reading))
    assert isinstance(problem, Problem)
    assert problem.code == "RDG014"
    assert f"{resource} of a1" in problem.message
    assert not isinstance(others.compile(holding(before, others, reading)), Problem)


@pytest.mark.parametrize("resource", ["amd.com/gpu", "habana.ai/gaudi"])
def test_errors_of_devices_that_could_be_measured_and_are_not_are_unknown(resource: str) -> None:
    before = nodes(a1={resource: "8"}, b1={})
    reading = ecc(before, [])
    assert reading.expected.tolist() == [True, False]
    problem = health().compile(holding(before, health(), reading))
    assert isinstance(problem, Problem)


def test_some_devices_that_nothing_measures_are_noted() -> None:
    before = nodes(a1={"nvidia.com/gpu": "1"}, b1={"gpu.intel.com/xe": "8"})
    reading = ecc(before, [(device("a1", 0), 0)])
    assert reading.problem is None
    assert any("devices that nothing measures (1, such as gpu.intel.com/xe of b1)" in note
               for note in reading.notes)  # fmt: skip


def test_a_pool_without_values_silences_only_the_policies_that_select_it() -> None:
    before = nodes(**{f"a{n}": {"nvidia.com/gpu": "1"} for n in range(6)},
                   **{f"b{n}": {"nvidia.com/gpu": "8"} for n in range(4)})  # fmt: skip
    rows = [(device(f"a{n}", 0), 0) for n in range(6)] + [(device(f"b{n}", 0), 0) for n in range(4)]
    reading = ecc(before, rows)
    assert reading.problem is not None
    assert reading.problem.code == "RDG003"
    assert reading.low_coverage
    assert not isinstance(health("a").compile(holding(before, health("a"), reading)), Problem)
    for policy in (health("b"), health()):
        problem = policy.compile(holding(before, policy, reading))
        assert isinstance(problem, Problem)
        assert problem.code == "RDG003"


def test_a_problem_of_the_whole_reading_silences_everybody() -> None:
    before = nodes(a1={"nvidia.com/gpu": "1"})
    stub = Stub().series("node.gpu.ecc", [(device("a1", 0), 0)])
    stub.extra = {"warnings": ["store gateway 2 is down"]}
    reading = read(stub, "node.gpu.ecc", before)
    assert not reading.low_coverage
    problem = health("a").compile(holding(before, health("a"), reading))
    assert isinstance(problem, Problem)
    assert problem.code == "RDG002"


def test_more_devices_than_the_node_has_to_allocate_are_no_value() -> None:
    before = nodes(a1={"nvidia.com/gpu": "6"})
    reading = read(heat(*((device("a1", n), 0.95) for n in range(8))), "node.gpu", before)
    assert np.isnan(reading.values).all()
    assert reading.problem is not None
    assert reading.problem.code == "RDG015"


def test_memory_of_zones_counts_what_the_kernel_can_free() -> None:
    """As si_mem_available() of the kernel has it (mm/show_mem.c), without its watermarks.

    Shared memory is in the page cache of a zone and cannot be freed; reclaimable slab can.
    """
    [source] = sources_of("node.numa.memory")
    for part in ("MemFree", "Active_file", "Inactive_file", "SReclaimable"):
        assert f"node_memory_numa_{part}{{$match}}" in source.value
    assert "FilePages" not in source.value
