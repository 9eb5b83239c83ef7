"""A steered replacement lands as the pod whose affinity, or whose nodes' taints, say the same."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.steered_affinity import HOSTNAME, steer_spec
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugin import Steer
from tests.cluster import deployment, node, pod, snapshot
from tests.draws import tries
from tests.scheduler.random_clusters import snapshots


def named(made: Snapshot, chosen: list[int]) -> list[str]:
    return [(made.nodes[node].metadata.labels or {}).get(HOSTNAME, "") for node in chosen]


def with_affinity(made: Snapshot, index: int, chosen: list[int], *, require: bool) -> Snapshot:
    """The snapshot in which the pod itself has the term that its replacement is given."""
    pods = list(made.pods)
    old = pods[index]
    spec = steer_spec(old.spec, named(made, chosen), require=require)
    pods[index] = Pod(metadata=old.metadata, spec=spec, status=old.status, node=old.node)
    return replace(made, pods=pods)


def with_taints(made: Snapshot, chosen: list[int]) -> Snapshot:
    nodes = list(made.nodes)
    for node_object in chosen:
        spec = nodes[node_object].spec
        taints = [*(spec.taints or ()), SOFT_TAINT]
        nodes[node_object] = msgspec.structs.replace(
            nodes[node_object], spec=msgspec.structs.replace(spec, taints=taints)
        )
    return replace(made, nodes=nodes)


def mask(made: Snapshot, chosen: list[int]) -> Any:
    answer = np.zeros(len(made.nodes), dtype=np.bool_)
    answer[chosen] = True
    return answer


def shares(model: SchedulerModel, index: int, steer: Steer | None = None) -> Any:
    landing = model.landing(index, steer)
    found = dict(zip(landing.nodes.tolist(), landing.probabilities.round(12).tolist(), strict=True))
    return found, landing.unschedulable, round(landing.returns, 12), landing.refusal


@settings(max_examples=tries(250))
@given(snapshots(), st.data())
def test_a_steered_pod_lands_as_if_its_own_affinity_said_so(made: Any, data: Any) -> None:
    numbers = st.integers(0, len(made.nodes) - 1)
    chosen = data.draw(st.lists(numbers, min_size=1, max_size=3, unique=True))
    model = SchedulerModel(made)
    bound = [pod for pod in range(len(made.pods)) if made.pod_node[pod] >= 0]
    if bound and data.draw(st.booleans()):
        moved = data.draw(st.sampled_from(bound))
        model.commit(Shift(moved, int(made.pod_node[moved]), data.draw(numbers)))
    else:
        moved = -1
    for index in range(len(made.pods)):
        for require in (False, True):
            told = SchedulerModel(with_affinity(made, index, chosen, require=require))
            if moved >= 0:
                told.commit(
                    Shift(moved, int(made.pod_node[moved]), int(model.occupancy.where[moved]))
                )
            steer = Steer.to_nodes(chosen, len(made.nodes), require=require)
            assert shares(model, index, steer) == shares(told, index)
        assert shares(model, index) == shares(model, index, Steer())


@settings(max_examples=tries(120))
@given(snapshots(), st.data())
def test_taints_steer_as_if_the_nodes_bore_them(made: Any, data: Any) -> None:
    numbers = st.integers(0, len(made.nodes) - 1)
    chosen = data.draw(st.lists(numbers, min_size=1, max_size=3, unique=True))
    model, told = SchedulerModel(made), SchedulerModel(with_taints(made, chosen))
    for index in range(len(made.pods)):
        steer = Steer(tainted=mask(made, chosen))
        assert shares(model, index, steer) == shares(told, index)


def many(count: int, **spec: Any) -> Snapshot:
    web, web_set = deployment("web")
    nodes = [node(f"n{number:03}", zone="abc"[number % 3]) for number in range(count)]
    first = pod("web-0", "n000", owner=web_set, labels={"app": "web"}, **spec)
    others = [
        pod(f"o-{number}", f"n{number:03}", requests={"cpu": f"{number % 7 * 500}m"})
        for number in range(count)
    ]
    return snapshot(nodes, [first, *others], controllers=[web, web_set])


def test_a_taint_that_a_run_has_left_counts_once() -> None:
    """No node bears the same taint twice, so that all of them are alike here."""
    everywhere = list(range(12))
    left = SchedulerModel(with_taints(many(12), everywhere[:11]))
    told = SchedulerModel(with_taints(many(12), everywhere))
    assert shares(left, 0, Steer(tainted=mask(many(12), everywhere))) == shares(told, 0)


@pytest.mark.parametrize("count", [99, 240])
@pytest.mark.parametrize("require", [False, True])
def test_where_the_scheduler_samples_its_windows_are_the_same(count: int, require: bool) -> None:
    zone = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone"}
    spread = {**zone, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    for spec in ({}, {"topologySpreadConstraints": [spread]}):
        made = many(count, **spec)
        chosen = [5, 6, count - 1]
        told = SchedulerModel(with_affinity(made, 0, chosen, require=require))
        model = SchedulerModel(made)
        steer = Steer.to_nodes(chosen, len(made.nodes), require=require)
        assert shares(model, 0, steer) == shares(told, 0)


def test_a_preferred_node_is_missed_unsampled_and_a_required_one_is_not() -> None:
    made = many(240)
    model = SchedulerModel(made)
    preferred = model.landing(0, Steer.to_nodes([7, 8], 240, require=False))
    required = model.landing(0, Steer.to_nodes([7, 8], 240, require=True))
    on_it = float(preferred.probabilities[np.isin(preferred.nodes, [7, 8])].sum())
    assert 0.4 < on_it < 0.6, "115 of 240 nodes are sampled"
    assert set(required.nodes.tolist()) <= {7, 8}
    assert required.unschedulable == 0.0
