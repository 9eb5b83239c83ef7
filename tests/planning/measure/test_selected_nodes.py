"""Load is compared among the nodes that a policy selects; what others do says nothing."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from msgspec import structs

from rescheduler.documents.label_selector import Selector
from rescheduler.model.cluster.readings import Readings
from rescheduler.model.moves.gains import Gain
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.policies.base import NodeMatch
from tests.cluster import node
from tests.planning.measure.disturbances import POD, gain, unknown
from tests.planning.measure.laboratory import EVEN, Laboratory

GPU = EVEN.model_copy(update={"nodes": NodeMatch(labels=Selector(matchLabels={"pool": "gpu"}))})


@pytest.mark.parametrize("share", [0.6, 0.75, 1.3, 1.6])
@pytest.mark.parametrize("sticks", [False, True])
@pytest.mark.parametrize("batches", [1, 3])
def test_changes_on_nodes_that_the_policy_does_not_select_say_nothing(
    share: float, sticks: bool, batches: int
) -> None:
    lab = Laboratory(policies=[GPU], web=True, sticks=sticks)
    moves = []
    for number in range(batches):
        moves.append(lab.move(f"pod-default-p{number}-0", f"n{12 + number}"))
        for name in lab.base:
            if name.startswith("web"):
                lab.base[name] *= share ** (1 / batches)
        lab.wait(6)
    truth = lab.truth(moves, GPU)
    assert truth == pytest.approx(0.0 if sticks else batches, abs=0.15)
    lab.wait()
    lab.measure()
    assert sum(map(gain, moves)) == pytest.approx(truth, abs=0.02)


def test_a_node_that_is_gone_may_have_been_of_the_policy() -> None:
    lab = Laboratory(policies=[GPU], web=True)
    away = lab.move("pod-default-p5-0", "n17")
    lab.wait(1)
    move = lab.move(POD, "n12")
    _, late = lab.history.baselines
    for values in late.nodes.values():
        del values["n5"], values["n17"]  # the one will be gone, the other is selected now
    lab.nodes = [node for node in lab.nodes if node.metadata.name not in ("n5", "n4", "n6")]
    lab.pods = [pod for pod in lab.pods if pod.node not in ("n5", "n4", "n6")]
    lab.wait()
    lab.measure()
    assert away.gain is not None
    assert len(late.selected) == 1
    assert "too few other nodes" in unknown(move)


# kept: whether the values of those nodes from then are known.
@pytest.mark.parametrize("kept", [True, False])
def test_moves_on_nodes_that_the_policy_does_not_select_do_not_matter(kept: bool) -> None:
    lab = Laboratory(policies=[GPU], web=True)
    pairs = [(f"web{number}", f"web{number + 1}") for number in range(0, 6, 2)]
    apart = lab.move("pod-default-p5-0", "n17")
    lab.wait(1)
    elsewhere = [structs.replace(apart, source=a, landedOn=b, gains={}) for a, b in pairs]
    lab.history.moves += elsewhere
    for name in {name for pair in pairs for name in pair}:
        lab.base[name] = 7.5
    move = lab.move(POD, "n12")
    if not kept:
        for values in lab.history.baselines[-1].nodes.values():
            for name in {name for pair in pairs for name in pair}:
                values.pop(name, None)
    lab.history.moves = [past_move for past_move in lab.history.moves if past_move not in elsewhere]
    lab.history.moves += [
        structs.replace(past_move, gain=Gain(at=lab.now)) for past_move in elsewhere
    ]
    truth = lab.truth([move], GPU)
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


def test_a_policy_that_selects_other_nodes_now_is_not_measured_by_old_ones() -> None:
    lab = Laboratory(policies=[GPU], web=True)
    move = lab.move(POD, "n12")
    web = NodeMatch(labels=Selector(matchLabels={"pool": "web"}))
    lab.policies = [GPU.model_copy(update={"nodes": web})]
    lab.wait()
    lab.measure()
    assert "too few other nodes" in unknown(move)


def test_a_batch_without_values_of_the_policys_nodes_is_passed_over() -> None:
    lab = Laboratory(policies=[GPU], web=True)
    move = lab.move(POD, "n12")
    truth = lab.truth([move], GPU)
    lab.wait(1)
    batch = lab._planned("pod-default-p3-0", "n15", {"n15": 1.0}, lab.snapshot())
    seen = lab.snapshot()
    on_gpu = np.array([node.metadata.name.startswith("n") for node in lab.nodes])
    entries = []
    for reading in seen.readings.entries:  # the exporters of the policy's nodes do not answer
        away = (
            on_gpu if reading.request.subject == "node" else np.ones(len(seen.pods), dtype=np.bool_)
        )
        ages = np.where(away, np.nan, reading.ages)
        entries.append(replace(reading, values=np.where(away, np.nan, reading.values), ages=ages))
    blind = replace(seen, readings=Readings(tuple(entries)))
    lab.history.begin(baseline_of(blind, lab.history, [batch], "other", lab.policies))
    assert all(not theirs.totals for theirs in lab.history.baselines[-1].selected.values())
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize(
    ("names", "pool"), [(("web0", "web1", "web2"), "gpu"), (("n20", "n21", "n22"), "web")]
)
@pytest.mark.parametrize("later", [False, True])
def test_where_other_nodes_are_selected_than_before_nothing_is_claimed(
    names: tuple[str, ...], pool: str, later: bool
) -> None:
    lab = Laboratory(policies=[GPU], web=True)
    move = lab.move(POD, "n12")
    if later:
        lab.wait(1)
        lab.move("pod-default-p1-0", "n13")
    for node_object in lab.nodes:
        if node_object.metadata.name in names:
            node_object.metadata.labels = {"pool": pool}
    lab.wait()
    lab.measure()
    assert unknown(move) == ("policy even: the policy selects other nodes than before the move")


def test_nodes_that_came_or_went_since_are_no_other_selection() -> None:
    lab = Laboratory(policies=[GPU], web=True)
    move = lab.move(POD, "n12")
    lab.nodes = [node for node in lab.nodes if node.metadata.name not in ("n22", "web3")]
    lab.pods = [pod for pod in lab.pods if pod.node != "n22"]
    for name in ("new0", "new1"):
        made = node(name, labels={"pool": "gpu"})
        made.metadata.creationTimestamp = lab.now + timedelta(minutes=1)
        lab.nodes.append(made)
        lab.base[name] = 7.9
    truth = lab.truth([move], GPU)
    lab.wait()
    lab.measure()
    # The load of the node that has gone counted before.
    assert gain(move) == pytest.approx(truth, abs=0.1)


def test_what_one_policy_cannot_tell_keeps_no_other_from_being_measured() -> None:
    other = GPU.model_copy(update={"name": "other"})
    lab = Laboratory(policies=[EVEN, other], web=True)
    move = lab.move(POD, "n12")
    truth = lab.truth([move])
    web = NodeMatch(labels=Selector(matchLabels={"pool": "web"}))
    lab.policies = [EVEN, other.model_copy(update={"nodes": web})]
    lab.wait()
    lab.measure()
    assert move.gain is not None
    assert move.gain.measured == {"even": pytest.approx(truth, abs=0.02)}
    assert move.gain.problem.startswith("policy other: too few other nodes")
    assert [record.policy for record in lab.history.gains if record.pairs] == ["even"]


def test_selections_are_kept_for_policies_whose_moves_are_measured_by_them() -> None:
    lab = Laboratory(policies=[GPU], web=True)
    seen = lab.snapshot()
    unwanted = lab._planned(POD, "n12", {"n12": 1.0}, seen)
    unwanted.gains["even"] = 0.0
    assert baseline_of(seen, lab.history, [unwanted], "plan", lab.policies).selected == {}
    lab.move(POD, "n12")
    lab.wait(1)
    later = baseline_of(lab.snapshot(), lab.history, [unwanted], "plan", lab.policies)
    assert later.selected.keys() == lab.history.baselines[0].selected.keys() != set()
