"""Anybody who adds up what a pod asks for gets the sum that Kubernetes gets."""

from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.kube.objects import Pod, PodSpec
from rescheduler.kube.pods.pod_requests import pod_limits, pod_requests
from rescheduler.kubelet.numa_zones import demands
from rescheduler.planning.limits.quotas import quota_use
from rescheduler.policies.shared.demand import Devices, demand
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.requests import incoming_requests, running_requests
from tests.cluster import controller, node, pod, snapshot

GPU = "nvidia.com/gpu"


def container(name: str, restart: str | None = None, /, **resources: Any) -> dict[str, Any]:
    return {"name": name, "restartPolicy": restart, "resources": resources}


def spec(*containers: dict[str, Any], **more: Any) -> PodSpec:
    return msgspec.convert({"containers": list(containers), **more}, PodSpec)


QUANTITIES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "hugepages-2Mi", GPU]), st.sampled_from(["1", "1500m", 1])
)
RESOURCES = st.fixed_dictionaries({}, optional={"requests": QUANTITIES, "limits": QUANTITIES})
CONTAINERS = st.builds(
    lambda name, restart, given: container(name, restart, **given),
    st.sampled_from("ab"),
    st.sampled_from([None, "Always"]),
    RESOURCES,
)
SPECS = st.builds(
    lambda own, **more: spec(*own, **more),
    st.lists(CONTAINERS, max_size=2),
    initContainers=st.none() | st.lists(CONTAINERS, max_size=2),
    overhead=st.none() | QUANTITIES,
    resources=st.none() | RESOURCES,
    priority=st.integers(0, 3),
)


@given(drawn=st.lists(SPECS, max_size=6), pod_level=st.booleans())
def test_who_asks_alike_is_added_up_once(drawn: list[PodSpec], *, pod_level: bool) -> None:
    pods = [pod(f"p{number}", "n1") for number in range(len(drawn))]
    for pod_object, own in zip(pods, drawn, strict=True):
        pod_object.spec = own
    made = snapshot([node("n1", allocatable={GPU: "8"})], pods)
    groups, of_pod = made.pod_asking
    occupancy = Occupancy(made.nodes, pods, made.pod_node, pod_level=pod_level)
    for number, (pod_object, own) in enumerate(zip(pods, drawn, strict=True)):
        like = groups[of_pod[number]]
        assert pod_requests(like) == pod_requests(own)
        assert pod_limits(like) == pod_limits(own)
        assert incoming_requests(like, pod_level=pod_level) == incoming_requests(
            own, pod_level=pod_level
        )
        some = np.array([number], dtype=np.int32)
        taken = {
            name: int(occupancy.taken_amounts(row, some)[0])
            for row, name in enumerate(occupancy.resources)
        }
        expected = running_requests(pod_object, pod_level=pod_level).plain
        assert taken == {name: expected.get(name, 0) for name in occupancy.resources}
    assert len(groups) == len(set(of_pod.tolist()))


def test_a_sum_is_rounded_once() -> None:
    half: dict[str, Any] = {"requests": {"cpu": "100.5m"}}
    made = spec(container("a", **half), container("b", **half))
    assert demand(made, Devices("")).cpu == 201


def test_what_is_limited_and_not_requested_is_requested() -> None:
    made = spec(container("a", limits={"cpu": "2", GPU: "1"}))
    asked = demand(made, Devices(GPU))
    assert (asked.cpu, asked.gpus) == (2000, 1)


def test_devices_are_not_requested_of_a_pod_as_a_whole() -> None:
    made = spec(container("a", requests={GPU: "1"}), resources={"requests": {GPU: "4"}})
    assert demand(made, Devices(GPU)).gpus == 1


def test_overhead_is_limited_only_on_top_of_a_limit() -> None:
    made = Pod(
        spec=spec(container("a", limits={"memory": "1"}), overhead={"cpu": "1", "memory": 1})
    )
    use = quota_use(made)
    assert use["limits.memory"] == 2 * 10**9
    assert "limits.cpu" not in use
    assert use["requests.cpu"] == 10**9


def test_a_quota_does_not_count_limits_of_devices() -> None:
    use = quota_use(Pod(spec=spec(container("a", limits={GPU: "1"}))))
    assert f"limits.{GPU}" not in use
    assert use[f"requests.{GPU}"] == 10**9


def test_an_init_container_wants_zones_beside_the_sidecars_before_it() -> None:
    both: dict[str, Any] = {"requests": {GPU: "1"}, "limits": {GPU: "1"}}
    more: dict[str, Any] = {"requests": {GPU: "2"}, "limits": {GPU: "2"}}
    made = pod("p", "a")
    made.spec = spec(
        container("c", **both),
        initContainers=[container("s", "Always", **both), container("i", **more)],
    )
    found, _ = demands(snapshot([node("a")], [made]), (GPU,))
    assert found[0].whole.tolist() == [3.0]
    assert not found[0].modeled


def test_a_resized_pod_is_replaced_by_what_its_template_limits() -> None:
    template = {"spec": {"containers": [container("main", limits={"cpu": "6"})]}}
    by = controller("ReplicaSet", "o", template=template)
    made = pod("p", "a", owner=by, requests={"cpu": "1"})
    made.metadata.generation = 2
    nodes = [node("a"), node("b", allocatable={"cpu": "4"})]
    model = SchedulerModel(snapshot(nodes, [made], controllers=[by]))
    assert model.feasible(0).tolist() == [True, False]
