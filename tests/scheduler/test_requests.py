from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.kube.pods.pod_requests import is_resized
from rescheduler.scheduler.config.default_profile import default_profile
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.requests import incoming_requests, running_requests
from tests.cases import every
from tests.cluster import node
from tests.scheduler.containers import container, two

MI = 1024 * 1024


def spec(*containers: dict[str, Any], **more: Any) -> PodSpec:
    return msgspec.convert({"containers": list(containers), **more}, PodSpec)


def test_containers_are_added_up() -> None:
    asked = incoming_requests(
        spec(container("a", cpu="100m"), container("b", cpu="1", memory="1Mi"))
    )
    assert asked.plain == {"cpu": 1100, "memory": MI}


@every(
    [
        ([container("i", cpu="3")], 3000),
        ([container("i", cpu="1")], 2000),
        ([container("s", "Always", cpu="1")], 3000),
        ([container("s", "Always", cpu="1"), container("i", cpu="5")], 6000),
        ([container("i", cpu="5"), container("s", "Always", cpu="1")], 5000),
        ([container("s", "Always", cpu="1"), container("t", "Always", cpu="2")], 5000),
    ]
)
def test_init_containers_and_sidecars(init: Any, cpu: Any) -> None:
    assert incoming_requests(spec(container("a", cpu="2"), initContainers=init)).plain == {
        "cpu": cpu
    }


def test_overhead_comes_on_top() -> None:
    asked = incoming_requests(
        spec(container("a", cpu="1"), overhead={"cpu": "250m", "memory": "1Mi"})
    )
    assert asked.plain == {"cpu": 1250, "memory": MI}
    assert asked.cpu == 1250
    assert asked.memory == 201 * MI


def test_containers_without_requests_count_a_little_when_nodes_are_scored() -> None:
    asked = incoming_requests(
        spec(container("a"), container("b", cpu="0"), initContainers=[container("i", cpu="250m")])
    )
    assert asked.plain == {"cpu": 250}
    assert (asked.cpu, asked.memory) == (250, 400 * MI)


def test_pod_level_requests_are_unseen_by_least_allocated() -> None:
    pods = spec(container("a", cpu="1"), resources={"requests": {"cpu": "4", "memory": "2Mi"}})
    asked = incoming_requests(pods)
    assert asked.plain == {"cpu": 4000, "memory": 2 * MI}
    assert (asked.cpu, asked.memory) == (1000, 200 * MI)
    bound = running_requests(Pod(spec=pods))
    assert (bound.cpu, bound.memory) == (4000, 2 * MI)
    assert incoming_requests(pods, pod_level=False).plain == {"cpu": 1000}


def test_pod_level_requests_leave_a_default_for_what_neither_level_names() -> None:
    bound = running_requests(Pod(spec=spec(container("a"), resources={"requests": {"cpu": "4"}})))
    assert (bound.cpu, bound.memory) == (4000, 200 * MI)


def test_only_resources_that_the_scheduler_counts_are_kept() -> None:
    names = {
        "ephemeral-storage": "1",
        "hugepages-2Mi": "2Mi",
        "nvidia.com/gpu": "1",
        "storage": "1",
    }
    asked = incoming_requests(spec({"name": "a", "resources": {"requests": names}}))
    assert asked.plain == {"ephemeral-storage": 1, "hugepages-2Mi": 2 * MI, "nvidia.com/gpu": 1}


def bound(actual: str, allocated: str | None, *, infeasible: bool = False) -> Pod:
    reason = "Infeasible" if infeasible else "Deferred"
    return msgspec.convert(
        {
            "spec": {"containers": [container("a", cpu="1")]},
            "status": {
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
                "containerStatuses": [
                    {
                        "name": "a",
                        "resources": {"requests": {"cpu": actual}},
                        "allocatedResources": {"cpu": allocated} if allocated else None,
                    }
                ],
            },
        },
        Pod,
    )


@every(
    [
        (bound("1", "1"), 1000),
        (bound("2", "1"), 2000),
        (bound("500m", "3"), 3000),
        (bound("500m", "500m"), 1000),
        (bound("500m", "700m", infeasible=True), 700),
        (bound("500m", None), 1000),
    ]
)
def test_a_resized_pod_counts_the_most_that_is_said_of_it(pod: Any, cpu: Any) -> None:
    assert running_requests(pod).plain == {"cpu": cpu}
    assert incoming_requests(pod.spec).plain == {"cpu": 1000}


@every(
    [
        (two(), 4000, 3000),
        (two(infeasible=True), 3000, 3000),
        # What the status says of the whole pod wins over what it says of its containers.
        (
            two(allocatedResources={"cpu": "3500m"}, resources={"requests": {"cpu": "1"}}),
            4000,
            3500,
        ),
        (two(allocatedResources={"cpu": "9"}), 4000, 3000),
        (
            two(
                wide={"requests": {"cpu": "5"}},
                allocatedResources={"cpu": "6"},
                resources={"requests": {"cpu": "5"}},
            ),
            6000,
            6000,
        ),
        (
            two(
                infeasible=True,
                wide={"requests": {"cpu": "9"}},
                allocatedResources={"cpu": "6"},
                resources={"requests": {"cpu": "5"}},
            ),
            6000,
            6000,
        ),
        (bound("2", "1"), 2000, 2000),
        (bound("500m", "700m", infeasible=True), 700, 700),
        (bound("500m", None, infeasible=True), 500, 500),
    ]
)
def test_since_1_37_a_resized_pod_counts_the_most_of_the_sums(
    pod: Pod, before: int, since: int
) -> None:
    assert running_requests(pod).plain == {"cpu": before}
    assert running_requests(pod, by_sum=True).plain == {"cpu": since}


@pytest.mark.parametrize(("version", "cpu"), [("v1.36.3", 4000), ("v1.37.2", 3000)])
def test_what_a_resized_pod_takes_goes_by_the_version(version: str, cpu: int) -> None:
    pod = two()
    made = Occupancy(
        [node("a")],
        [pod],
        np.array([0], dtype=np.int32),
        pod_level=True,
        by_sum=default_profile(version).resizes_by_sum,
    )
    assert made.requested[made.index["cpu"], 0] == cpu


def test_a_pod_whose_status_repeats_its_spec_is_not_resized() -> None:
    assert not is_resized(bound("1", "1"))
    assert is_resized(bound("2", "1"))
    assert not is_resized(Pod(spec=spec(container("a", cpu="1"))))
