"""With `stableFor` a peak for which a node is left is not taken for what it reads otherwise."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rescheduler.model.gains import Baseline
from rescheduler.model.history import History, PastMove
from rescheduler.model.readings import DeviceValue, Readings, instants
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.level import device_level
from tests.cluster import pod
from tests.planning.measure.laboratory import EVEN, NODES, Laboratory

STABLE = EVEN.model_copy(update={"stableFor": timedelta(minutes=30)})
CPU = STABLE.requests()[0]
PAST, KEY = len(instants(CPU.span)), CPU.key


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
@pytest.mark.parametrize("young", [False, True])
def test_a_peak_that_has_passed_by_itself_is_no_gain(sticks: bool, young: bool) -> None:
    """Also where a small pod came just now."""
    lab = Laboratory(policies=[STABLE], sticks=sticks)
    if young:
        come(lab, "n0", 0.02, timedelta(minutes=3))
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


@pytest.mark.parametrize("sticks", [False, True])
def test_a_peak_of_the_pods_themselves_is_no_gain(sticks: bool) -> None:
    lab = Laboratory(policies=[STABLE], sticks=sticks)
    there = [each.metadata.uid for each in lab.pods if each.node == "n0"]
    lab.earlier = [lab.loads()]
    lab.use |= dict.fromkeys(there, 1.3)
    move = lab.move(there[0], "n12")
    lab.use |= dict.fromkeys([*there, move.replacement], 1.0)
    lab.base["n0"] -= 0.3 * sticks
    lab.earlier = []
    truth = lab.truth([move], STABLE)
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize("sticks", [False, True])
@pytest.mark.parametrize("share", [0.8, 1.25])
@pytest.mark.parametrize("young", [False, True])
def test_what_changed_on_all_nodes_is_no_peak(sticks: bool, share: float, young: bool) -> None:
    """Nor does a small pod that came just now make anything of it."""
    lab = Laboratory(policies=[STABLE], sticks=sticks)
    real = lab.loads()
    lab.earlier = [
        {name: load * (share + (1 - share) * step / 29) for name, load in real.items()}
        for step in range(29)
    ]
    if young:
        come(lab, "n0", 0.02, timedelta(minutes=3))
    move = lab.move("pod-default-p0-0", "n12")
    lab.earlier = []
    truth = lab.truth([move], STABLE)
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize("sticks", [False, True])
def test_load_that_ended_right_before_is_not_expected_back(sticks: bool) -> None:
    lab = Laboratory(policies=[STABLE], sticks=sticks)
    lab.earlier = [{**lab.loads(), "n0": 8.2}] * 28 + [lab.loads()]
    move = lab.move("pod-default-p0-0", "n12")
    lab.earlier = []
    truth = lab.truth([move], STABLE)
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


def test_a_pod_that_came_is_no_peak() -> None:
    lab = Laboratory(policies=[STABLE])
    before = lab.loads()
    come(lab, "n0", 1.0, timedelta(minutes=15))
    lab.earlier = [before, lab.loads()]
    move = lab.move("pod-default-p0-0", "n12")
    lab.earlier = []
    truth = lab.truth([move], STABLE)
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


def come(lab: Laboratory, to: str, use: float, ago: timedelta) -> None:
    new = pod("young", to, owner=lab.controllers[7])
    made = structs.replace(new.metadata, creationTimestamp=lab.now - ago)
    lab.pods.append(structs.replace(new, metadata=made))
    lab.use[new.metadata.uid] = use


def kept(lab: Laboratory, **fields: Any) -> Baseline:
    """The readings before a move off n0, with the past of node.cpu changed."""
    seen = lab.snapshot()
    entries = tuple(
        replace(each, **fields) if each.range_samples is not None else each
        for each in seen.readings.entries
    )
    seen = replace(seen, readings=Readings(entries))
    planned = lab._planned("pod-default-p0-0", "n12", {"n12": 1.0}, seen)
    return baseline_of(seen, History(), [planned], "p", lab.policies)


def rising(now: np.ndarray) -> np.ndarray:
    """n0 has risen from half to what it reads now, the others are as before."""
    samples = np.tile(now, (PAST, 1))
    samples[:, 0] *= np.linspace(0.5, 1.0, PAST)
    return samples


def test_only_nodes_that_are_left_are_in_a_peak_and_only_downwards() -> None:
    lab = Laboratory(policies=[STABLE])
    now = lab.snapshot().readings.entries[0].values
    assert kept(lab).peaks == {}
    assert kept(lab, range_samples=rising(now)).peaks == {KEY: {"n0": 0.75}}
    samples = np.tile(now, (PAST, 1))
    samples[:-1, 12:] *= 0.5
    samples[:-1, 0] *= 1.5
    assert kept(lab, range_samples=samples).peaks == {}


@pytest.mark.parametrize("wild", [float("nan"), 50.0, 1e6, -1.0])
@pytest.mark.parametrize("node", [0, 20])
def test_wild_or_unknown_samples_change_nothing(wild: float, node: int) -> None:
    lab = Laboratory(policies=[STABLE])
    now = lab.snapshot().readings.entries[0].values
    samples = rising(now)
    samples[[3, PAST - 4], node] = wild
    (found,) = kept(lab, range_samples=samples).peaks[KEY].values()
    assert found == pytest.approx(0.75, abs=0.01)


def test_of_a_node_without_a_past_nothing_is_known() -> None:
    lab = Laboratory(policies=[STABLE])
    samples = np.full((PAST, NODES), np.nan)
    assert kept(lab, range_samples=samples).peaks == {}
    assert kept(lab, range_samples=np.zeros((PAST, NODES))).peaks == {KEY: {"n0": 0.0}}


def test_windows_that_reach_back_before_a_pod_came_do_not_count() -> None:
    lab = Laboratory(policies=[STABLE])
    come(lab, "n0", 1.0, timedelta(seconds=CPU.window + CPU.max_age + 2 * 63))
    now = lab.snapshot().readings.entries[0].values
    samples = np.tile(now, (PAST, 1))
    samples[:-3, 0] *= 0.1
    samples[-3:-1, 0] *= 0.8
    assert kept(lab, range_samples=samples).peaks == {KEY: {"n0": 0.8}}
    samples[-3:, 0] = now[0]
    assert kept(lab, range_samples=samples).peaks == {}


def test_where_one_policy_knows_no_past_none_is_taken_and_of_two_the_shorter() -> None:
    longer = STABLE.model_copy(update={"name": "long", "stableFor": timedelta(hours=24)})
    plain = EVEN.model_copy(update={"name": "plain"})
    for others, expected in (([longer], {KEY: {"n0": 0.75}}), ([longer, plain], {})):
        lab = Laboratory(policies=[*others, STABLE])
        seen = lab.snapshot()
        entries = [
            replace(each, range_samples=rising(each.values))
            if each.request == CPU
            else each  # that of the longer one has no rise
            for each in seen.readings.entries
        ]
        seen = replace(seen, readings=Readings(tuple(entries)))
        planned = lab._planned("pod-default-p0-0", "n12", {"n12": 1.0}, seen)
        found = baseline_of(seen, History(), [planned], "p", lab.policies)
        assert found.peaks == expected


def test_a_device_has_a_level_of_its_own() -> None:
    lab = Laboratory(policies=[STABLE])
    seen = lab.snapshot()
    whole = seen.readings.entries[0]
    past = tuple(np.linspace(0.1, 0.9, PAST).tolist())
    device = DeviceValue(1, "GPU-0", 0.9, range_samples=past)
    assert device_level(device, whole, None, seen) == pytest.approx(0.5)
    fallen = replace(device, range_samples=past[::-1], value=0.1)
    assert device_level(fallen, whole, None, seen) == 0.1
    assert device_level(replace(device, range_samples=()), whole, None, seen) == 0.9
    wild = replace(device, range_samples=(1e6, *past[1:]))
    assert device_level(wild, whole, None, seen) == pytest.approx(0.5, abs=0.02)
