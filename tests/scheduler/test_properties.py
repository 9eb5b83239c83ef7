from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from rescheduler.kube.objects import Node, Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Landing, Shift
from rescheduler.scheduler.config.default_profile import default_profile
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugins.default_plugins import WEIGHTS
from rescheduler.scheduler.profile import DEFAULT_SCHEDULER
from tests.scheduler.drawn import given
from tests.scheduler.random_clusters import snapshots


def chances(landing: Landing, count: int) -> list[float]:
    answer = np.zeros(count)
    answer[landing.nodes] = landing.probabilities
    return [*answer.round(12).tolist(), landing.unschedulable, round(landing.returns, 12)]


def everything(made: Snapshot, model: SchedulerModel) -> list[Any]:
    count = len(made.nodes)
    return [
        (
            chances(model.landing(pod), count),
            model.landing(pod).rejections,
            model.feasible(pod).tolist(),
        )
        for pod in range(len(made.pods))
    ]


def moved(pod: Pod, node: str) -> Pod:
    return Pod(metadata=pod.metadata, spec=pod.spec, status=pod.status, node=node)


def shifted(made: Snapshot, shifts: Sequence[Shift]) -> Snapshot:
    pods = list(made.pods)
    for shift in shifts:
        pods[shift.pod] = moved(pods[shift.pod], made.nodes[shift.destination].metadata.name)
    return replace(made, pods=pods)


def draw_shifts(data: st.DataObject, made: Snapshot) -> list[Shift]:
    where = made.pod_node.tolist()
    bound = [pod for pod, node in enumerate(where) if node >= 0]
    assume(bound)
    shifts = []
    for _ in range(data.draw(st.integers(1, 4))):
        pod = data.draw(st.sampled_from(bound))
        shift = Shift(pod, where[pod], data.draw(st.integers(0, len(made.nodes) - 1)))
        where[pod] = shift.destination
        shifts.append(shift)
    return shifts


@given(snapshots())
def test_probabilities_sum_to_one_and_stay_on_feasible_nodes(made: Any) -> None:
    model = SchedulerModel(made)
    for pod in range(len(made.pods)):
        landing = model.landing(pod)
        assert landing.refusal is None
        assert np.isclose(landing.probabilities.sum() + landing.unschedulable, 1.0)
        assert (landing.probabilities > 0).all()
        assert (np.diff(landing.probabilities) <= 0).all()
        assert model.feasible(pod)[landing.nodes].all()
        if landing.unschedulable:
            assert sum(landing.rejections.values()) == len(made.nodes)


@given(snapshots(), st.data())
def test_committing_moves_is_building_the_model_of_the_moved_cluster(made: Any, data: Any) -> None:
    model = SchedulerModel(made)
    everything(made, model)  # fills the caches
    shifts = draw_shifts(data, made)
    for shift in shifts:
        model.commit(shift)
    after = shifted(made, shifts)
    assert everything(after, model) == everything(after, SchedulerModel(after))


@given(snapshots(), st.data())
def test_reversed_moves_restore_everything(made: Any, data: Any) -> None:
    model = SchedulerModel(made)
    before = everything(made, model)
    shifts = draw_shifts(data, made)
    for shift in shifts:
        model.commit(shift)
    for shift in reversed(shifts):
        model.commit(shift.shift_back())
    assert everything(made, model) == before


@given(snapshots())
def test_asking_changes_nothing(made: Any) -> None:
    model = SchedulerModel(made)
    assert everything(made, model) == everything(made, model)


@given(snapshots(), st.randoms(use_true_random=False))
def test_the_order_of_the_nodes_does_not_matter(made: Any, random: Any) -> None:
    order = list(range(len(made.nodes)))
    random.shuffle(order)
    other = replace(made, nodes=[made.nodes[number] for number in order])
    one, two = SchedulerModel(made), SchedulerModel(other)
    for pod in range(len(made.pods)):
        mine = chances(one.landing(pod), len(order))
        theirs = chances(two.landing(pod), len(order))
        assert [mine[number] for number in order] == theirs[: len(order)]
        assert mine[len(order) :] == theirs[len(order) :]


@given(snapshots())
def test_equal_content_needs_no_shared_structs(made: Any) -> None:
    copies = [msgspec.convert(msgspec.to_builtins(pod), Pod) for pod in made.pods]
    assert everything(made, SchedulerModel(made)) == everything(
        made, SchedulerModel(replace(made, pods=copies))
    )


@given(snapshots(), st.data())
def test_more_room_on_a_node_never_makes_it_infeasible(made: Any, data: Any) -> None:
    lucky = data.draw(st.integers(0, len(made.nodes) - 1))
    nodes = list(made.nodes)
    chosen = nodes[lucky]
    room = {"cpu": "64", "memory": "256Gi", "pods": "200"}
    nodes[lucky] = msgspec.structs.replace(
        chosen, status=msgspec.structs.replace(chosen.status, allocatable=room)
    )
    before, after = SchedulerModel(made), SchedulerModel(replace(made, nodes=nodes))
    for pod in range(len(made.pods)):
        assert after.feasible(pod)[lucky] or not before.feasible(pod)[lucky]


def renamed(made: Snapshot) -> Snapshot:
    """The same cluster under other names of nodes, which sort the other way round."""
    names = {
        node_object.metadata.name: f"z{9 - number}" for number, node_object in enumerate(made.nodes)
    }

    def node(node_object: Node) -> Node:
        labels = {
            **(node_object.metadata.labels or {}),
            "kubernetes.io/hostname": names[node_object.metadata.name],
        }
        metadata = msgspec.structs.replace(
            node_object.metadata, name=names[node_object.metadata.name], labels=labels
        )
        return msgspec.structs.replace(node_object, metadata=metadata)

    pods = [moved(pod, names[pod.node]) if pod.node else pod for pod in made.pods]
    return replace(made, nodes=[node(node_object) for node_object in made.nodes], pods=pods)


@given(snapshots())
def test_the_names_of_the_nodes_do_not_matter(made: Any) -> None:
    other = renamed(made)
    assert everything(made, SchedulerModel(made)) == everything(other, SchedulerModel(other))


@given(snapshots(), st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.integers(1, 100)))
def test_a_filter_never_depends_on_a_score(made: Any, weights: Any) -> None:
    usual = SchedulerModel(made)
    odd = SchedulerModel(
        made, {DEFAULT_SCHEDULER: replace(default_profile("v1.36.3"), weights=weights)}
    )
    for pod in range(len(made.pods)):
        assert usual.feasible(pod).tolist() == odd.feasible(pod).tolist()
        assert usual.landing(pod).rejections == odd.landing(pod).rejections
        assert usual.landing(pod).unschedulable == odd.landing(pod).unschedulable
