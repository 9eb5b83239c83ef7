from typing import Any

import numpy as np
import pytest

from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugins.node_resources.balanced_allocation import balance, balance_change
from rescheduler.scheduler.plugins.node_resources.scoring_strategy import least_allocated
from tests.cases import every
from tests.cluster import node, pod, snapshot

GI = 1024**3


def column(cpu: int, memory: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([[cpu], [memory]], dtype=np.int64)


@every(
    [
        (column(1500, 5 * GI), 65),
        (column(100, 200 * 1024 * 1024), 97),
        (column(4100, 16 * GI), 0),
        (column(4000, 16 * GI), 0),
        (column(0, 0), 100),
    ]
)
def test_least_allocated(used: Any, expected: Any) -> None:
    assert least_allocated(used, column(4000, 16 * GI)).tolist() == [expected]


def test_least_allocated_leaves_out_a_resource_that_the_node_does_not_have() -> None:
    assert least_allocated(column(1000, 5 * GI), column(4000, 0)).tolist() == [75]
    assert least_allocated(column(1000, 5 * GI), column(0, 0)).tolist() == [0]


@pytest.mark.parametrize(
    ("before", "asked", "since_136", "earlier"),
    [
        (column(1000, 4 * GI), column(500, 1 * GI), 73, 96),
        (column(1000, 4 * GI), column(2000, 0), 62, 75),
        (column(500, 12 * GI), column(2000, 0), 87, 93),
    ],
)
def test_balanced_allocation(before: Any, asked: Any, since_136: Any, earlier: Any) -> None:
    allocatable = column(4000, 16 * GI)
    after = balance(before + asked, allocatable)
    assert after.tolist() == [earlier]
    assert balance_change(after, balance(before, allocatable)).tolist() == [since_136]


def test_a_node_with_one_resource_is_balanced() -> None:
    assert balance(column(1000, 4 * GI), column(4000, 0)).tolist() == [100]


def feasible(requests: dict[str, str], **spec: Any) -> Any:
    small = node("small", allocatable={"cpu": "1", "memory": "1Gi", "pods": "2"})
    gpu = node("gpu", allocatable={"cpu": "4", "memory": "1Gi", "nvidia.com/gpu": "2"})
    newcomer = pod("p", requests=requests, **spec)
    holder = pod("q", "gpu", requests={"nvidia.com/gpu": "1", "memory": "2Gi"})
    return SchedulerModel(snapshot([small, gpu], [newcomer, holder])).feasible(0).tolist()


@every(
    [
        ({"cpu": "1"}, [True, True]),
        ({"cpu": "1001m"}, [False, True]),
        ({"memory": "1Gi"}, [True, False]),  # over-committed: no byte more
        ({"memory": "0"}, [True, True]),
        ({"nvidia.com/gpu": "1"}, [False, True]),
        ({"nvidia.com/gpu": "2"}, [False, False]),
        ({"example.com/unheard-of": "1"}, [False, False]),
        ({"storage": "1"}, [True, True]),  # not a resource that the scheduler counts
    ]
)
def test_a_pod_fits_by_what_it_asks_for_alone(requests: Any, expected: Any) -> None:
    assert feasible(requests) == expected


def test_a_node_without_a_free_slot_takes_no_pod() -> None:
    full = node("full", allocatable={"pods": "1"})
    pods = [pod("p", requests={"cpu": "0"}), pod("q", "full", requests={"cpu": "0"})]
    assert SchedulerModel(snapshot([full], pods)).feasible(0).tolist() == [False]


def test_a_node_without_a_pod_limit_takes_no_pod() -> None:
    odd = node("odd", allocatable={"pods": "0"})
    assert SchedulerModel(snapshot([odd], [pod("p")])).feasible(0).tolist() == [False]


def test_requests_of_a_bound_pod_are_rounded_up_once_for_the_whole_pod() -> None:
    containers = [
        {"name": name, "resources": {"requests": {"cpu": "0.5m"}}} for name in ("a", "b", "c")
    ]
    tiny = node("tiny", allocatable={"cpu": "2m"})
    pods = [pod("p", requests={"cpu": "1m"}), pod("q", "tiny", containers=containers)]
    model = SchedulerModel(snapshot([tiny], pods))
    assert model.feasible(0).tolist() == [False]
