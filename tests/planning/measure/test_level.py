"""With `stableFor` a peak for which a node is left is not taken for what it reads otherwise."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from msgspec import structs

from rescheduler.model.history import History, PastMove
from rescheduler.model.readings import DeviceValue, Reading, Readings, instants
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.level import device_level, level, unchanged_for
from tests.cluster import NOW
from tests.planning.measure.laboratory import CORES, EVEN, NODES, Laboratory

STABLE = EVEN.model_copy(update={"stableFor": timedelta(minutes=30)})
CPU = STABLE.requests()[0]
PAST = len(instants(CPU.span))


def gain(move: PastMove) -> float:
    assert move.gain is not None
    assert move.gain.problem == ""
    return move.gain.measured["even"]


def in_a_peak(lab: Laboratory) -> PastMove:
    """A pod leaves n0, which uses a core more than before and later."""
    lab.earlier = [lab.loads()]
    lab.base["n0"] += 1.0
    move = lab.move("pod-default-p0-0", "n12")
    lab.base["n0"] -= 1.0
    lab.earlier = []
    return move


@pytest.mark.parametrize("sticks", [False, True])
def test_a_peak_that_has_passed_by_itself_is_no_gain(sticks: bool) -> None:
    lab = Laboratory(policies=[STABLE], sticks=sticks)
    move = in_a_peak(lab)
    truth = lab.truth([move], STABLE)
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.1)


def test_a_policy_whose_moves_only_follow_peaks_is_demoted() -> None:
    lab = Laboratory(policies=[STABLE], sticks=True)
    rng = np.random.default_rng(3)
    mean = dict(lab.base)

    def gusts() -> None:
        for name, usual in mean.items():
            lab.base[name] = usual + 0.5 * rng.normal()

    demoted: list[str] = []
    for number in range(20):
        lab.earlier = []
        for _ in range(6):
            gusts()
            lab.earlier.append(lab.loads())
        gusts()
        hot = max(lab.loads().items(), key=lambda each: each[1])[0]
        uid = next(each.metadata.uid for each in lab.pods if each.node == hot)
        before = lab.base[hot]
        lab.move(uid, f"n{12 + number % 12}")
        mean[hot] += lab.base[hot] - before
        gusts()
        lab.wait()
        demoted = list(lab.measure().demoted)
        if demoted:
            break
    assert demoted == ["even"]


def test_what_was_before_our_own_moves_counts_no_more() -> None:
    lab = Laboratory(policies=[STABLE])
    lab.move("pod-default-p0-0", "n12")
    lab.wait(20)
    lab.earlier = [{**lab.loads(), "n0": 7.2, "n12": 2.2}, *[lab.loads()] * 2]
    lab.move("pod-default-p0-1", "n13")
    kept = lab.history.baselines[-1].nodes["node.cpu/300"]
    assert kept["n0"] == pytest.approx(6.2 / CORES, rel=0.001)
    assert kept["n12"] == pytest.approx(3.2 / CORES, rel=0.001)


def reading(samples: np.ndarray, values: np.ndarray) -> Reading:
    return Reading(
        request=CPU,
        unit="ratio",
        values=values,
        ages=np.where(np.isnan(values), np.nan, 10.0),
        expected=np.ones(len(values), dtype=np.bool_),
        capacity=np.full(len(values), CORES),
        range_samples=samples,
    )


def rising() -> np.ndarray:
    """From 0.1 to 0.9 on every node; the last is now."""
    return np.tile(np.linspace(0.1, 0.9, PAST)[:, None], (1, NODES))


def seen() -> Snapshot:
    return Laboratory(policies=[STABLE]).snapshot()


def test_the_mean_is_of_windows_since_the_node_is_unchanged() -> None:
    samples = rising()
    unchanged = np.full(NODES, np.inf)
    unchanged[1] = 479.0  # 300 s of window and values of up to 180 s: not even one
    unchanged[2] = 480.0 + 63.0
    found = level(reading(samples, samples[-1]), seen(), unchanged)
    assert found[0] == pytest.approx(0.5)
    assert found[1] == 0.9
    assert found[2] == pytest.approx(samples[-2:, 2].mean())


def test_unknown_instants_are_left_out_and_an_unknown_node_stays_so() -> None:
    samples, values = rising(), np.full(NODES, 0.9)
    samples[:-1, 0] = np.nan
    samples[:, 1] = np.nan
    values[2] = np.nan
    found = level(reading(samples, values), seen(), np.full(NODES, np.inf))
    assert found[0] == 0.9
    assert found[1] == 0.9
    assert np.isnan(found[2])


def test_a_device_has_a_level_of_its_own() -> None:
    past = tuple(np.linspace(0.1, 0.9, PAST).tolist())
    device = DeviceValue(1, "GPU-0", 0.9, range_samples=past)
    whole = reading(rising(), np.full(NODES, 0.9))
    assert device_level(device, whole, np.full(NODES, np.inf)) == pytest.approx(0.5)
    assert device_level(device, whole, np.full(NODES, 0.0)) == 0.9
    assert device_level(replace(device, range_samples=()), whole, np.full(NODES, np.inf)) == 0.9


def test_for_how_long_a_node_is_unchanged() -> None:
    lab = Laboratory(policies=[STABLE])
    made = structs.replace(lab.pods[0].metadata, creationTimestamp=NOW - timedelta(minutes=7))
    lab.pods[0] = structs.replace(lab.pods[0], metadata=made)
    done = lab.move("pod-default-p1-0", "n13")
    flying = lab.move("pod-default-p2-0", "n14")
    flying.state, flying.landedOn, flying.settled = "evicted", "", None
    lab.wait(20)
    nodes = {name: lab.snapshot().node_index[name] for name in ("n0", "n1", "n13", "n2", "n14")}
    found = unchanged_for(nodes, [done, flying], lab.snapshot())
    assert found[[nodes[name] for name in nodes]].tolist() == [1620, 1200, 1200, 0, 0]
    assert found[nodes["n0"] + 3] == np.inf


def test_of_two_policies_that_read_the_same_the_one_with_a_past_counts() -> None:
    lab = Laboratory(policies=[EVEN.model_copy(update={"name": "other"}), STABLE])
    lab.earlier = [dict.fromkeys(lab.base, 4.0)]
    snapshot = lab.snapshot()
    planned = lab._planned("pod-default-p0-0", "n12", {"n12": 1.0}, snapshot)
    found = baseline_of(snapshot, History(), [planned], "p", lab.policies)
    assert found.nodes["node.cpu/300"]["n0"] == pytest.approx(0.5, abs=0.02)
    plain = replace(snapshot, readings=Readings(snapshot.readings.entries[:2]))
    found = baseline_of(plain, History(), [planned], "p", lab.policies[:1])
    assert found.nodes["node.cpu/300"]["n0"] == pytest.approx(0.9, abs=0.01)
