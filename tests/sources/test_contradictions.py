"""When two sources do not tell of the same device, and when one of them only looked seldom."""

import math

import pytest

from rescheduler.model.cluster.readings import Reading
from rescheduler.sources.prometheus.series_values import SourceValue, differ
from tests import cluster
from tests.cases import every
from tests.sources.metrics import Stub, read

PROFILED, RUNNING = 0, 1
"""The sources of the load of an NVIDIA GPU: over all the time, and at moments."""


def chance_to_differ(share: float, samples: int) -> float:
    """How often the mean of samples contradicts the share of time that they are drawn from."""
    known = SourceValue("profiled", share, samples)
    return sum(
        math.comb(samples, busy) * share**busy * (1 - share) ** (samples - busy)
        for busy in range(samples + 1)
        if differ(known, SourceValue("running", busy / samples, samples), ratio=True)
    )


@every([3, 5, 10, 20, 60])
def test_a_job_that_alternates_in_a_scrape_hardly_contradicts_itself(samples: int) -> None:
    assert max(chance_to_differ(share / 100, samples) for share in range(101)) < 0.001


def test_what_is_no_mean_of_samples_may_differ_by_30_points() -> None:
    assert differ(SourceValue("one", 0.5), SourceValue("other", 0.81), ratio=True)
    assert not differ(SourceValue("one", 0.5), SourceValue("other", 0.79), ratio=True)
    assert differ(SourceValue("one", 50, 10), SourceValue("other", 81, 10), ratio=False)


def gpu(name: str, profiled: float, running: float, count: float = 10) -> Reading:
    """A node's GPU by both sources."""
    before = cluster.snapshot([cluster.node("n1", allocatable={"nvidia.com/gpu": "1"})], [])
    labels = {"Hostname": "n1", "UUID": "GPU-1", "gpu": "0"}
    stub = Stub().series(name, [(labels, profiled)], source=PROFILED, count=count)
    stub.series(name, [(labels, 100 * running)], source=RUNNING, count=count)
    return read(stub, name, before)


@pytest.mark.parametrize("name", ["node.gpu", "node.gpu.peak"])
def test_the_load_of_a_job_that_alternates_counts(name: str) -> None:
    assert gpu(name, 0.5, 0.9).values.tolist() == [0.5]


@pytest.mark.parametrize("name", ["node.gpu", "node.gpu.peak"])
@pytest.mark.parametrize(("profiled", "running"), [(0.0, 0.4), (0.0, 1.0), (1.0, 0.6)])
def test_a_profile_that_stands_still_beside_another_load_is_no_value(
    name: str, profiled: float, running: float
) -> None:
    reading = gpu(name, profiled, running)
    assert reading.problem is not None
    assert reading.problem.code == "RDG005"
    [missing] = reading.missing
    [detail] = missing.details
    assert detail == (
        f"sources that differ: GPU-1 of n1: {profiled:.0%} by DCGM_FI_PROF_GR_ENGINE_ACTIVE, "
        f"{running:.0%} by DCGM_FI_DEV_GPU_UTIL"
    )


def test_more_samples_leave_less_to_chance() -> None:
    assert gpu("node.gpu", 0.5, 0.9, count=60).problem is not None
