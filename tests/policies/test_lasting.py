"""How long load and signs have lasted, by their own past at each of its instants."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model.cluster.readings import DeviceValue, instants, seconds_held
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory
from rescheduler.planning.binding import bind
from rescheduler.planning.evaluation.stability import Stability
from rescheduler.policies.health.policy import Health
from rescheduler.policies.health.term import HealthTerm
from rescheduler.policies.shared.loads.term import UtilizationTerm
from rescheduler.policies.utilization.policy import Utilization
from tests.cases import every
from tests.cluster import reading
from tests.picture import picture
from tests.policies.numa.zones import SPLIT, bound, cluster, numa, two_zones
from tests.policies.numa_drawing import GPU, guaranteed

THREE = """
    zone a | n1 | web web
    zone a | n2 | api
    zone a | n3 | -
"""
LONG, CALM = "90%x15", "10%x15"


def utilization(**spec: Any) -> Utilization:
    fields: dict[str, Any] = {
        "nodes": {"all": True},
        "match": {"all": True},
        "targets": {"cpu": {"high": "80%"}},
        "window": "1m",
        "stableFor": "10m",
        **spec,
    }
    return Utilization(name="u", **fields)


def held(policy: Utilization, use: float = 3.2, **readings: Mapping[str, Any]) -> list[Any]:
    """For how long the load of web-0, web-1 and api-0 is known to be too high."""
    given = {name.replace("_", "."): series for name, series in readings.items()}
    pods = {"pod.cpu": {"web": use, "api": use}}
    made = policy.compile(picture(THREE, readings={**pods, **given}, policies=[policy]))
    assert isinstance(made, UtilizationTerm), made
    return list(made.finding_ages().tolist())


NAN = pytest.approx(float("nan"), nan_ok=True)


@every(
    [
        (LONG, 600),
        ("90%x10", 600),
        ("90%x9", 540),
        ("90%x10 10% 90%x3", 180),
        ("90%x10 _ 90%x3", 180),
        ("10%x10 90%", 0),
        ("90%x10 10%", None),
    ]
)
def test_a_node_is_hot_since_it_was_last_cool_or_unknown(
    series: str, seconds: float | None
) -> None:
    found = held(utilization(), node_cpu={"n1": series, "n2": CALM, "n3": CALM})
    expected = NAN if seconds is None else seconds
    assert found == [expected, expected, NAN]


def test_without_a_past_nothing_is_known() -> None:
    policy = utilization()
    before = picture(
        THREE,
        readings={
            "node.cpu": {"n1": LONG, "n2": CALM, "n3": CALM},
            "pod.cpu": {"web": 3.2, "api": 3.2},
        },
        policies=[policy],
    )
    bare = tuple(replace(reading, range_samples=None) for reading in before.readings.entries)
    made = policy.compile(replace(before, readings=replace(before.readings, entries=bare)))
    assert isinstance(made, UtilizationTerm)
    assert made.cost() > 0
    assert np.isnan(made.finding_ages()).all()


def test_who_does_not_wait_asks_for_no_past() -> None:
    assert {request.span for request in utilization(stableFor=None).requests()} == {0.0}
    asked = {request.name: request.span for request in utilization().requests()}
    assert asked == {"node.cpu": 600.0, "pod.cpu": 0.0}


def test_balance_uses_the_mean_of_each_instant() -> None:
    policy = utilization(strategy="Balance", tolerance="10%")
    even = "60%x8 10%x3"
    found = held(policy, 2.2, node_cpu={"n1": "60%x11", "n2": even, "n3": even})
    assert found[0] == 180, "until then all were as full"


def test_a_mean_of_too_few_nodes_is_no_mean() -> None:
    """Nobody knows whether n1 was above the others while one of them had no value."""
    policy = utilization(strategy="Balance", tolerance="10%")
    found = held(policy, 2.2, node_cpu={"n1": "60%x11", "n2": "_x8 10%x3", "n3": "10%x11"})
    assert found[0] == 180
    few = policy.model_copy(update={"minCoverage": 0.5})
    found = held(few, 2.2, node_cpu={"n1": "60%x11", "n2": "_x8 10%x3", "n3": "10%x11"})
    assert found[0] == 600


def test_pressure_must_have_been_there_too() -> None:
    policy = utilization(targets={"cpu": {"high": "95%", "pressure": "20%", "floor": "50%"}})
    load = {"n1": LONG, "n2": CALM, "n3": CALM}
    waits = {"n1": "0%x10 30%x4", "n2": CALM, "n3": CALM}
    assert held(policy, node_cpu=load, node_cpu_pressure=waits)[0] == 240


def test_a_cold_node_must_have_been_cold() -> None:
    policy = utilization(strategy="Pack", cold="30%")
    load = {"n1": "50%x15", "n2": "60%x8 20%x5", "n3": "0%x15"}
    assert held(policy, 1.6, node_cpu=load) == [NAN, NAN, 300]


@pytest.mark.parametrize("reached", [False, True])
def test_of_two_resources_the_one_that_the_pod_relieves_counts(reached: bool) -> None:
    policy = utilization(targets={"cpu": {"high": "80%"}, "memory": {"high": "80%"}})
    found = held(
        policy,
        node_cpu={"n1": "10%x10 90%x2", "n2": CALM, "n3": CALM},
        node_memory={"n1": LONG, "n2": CALM, "n3": CALM},
        pod_memory={"web": 12e9 if reached else 0, "api": 0},
    )
    if reached:
        assert found[0] == 600
    else:
        assert found[0] == 120


def test_a_little_of_an_old_load_does_not_make_a_new_one_old() -> None:
    """Every pod uses some CPU: who leaves for the memory's sake has no old finding."""
    policy = utilization(targets={"cpu": {"high": "80%"}, "memory": {"high": "80%"}})
    found = held(
        policy,
        0.05,
        node_cpu={"n1": LONG, "n2": CALM, "n3": CALM},
        node_memory={"n1": "10%x10 90%x2", "n2": CALM, "n3": CALM},
        pod_memory={"web": 12e9, "api": 0},
    )
    assert found[0] == 120


