"""Pods that end or come by themselves on the nodes of a move are not taken for its effect."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from rescheduler.documents.label_selector import Selector
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.churn import by_itself, ended_usage, pods_then
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.utilization.targets import PressedTarget, Targets
from tests.cases import every
from tests.cluster import NOW, deployment, node, pod, snapshot
from tests.planning.measure.laboratory import EVEN, HOT, NODES, Laboratory

LATER = NOW + timedelta(hours=1)


def gain(move: PastMove) -> float:
    assert move.gain is not None
    assert move.gain.problem == ""
    return move.gain.measured["even"]


def end(lab: Laboratory, *uids: str) -> None:
    lab.pods = [pod for pod in lab.pods if pod.metadata.uid not in uids]


def come(lab: Laboratory, name: str, to: str, use: float, workload: int = 7) -> None:
    """A pod of that workload, a minute from now."""
    new = pod(name, to, owner=lab.controllers[workload])
    made = structs.replace(new.metadata, creationTimestamp=lab.now + timedelta(minutes=1))
    lab.pods.append(structs.replace(new, metadata=made))
    lab.use[new.metadata.uid] = use


def small(lab: Laboratory, count: int) -> list[str]:
    """So many pods of 0.05 cores on n0, which were part of what it uses besides."""
    added = [pod(f"s{number}", "n0", owner=lab.controllers[9]) for number in range(count)]
    lab.pods += added
    lab.use |= {pod.metadata.uid: 0.05 for pod in added}
    lab.base["n0"] -= 0.05 * count
    return [pod.metadata.uid for pod in added]


@pytest.mark.parametrize("trimmed", [False, True])
@pytest.mark.parametrize("sticks", [False, True])
def test_pods_that_end_on_the_source_are_no_gain(sticks: bool, trimmed: bool) -> None:
    lab = Laboratory(sticks=sticks)
    move = lab.move("pod-default-p0-0", "n12")
    if trimmed:
        lab.history.trim_baselines()
    end(lab, "pod-default-p0-3", "pod-default-p0-4")
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


def test_a_policy_is_demoted_though_pods_end_wherever_it_acts() -> None:
    lab = Laboratory(sticks=True)
    found = lab.rounds(10, lambda n: end(lab, f"pod-default-p{n}-3", f"pod-default-p{n}-4"))
    assert list(found[-1].demoted) == ["even"]


@pytest.mark.parametrize("sticks", [False, True])
def test_many_small_pods_that_end_are_no_gain(sticks: bool) -> None:
    lab = Laboratory(sticks=sticks)
    added = small(lab, 20)
    move = lab.move("pod-default-p0-0", "n12")
    end(lab, *added[:15])
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("sticks", [False, True])
def test_pods_that_end_everywhere_are_taken_out_once(sticks: bool) -> None:
    lab = Laboratory(sticks=sticks)
    move = lab.move("pod-default-p0-0", "n12")
    end(lab, *(f"pod-default-p{number}-3" for number in range(HOT)))
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.1)


@pytest.mark.parametrize("sticks", [False, True])
def test_pods_that_come_everywhere_are_added_once(sticks: bool) -> None:
    lab = Laboratory(sticks=sticks)
    move = lab.move("pod-default-p0-0", "n12")
    for number in range(HOT):
        come(lab, f"new-{number}", f"n{number}", 0.5)
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.1)


@pytest.mark.parametrize("workload", [0, 3])
def test_a_pod_that_is_made_anew_on_its_node_changes_nothing(workload: int) -> None:
    """Be it of the workload of the moved pod or of another."""
    lab = Laboratory()
    move = lab.move("pod-default-p0-0", "n12")
    end(lab, "pod-default-p0-3")
    come(lab, "again", "n0", 1.0, workload)
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("sticks", [False, True])
def test_pods_that_were_made_anew_right_before_are_in_the_window_in_part(sticks: bool) -> None:
    """A minute before, of a window of five: the rest of it shows the pods before them."""
    lab = Laboratory(sticks=sticks)
    move = lab.move("pod-default-p0-0", "n12")
    truth = lab.truth([move])
    lab.wait()
    for number in range(3, 6):
        end(lab, f"pod-default-p0-{number}")
        come(lab, f"again-{number}", "n0", 0.2, number)
        old = structs.replace(
            lab.pods[-1].metadata, creationTimestamp=lab.now - timedelta(seconds=70)
        )
        lab.pods[-1] = structs.replace(lab.pods[-1], metadata=old)
        lab.base["n0"] += 0.8
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.2)


def test_what_was_moved_itself_has_not_ended() -> None:
    lab = Laboratory()
    first = lab.move("pod-default-p0-0", "n12")
    second = lab.move("pod-default-p0-1", "n13")
    truth = lab.truth([first, second])
    lab.wait()
    lab.measure()
    assert gain(first) + gain(second) == pytest.approx(truth, abs=0.02)


def test_what_was_moved_before_is_not_kept_as_if_it_were_there() -> None:
    lab = Laboratory()
    leaving = lab.pods[0]
    lab.move("pod-default-p0-0", "n12")
    gone = structs.replace(leaving.metadata, deletionTimestamp=lab.now)
    lab.pods.append(structs.replace(leaving, metadata=gone))
    lab.move("pod-default-p0-1", "n13")
    assert len(lab.history.baselines[0].pods["pod.cpu/300"]["n0"].largest) == 6
    assert len(lab.history.baselines[1].pods["pod.cpu/300"]["n0"].largest) == 5


def test_of_nodes_that_it_does_not_reach_no_pods_are_kept() -> None:
    lab = Laboratory()
    lab.move("pod-default-p0-0", "n12", expected={f"n{number}": 1 / 12 for number in range(12, 24)})
    (kept,) = lab.history.baselines
    assert set(kept.pods["pod.cpu/300"]) == {"n0", "n12", "n13", "n14"}
    lab.history.trim_baselines()
    assert set(kept.pods["pod.cpu/300"]) == {"n0", "n12"}


def test_a_pod_that_starts_right_then_has_not_ended() -> None:
    lab = Laboratory()
    small(lab, 20)
    starting = [f"start-{number}" for number in range(5)]
    for name in starting:
        come(lab, name, "n0", 0.1)
        old = structs.replace(lab.pods[-1].metadata, creationTimestamp=lab.now - timedelta(hours=1))
        waits = structs.replace(lab.pods[-1].status, phase="Pending", startTime=None)
        lab.pods[-1] = structs.replace(lab.pods[-1], metadata=old, status=waits)
        lab.use[lab.pods[-1].metadata.uid] = 0.0
    move = lab.move("pod-default-p0-0", "n12")
    for number in range(-5, 0):
        runs = structs.replace(
            lab.pods[number].status, phase="Running", startTime=lab.now + timedelta(seconds=9)
        )
        lab.pods[number] = structs.replace(lab.pods[number], status=runs)
        lab.use[lab.pods[number].metadata.uid] = 0.1
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


def test_pods_are_kept_also_for_policies_that_a_later_batch_is_for() -> None:
    memory = EVEN.model_copy(
        update={"name": "other", "targets": Targets(memory=PressedTarget(high=0.7, low=0.6))}
    )
    lab = Laboratory(policies=[EVEN, memory], sticks=True)
    first = lab.move("pod-default-p0-0", "n12")
    planned = lab._planned("pod-default-p0-1", "n13", {"n13": 1.0}, lab.snapshot())
    planned = structs.replace(planned, gains={"other": 1.0})
    kept = baseline_of(lab.snapshot(), lab.history, [planned], "p", lab.policies)
    assert first.gains
    assert set(kept.pods) == {"pod.cpu/300", "pod.memory/300"}


def on_one_node(count: int) -> Snapshot:
    made = [pod(f"p{number}", "n0") for number in range(count)]
    return snapshot([node("n0")], made, controllers=deployment("web"))


def without(seen: Snapshot, gone: set[int]) -> Snapshot:
    pods: list[Pod] = [pod for number, pod in enumerate(seen.pods) if number not in gone]
    return snapshot(seen.nodes, pods, controllers=seen.controllers)


@given(
    uses=st.lists(st.sampled_from([0.05, 0.5, 1.0, 4.0, float("nan")]), min_size=1, max_size=40),
    data=st.data(),
)
def test_what_has_ended_is_known(uses: list[float], data: st.DataObject) -> None:
    seen = on_one_node(len(uses))
    kept = pods_then(np.array(uses), {"n0": 0}, set(), seen).get("n0")
    assert kept is not None
    gone = data.draw(st.sets(st.integers(0, len(uses) - 1)))
    moved = data.draw(st.sets(st.sampled_from(sorted(gone)))) if gone else set()
    known = np.nan_to_num(np.array(uses))
    ours = [(seen.pods[number].metadata.uid, float(known[number])) for number in moved]
    found = ended_usage(kept, 0, NOW, ours, without(seen, gone))
    truth = float(known[sorted(gone - moved)].sum())
    rest = [float(use) for use in np.sort(known)[: kept.count]]
    if not kept.count or len(set(rest)) == 1:
        assert found == pytest.approx(truth, rel=0.01)
    else:  # of the small ones only the mean is known
        assert abs(found - truth) <= sum(rest) + 0.01 * truth
    assert ended_usage(kept, 0, NOW, [], seen) == 0.0


def test_a_pod_that_waited_for_a_node_came_when_it_got_one() -> None:
    seen = on_one_node(3)
    kept = pods_then(np.array([1.0, 0.01, 0.01]), {"n0": 0}, set(), seen)["n0"]
    late = structs.replace(pod("late", "n0").status, startTime=LATER)
    new = structs.replace(pod("late", "n0"), status=late)
    after = snapshot(seen.nodes, [*seen.pods[:2], new], controllers=seen.controllers)
    assert ended_usage(kept, 0, NOW, [], after) == pytest.approx(0.01)


@every(
    [
        (1.0, 0.0, 0.0, 0.0, 4.0),
        (0.5, 0.0, 1.0, 0.0, 1.5),  # what stays falls as elsewhere
        (0.5, 0.0, 1.0, 0.5, 3.0),  # elsewhere pods have ended, too, and what stays is as it was
        (0.5, 0.0, 1.0, 0.75, 3.0),
        (0.5, 0.0, 1.0, 0.25, 2.25),
        (0.5, 1.0, 0.0, -0.5, 3.0),  # more pods are no reason for a fall
        (1.5, 1.0, 0.0, 0.0, 7.0),
        (1.5, 1.0, 0.0, -0.5, 5.0),
        (1.5, 1.0, 0.0, -0.75, 5.0),
        (1.5, 0.0, 1.0, 0.5, 4.5),
    ]
)
def test_the_change_of_others_and_of_its_own_pods(
    trend: float, came: float, gone: float, fewer: float, expected: float
) -> None:
    assert by_itself(4.0, trend, came, gone, fewer) == pytest.approx(expected)


@pytest.mark.parametrize("sticks", [False, True])
def test_pods_that_end_on_the_source_while_load_falls_everywhere(sticks: bool) -> None:
    lab = Laboratory(sticks=sticks)
    move = lab.move("pod-default-p0-0", "n12")
    end(lab, "pod-default-p0-3", "pod-default-p0-4")
    lab.scale = 0.9
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.1)


@pytest.mark.parametrize("sticks", [False, True])
def test_pods_of_other_nodes_than_the_policy_selects_do_not_matter(sticks: bool) -> None:
    own = EVEN.model_copy(update={"nodes": NodeMatch(labels=Selector(matchLabels={"pool": "gpu"}))})
    lab = Laboratory(policies=[own], sticks=sticks, web=True)
    move = lab.move("pod-default-p0-0", "n12")
    for number in range(NODES):
        come(lab, f"web-{number}", f"web{number}", 0.0)
    end(lab, "pod-default-p0-3")
    lab.scale = 0.95
    truth = lab.truth([move], own)
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.1)


@pytest.mark.parametrize("sticks", [False, True])
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("hot", [False, True])
def test_nodes_that_are_removed_are_no_change_of_the_others(
    sticks: bool, count: int, hot: bool
) -> None:
    """Cold ones, whose pods go to others, or hot ones, whose pods end."""
    lab = Laboratory(sticks=sticks)
    move = lab.move("pod-default-p0-0", "n12")
    gone = {f"n{(HOT if hot else NODES) - 1 - number}" for number in range(count)}
    lab.nodes = [node for node in lab.nodes if node.metadata.name not in gone]
    there = [pod for pod in lab.pods if pod.node in gone]
    end(lab, *(pod.metadata.uid for pod in there))
    for number, pod_object in enumerate(() if hot else there):
        come(lab, f"again-{number}", f"n{int(pod_object.node[1:]) - 8}", 1.0)
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize("sticks", [False, True])
def test_pods_that_new_nodes_take_over_are_no_fall_of_load(sticks: bool) -> None:
    lab = Laboratory(sticks=sticks)
    move = lab.move("pod-default-p0-0", "n12")
    made = node("new", labels={"pool": "gpu"})
    made.metadata.creationTimestamp = lab.now + timedelta(minutes=1)
    lab.nodes.append(made)
    lab.base["new"] = 1.2
    ended = [f"pod-default-p{number}-5" for number in range(1, 5)]
    end(lab, *ended)
    for number in range(16):
        come(lab, f"again-{number}", "new", 1.0 if number < 4 else 0.0, 1 + number % 11)
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.05)
