"""What else changes between a move and its measuring is not taken for the move's effect."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from rescheduler.kube.objects import Pod
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.move_groups import PATIENCE
from tests.cluster import controller, pod
from tests.planning.measure.disturbances import POD, gain, unknown
from tests.planning.measure.laboratory import Laboratory


def test_nothing_is_measured_before_the_windows_have_passed() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    lab.wait(8)  # 5 minutes of window, values of up to 3 minutes of age, 1 minute to settle
    assert not lab.measure().changed
    lab.wait(1)
    assert lab.measure().changed
    assert gain(move) > 0.3


def workload(of: Pod) -> str:
    (owner,) = of.metadata.ownerReferences or []
    return owner.uid


def test_growth_of_the_moved_workload_is_seen_in_its_other_pods() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    for pod_object in lab.pods:
        if workload(pod_object) == workload(lab.pods[0]):
            lab.use[pod_object.metadata.uid] = 1.5
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, rel=0.2)


def test_growth_of_a_pod_without_others_would_have_come_in_any_case() -> None:
    lab = Laboratory()
    lone = controller("ReplicaSet", "lone", replicas=1)
    lab.controllers.append(lone)
    lab.pods[0] = pod("p0-0", "n0", owner=lone)
    move = lab.move(POD, "n12")
    lab.use[move.replacement] = 2.0
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, rel=0.1)


def test_pods_that_came_since_would_have_come_in_any_case() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    for number in range(2):
        new = pod(f"new-{number}", "n0", owner=lab.controllers[5])
        metadata = structs.replace(new.metadata, creationTimestamp=lab.now + timedelta(minutes=1))
        lab.pods.append(structs.replace(new, metadata=metadata))
        lab.use[new.metadata.uid] = 0.3
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_workload_that_is_scaled_shares_its_load_among_more_or_fewer(factor: float) -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    theirs = [pod for pod in lab.pods if workload(pod) == workload(lab.pods[0])]
    for number, their in enumerate(theirs):
        lab.use[their.metadata.uid] = factor
        if factor < 1:
            added = pod(f"scaled-{number}", "n23", owner=lab.controllers[0])
            metadata = structs.replace(added.metadata, creationTimestamp=lab.now)
            lab.pods.append(structs.replace(added, metadata=metadata))
            lab.use[added.metadata.uid] = factor
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.15)


@pytest.mark.parametrize("missing", ["node.cpu", "pod.cpu"])
def test_missing_metrics_are_waited_for(missing: str) -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    lab.wait()
    lab.missing = (missing,)
    for _ in range(3):
        assert not lab.measure().changed
        lab.wait(60)
    lab.missing = ()
    assert lab.measure().changed
    assert gain(move) > 0.3


def test_missing_metrics_are_not_waited_for_for_ever_and_count_for_nothing() -> None:
    lab = Laboratory(missing=())
    move = lab.move(POD, "n12")
    lab.missing = ("node.cpu",)
    lab.wait(9 + PATIENCE.total_seconds() / 60)
    assert not lab.measure().changed
    lab.wait(1)
    assert lab.measure().changed
    assert "node.cpu" in unknown(move)
    assert lab.history.gains == []
    assert lab.history.baselines == []
    lab.missing = ()
    assert not lab.measure().changed, "it is given up for good"


def test_a_node_that_reports_nothing_any_more_holds_its_moves_up() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    lab.wait()
    seen = lab.snapshot()
    values = seen.readings.entries[0].values
    values[12] = float("nan")
    seen.readings.entries[0].ages[12] = float("nan")
    lab.snapshot = lambda *_, **__: replace(seen, taken=lab.now)  # type: ignore[method-assign]
    assert not lab.measure().changed
    assert move.gain is None


def test_a_replacement_that_is_gone_or_elsewhere_cannot_be_measured() -> None:
    lab = Laboratory()
    gone, again = lab.move(POD, "n12"), lab.move("pod-default-p1-0", "n13")
    at = {pod.metadata.uid: number for number, pod in enumerate(lab.pods)}
    lab.pods[at[again.replacement]] = structs.replace(lab.pods[at[again.replacement]], node="n20")
    del lab.pods[at[gone.replacement]]
    lab.wait()
    lab.measure()
    assert "is gone" in unknown(gone)
    assert "not on node n13" in unknown(again)
    assert lab.history.gains == []


def test_a_move_that_was_lost_leaves_the_others_of_its_nodes_measurable() -> None:
    lab = Laboratory()
    lost, kept = lab.move_together([(POD, "n12"), ("pod-default-p0-1", "n13")])
    lost.state, lost.landedOn = "lost", ""
    del lab.pods[next(n for n, p in enumerate(lab.pods) if p.metadata.uid == lost.replacement)]
    truth = lab.truth([kept])
    lab.wait()
    lab.measure()
    assert "Ready in time" in unknown(lost)
    assert gain(kept) == pytest.approx(truth, rel=0.1)


def test_a_group_waits_for_the_last_of_its_moves() -> None:
    lab = Laboratory()
    first = lab.move(POD, "n12")
    lab.wait(8)
    second = lab.move("pod-default-p1-0", "n12")
    lab.wait(5)
    assert not lab.measure().changed, "the second one's window has not passed"
    truth = lab.truth([first, second])
    lab.wait(5)
    lab.measure()
    assert gain(first) + gain(second) == pytest.approx(truth, rel=0.02)


def test_an_unexpected_landing_is_measured_by_what_the_pod_takes_there() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n14", expected={"n12": 0.5, "n13": 0.5})
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, rel=0.01)


def test_an_eviction_without_a_baseline_is_not_measured() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    lab.history.baselines.clear()
    lab.wait()
    lab.measure()
    assert "not kept" in unknown(move)


def test_a_policy_that_is_gone_is_not_measured() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    lab.policies = []
    lab.wait()
    lab.measure()
    assert "no policy" in unknown(move)


def test_where_no_other_node_shows_the_trend_nothing_is_claimed() -> None:
    lab = Laboratory()
    lab.nodes = lab.nodes[:1] + lab.nodes[12:13]
    lab.pods = [pod for pod in lab.pods if pod.node in ("n0", "n12")]
    lab.base = {"n0": 1.2, "n12": 1.2}
    move = lab.move(POD, "n12")
    lab.wait()
    lab.measure()
    assert "too few other nodes that the policy selects have" in unknown(move)


def test_each_group_gets_what_happened_on_its_own_nodes() -> None:
    lab = Laboratory()
    helped, stuck = lab.move(POD, "n12"), lab.move("pod-default-p1-0", "n13")
    lab.base["n1"] += 1.0  # the node that the second one left stays as hot as it was
    lab.wait()
    lab.measure()
    assert gain(helped) == pytest.approx(1.0, rel=0.1)
    assert gain(stuck) == pytest.approx(0.0, abs=0.1)


def test_moves_of_before_a_demotion_do_not_count_on_probation() -> None:
    lab = Laboratory(sticks=True)
    lab.rounds(9)
    tenth, late = lab.move("pod-default-p9-0", "n21"), lab.move("pod-default-p10-0", "n22")
    lab.wait(4)
    late.settled = lab.now  # its replacement was Ready later
    lab.wait(6)
    assert list(lab.measure().demoted) == ["even"]
    assert tenth.gain is not None
    assert late.gain is None
    lab.wait()
    lab.measure()
    assert gain(late) == pytest.approx(0.0, abs=0.05)
    assert lab.history.gains_of("even").pairs == []


def test_a_baseline_shrinks_to_the_nodes_that_a_batch_touched() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12", expected={f"n{number}": 1 / 12 for number in range(12, 24)})
    (kept,) = lab.history.baselines
    assert len(kept.nodes["node.cpu/300"]) == 13
    lab.history.trim_baselines()
    assert set(kept.nodes["node.cpu/300"]) == {"n0", "n12"}
    truth = lab.truth([move])
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, rel=0.01)
    assert lab.history.baselines == []


def test_a_baseline_counts_moves_that_its_windows_have_not_seen() -> None:
    lab = Laboratory()
    seen = lab.snapshot()  # a windowed reading still shows what left a moment ago
    lab.move(POD, "n12")
    seen = replace(seen, pods=lab.pods)
    planned = lab._planned("pod-default-p0-1", "n13", {"n13": 1.0}, seen)
    found = baseline_of(seen, lab.history, [planned], "plan", lab.policies)
    assert found.nodes["node.cpu/300"]["n0"] == pytest.approx((7.2 - 1.0) / 8, abs=0.01)


def test_a_batch_begun_again_keeps_the_readings_of_before_its_first_move() -> None:
    lab = Laboratory()
    move = lab.move(POD, "n12")
    truth = lab.truth([move])
    again = lab._planned("pod-default-p0-1", "n13", {"n13": 1.0}, lab.snapshot())
    lab.history.begin(baseline_of(lab.snapshot(), lab.history, [again], "plan", lab.policies))
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, rel=0.01)


@pytest.mark.parametrize("size", [8, 4, 1])
def test_nodes_of_other_moves_are_no_control(size: int) -> None:
    lab = Laboratory(sticks=True)
    pairs = [(f"pod-default-p{number}-0", f"n{12 + number}") for number in range(8)]
    moves: list[PastMove] = []
    for first in range(0, len(pairs), size):
        moves += lab.move_together(pairs[first : first + size])
        lab.wait(6)  # its window has passed, but it is not measured yet
    lab.wait()
    lab.measure()
    assert [gain(move) for move in moves] == pytest.approx([0.0] * 8, abs=0.02)


def test_where_moves_touch_every_node_nothing_is_claimed() -> None:
    lab = Laboratory(sticks=True)
    pairs = [(f"pod-default-p{number}-0", f"n{12 + number}") for number in range(12)]
    moves = lab.move_together(pairs)
    lab.wait()
    lab.measure()
    for move in moves:
        assert "too few other nodes" in unknown(move)


COLD, WARM = (22, 23), (10, 11)
"""Of each two nodes that no move touches."""


@pytest.mark.parametrize("silent", [COLD, WARM])
@pytest.mark.parametrize("sticks", [False, True])
def test_nodes_that_had_no_value_before_are_no_change(
    silent: tuple[int, ...], sticks: bool
) -> None:
    lab = Laboratory(sticks=sticks)
    lab.silent = silent
    move = lab.move("pod-default-p0-0", "n12")
    lab.wait()
    lab.silent = ()
    lab.measure()
    assert move.gain is not None
    assert move.gain.measured["even"] == pytest.approx(lab.truth([move]), abs=0.01)


@pytest.mark.parametrize("silent", [COLD, WARM])
@pytest.mark.parametrize("sticks", [False, True])
def test_nodes_that_have_no_value_now_are_waited_for(silent: tuple[int, ...], sticks: bool) -> None:
    lab = Laboratory(sticks=sticks)
    move = lab.move("pod-default-p0-0", "n12")
    lab.wait()
    lab.silent = silent
    lab.measure()
    assert move.unmeasured
    lab.wait()
    lab.silent = ()
    lab.measure()
    assert move.gain is not None
    assert move.gain.measured["even"] == pytest.approx(lab.truth([move]), abs=0.01)


def test_nodes_that_stay_without_a_value_are_not_waited_for_for_ever() -> None:
    lab = Laboratory()
    move = lab.move("pod-default-p0-0", "n12")
    lab.silent = COLD
    lab.wait(minutes=24 * 60)
    lab.measure()
    assert move.gain is not None
    assert "2 other nodes that had it before the move" in move.gain.problem
    assert move.gain.measured == {}


@pytest.mark.parametrize("silent", [COLD, WARM])
def test_the_change_is_not_followed_over_batches_of_others(
    silent: tuple[int, ...],
) -> None:
    lab = Laboratory(sticks=True)
    first = lab.move("pod-default-p0-0", "n12")
    lab.wait()
    lab.silent = silent
    second = lab.move("pod-default-p1-0", "n13")
    lab.wait()
    lab.silent = ()
    lab.measure()
    assert first.gain is not None
    assert first.gain.measured == {}, "of the nodes of the second nothing is known from before"
    assert second.gain is not None
    assert second.gain.measured["even"] == pytest.approx(0.0, abs=0.01)


def test_a_few_of_many_without_a_value_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rescheduler.planning.measure.trends._MOST_OTHERS", 0.1)
    lab = Laboratory()
    move = lab.move("pod-default-p0-0", "n12")
    lab.wait()
    lab.silent = COLD[:1]
    lab.measure()
    assert move.gain is not None
    assert move.gain.measured["even"] == pytest.approx(1.0, abs=0.2)


def test_where_too_many_had_no_value_before_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rescheduler.planning.measure.baseline._MOST_ABSENT", 1)
    lab = Laboratory(silent=COLD)
    move = lab.move("pod-default-p0-0", "n12")
    lab.wait()
    lab.measure()
    assert move.gain is not None
    assert "how it changed by itself is not known" in move.gain.problem
    assert move.gain.measured == {}