def sick(policy: Health, xid: Mapping[str, Any], devices: tuple[DeviceValue, ...] = ()) -> Any:
    gpus = {"web": {"nvidia.com/gpu": 1}}
    drawn = THREE.replace("n1 |", "n1 gpu 8 |").replace("n3 |", "n3 gpu 8 |")
    before: Snapshot = picture(
        drawn, requests=gpus, readings={"node.gpu.xid": xid}, policies=[policy]
    )
    entries = tuple(replace(reading, devices=devices) for reading in before.readings.entries)
    made = policy.compile(replace(before, readings=replace(before.readings, entries=entries)))
    assert isinstance(made, HealthTerm), made
    return made


def health(**spec: Any) -> Health:
    given: dict[str, Any] = {
        "nodes": {"all": True},
        "match": {"all": True},
        "signs": {"xid": True},
        "action": "Drain",
        "window": "1m",
        "stableFor": "5m",
    }
    return Health(name="h", **{**given, **spec})


def test_a_sign_of_a_node_must_have_been_there() -> None:
    made = sick(health(), {"n1": "0x10 79x2", "n3": "0x15"})
    assert made.candidates().tolist() == [0, 1]
    assert made.finding_ages().tolist() == [120, 120, NAN]
    assert sick(health(), {"n1": "79x9", "n3": "0x9"}).finding_ages().tolist()[0] == 300


def test_of_devices_each_has_its_own_past() -> None:
    """The node has had an error all the time, though not always the same device."""
    old = DeviceValue(0, "GPU-a", 79.0, "0", (0,), (0.0, 0.0, 79.0, 79.0, 79.0, 79.0))
    new = DeviceValue(0, "GPU-b", 48.0, "1", (1,), (48.0, 48.0, 48.0, 0.0, 48.0, 48.0))
    made = sick(health(), {"n1": "79x9", "n3": "0x9"}, (old, new))
    assert made.finding_ages().tolist() == [180, 60, NAN]


def test_a_broken_device_of_others_makes_the_finding_of_the_node_no_older() -> None:
    """A pod is drained for its node's network, not for the GPU that another pod has."""
    policy = health(signs={"xid": True, "retransmits": "5%"})
    series = {
        "node.gpu.xid": {"n1": "79x9", "n3": "0x9"},
        "node.network.retransmits": {"n1": "0%x8 9%x2", "n2": "0%x9", "n3": "0%x9"},
    }
    before = picture(
        THREE.replace("n1 |", "n1 gpu 8 |").replace("n3 |", "n3 gpu 8 |"),
        requests={"web": {"nvidia.com/gpu": 1}},
        readings=series,
        policies=[policy],
    )
    devices = (
        DeviceValue(0, "GPU-a", 79.0, "0", (0,), (79.0,) * 6),
        DeviceValue(0, "GPU-b", 0.0, "1", (1,), (0.0,) * 6),
    )
    entries = tuple(
        replace(reading, devices=devices) if reading.name == "node.gpu.xid" else reading
        for reading in before.readings.entries
    )
    made = policy.compile(replace(before, readings=replace(before.readings, entries=entries)))
    assert isinstance(made, HealthTerm), made
    assert made.candidates().tolist() == [0, 1]
    assert made.finding_ages().tolist() == [300, 120, NAN]


def test_a_device_without_a_past_is_not_known_to_have_been_broken() -> None:
    only = DeviceValue(0, "GPU-a", 79.0, "0", (0,))
    made = sick(health(), {"n1": "79x9", "n3": "0x9"}, (only,))
    assert made.candidates().tolist()[0] == 0
    assert np.isnan(made.finding_ages()[0])
    parts = (
        DeviceValue(0, "GPU-a/1/1g.10gb", 79.0, "0", (0,), (79.0,) * 6),
        DeviceValue(0, "GPU-a/2/1g.10gb", 79.0, "0", (1,)),
    )
    made = sick(health(), {"n1": "79x9", "n3": "0x9"}, parts)
    assert made.candidates().tolist() == [0, 1]
    assert np.isnan(made.finding_ages()).all()


def test_of_numa_a_crowd_is_measured_and_where_pods_lie_is_remembered() -> None:
    policy = numa(crowded="80%", stableFor="3m")
    [request] = policy.requests()
    values = reading("node.numa.memory", [0.9, 0.3], max_age=request.max_age)
    range_samples = np.array([[0.2, 0.3], [0.9, 0.3], [0.9, 0.3], [0.9, 0.3]])
    values = replace(values, request=request, range_samples=range_samples)
    pods = [
        guaranteed("crowded", "n1", {"memory": "32000000000"}),
        guaranteed("split", "n2", {GPU: 2}, lies=SPLIT),
    ]
    before = cluster(two_zones("n1", 4, 4), two_zones("n2", 3, 3), pods=pods, readings=[values])
    made = bound(before, policy)
    assert {finding.code for finding in made.findings()} == {"NUM001", "NUM002"}
    assert made.finding_ages().tolist() == [120, NAN]

    [binding] = bind([policy], before)
    stability = Stability([binding], before, FindingHistory())
    [observation] = stability.observations
    assert len(observation.findings) == 1
    waited = FindingHistory().remember([observation], before.taken - timedelta(minutes=4))
    later = Stability([binding], before, waited)
    both = np.arange(2, dtype=np.int32)
    assert later.ready(binding, both).tolist() == [1]
    assert stability.ready(binding, both).tolist() == []


@given(st.lists(st.booleans(), min_size=6, max_size=6), st.integers(0, 5))
def test_less_that_held_never_lasts_longer(row: list[bool], gone: int) -> None:
    """Monotone: an instant more at which it did not hold makes nothing last longer."""
    less = [flag and index != gone for index, flag in enumerate(row)]
    one, other = (float(seconds_held(np.array([r]).T, 300.0)[0]) for r in (row, less))
    assert np.isnan(other) or other <= one
    assert len(instants(300.0)) == len(row)
