"""With `stableFor` a peak for which a node is left is not taken for what it reads otherwise."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rescheduler.documents.label_selector import Selector
from rescheduler.model.cluster.readings import DeviceValue, Readings, instants
from rescheduler.model.moves.gains import Baseline
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.level import Past
from rescheduler.policies.base import NodeMatch
from tests.cluster import pod
from tests.planning.measure.laboratory import CORES, EVEN, NODES, Laboratory

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
    """The hottest node of each round is left, stays as it is, and gets its pod back."""
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
        loads = lab.loads()
        old = max(lab.pods, key=lambda pod: loads[pod.node])
        move = lab.move(old.metadata.uid, f"n{12 + number % 12}")
        mean[old.node] += 1.0
        gusts()
        lab.wait()
        demoted = list(lab.measure().demoted)
        if demoted:
            break
        mean[old.node] -= 1.0
        lab.pods = [old if e.metadata.uid == move.replacement else e for e in lab.pods]
        lab.wait(180)
    assert demoted == ["even"]


@pytest.mark.parametrize("sticks", [False, True])
def test_a_peak_of_the_pods_themselves_is_no_gain(sticks: bool) -> None:
    lab = Laboratory(policies=[STABLE], sticks=sticks)
    there = [pod.metadata.uid for pod in lab.pods if pod.node == "n0"]
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
    new = pod(f"young-{len(lab.pods)}", to, owner=lab.controllers[7])
    made = structs.replace(new.metadata, creationTimestamp=lab.now - ago)
    lab.pods.append(structs.replace(new, metadata=made))
    lab.use[new.metadata.uid] = use


def kept(lab: Laboratory, **fields: Any) -> Baseline:
    """The readings before a move off n0, with the past of node.cpu changed."""
    seen = lab.snapshot()
    entries = tuple(
        replace(reading, **fields) if reading.range_samples is not None else reading
        for reading in seen.readings.entries
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


@pytest.mark.parametrize("wild", [float("nan"), 9.0, 50.0, 1e6, -1.0])
@pytest.mark.parametrize("node", [0, 20])
def test_wild_or_unknown_samples_change_nothing(wild: float, node: int) -> None:
    lab = Laboratory(policies=[STABLE])
    now = lab.snapshot().readings.entries[0].values
    samples = rising(now)
    samples[[3, PAST - 4], node] = wild
    (found,) = kept(lab, range_samples=samples).peaks[KEY].values()
    assert found == pytest.approx(0.75, abs=0.02)


def test_of_a_node_without_a_past_nothing_is_known() -> None:
    lab = Laboratory(policies=[STABLE])
    samples = np.full((PAST, NODES), np.nan)
    assert kept(lab, range_samples=samples).peaks == {}
    assert kept(lab, range_samples=np.zeros((PAST, NODES))).peaks == {KEY: {"n0": 0.0}}


@pytest.mark.parametrize("uses", [[1.0], [0.15] * 8])
@pytest.mark.parametrize("minutes", [1, 6, 15])
def test_pods_that_came_are_in_the_past_as_they_are_now(uses: list[float], minutes: int) -> None:
    """Those that the windows have seen in part with the rest of what they use."""
    lab = Laboratory(policies=[STABLE])
    before = lab.loads()["n0"]
    ago = timedelta(minutes=minutes)
    for use in uses:
        come(lab, "n0", use, ago)
    now = lab.snapshot().readings.entries[0].values
    seen = np.clip((ago.total_seconds() - instants(CPU.span)) / CPU.window, 0.0, 1.0)
    samples = np.tile(now, (PAST, 1))
    samples[:, 0] = (before + sum(uses) * seen) / CORES
    assert kept(lab, range_samples=samples).peaks == {}
    samples[:-1, 0] -= 0.1
    assert kept(lab, range_samples=samples).peaks[KEY]["n0"] < 0.95


@pytest.mark.parametrize("sticks", [False, True])
@pytest.mark.parametrize("share", [1.3, 0.8])
def test_a_node_that_stays_as_it_is_while_others_change_is_in_no_peak(
    sticks: bool, share: float
) -> None:
    lab = Laboratory(policies=[STABLE], sticks=sticks)
    real = lab.loads()
    lab.earlier = [{n: load * (share if n != "n0" else 1.0) for n, load in real.items()}] * 9
    move = lab.move("pod-default-p0-0", "n12")
    lab.earlier = []
    truth = lab.truth([move], STABLE)
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(truth, abs=0.02)


def test_what_changed_on_nodes_that_no_policy_selects_hides_no_peak() -> None:
    gpu = NodeMatch(labels=Selector(matchLabels={"pool": "gpu"}))
    own = STABLE.model_copy(update={"nodes": gpu})
    lab = Laboratory(policies=[own], sticks=True, web=True)
    usual = lab.loads()
    lab.earlier = [{n: load * (0.5 if "web" in n else 1.0) for n, load in usual.items()}]
    lab.base["n0"] += 1.0
    move = lab.move("pod-default-p0-0", "n12")
    lab.base["n0"] -= 1.0
    lab.earlier = []
    lab.wait()
    lab.measure()
    assert gain(move) == pytest.approx(0.0, abs=0.1)


def test_nodes_that_a_pod_may_land_on_show_how_others_changed() -> None:
    """Before it does no move has touched them, and in a small cluster they are nearly all."""
    lab = Laboratory(policies=[STABLE])
    lab.earlier = [lab.loads()]
    lab.base["n0"] += 1.0
    lab.base["n1"] += 1.0
    lab.move("pod-default-p0-0", "n12", expected={f"n{n}": 1 / 20 for n in range(2, 22)})
    (found,) = lab.history.baselines
    assert found.peaks[KEY]["n0"] == pytest.approx(7.2 / 8.2, abs=0.015)


def test_the_shorter_past_of_two_policies_counts_and_none_beside_none() -> None:
    longer = STABLE.model_copy(update={"name": "long", "stableFor": timedelta(hours=24)})
    plain = EVEN.model_copy(update={"name": "plain"})
    for others, expected in (([longer], {KEY: {"n0": 0.75}}), ([longer, plain], {})):
        lab = Laboratory(policies=[*others, STABLE])
        seen = lab.snapshot()
        entries = [
            replace(reading, range_samples=rising(reading.values))
            if reading.request == CPU
            else reading  # that of the longer one has no rise
            for reading in seen.readings.entries
        ]
        seen = replace(seen, readings=Readings(tuple(entries)))
        planned = lab._planned("pod-default-p0-0", "n12", {"n12": 1.0}, seen)
        found = baseline_of(seen, History(), [planned], "p", lab.policies)
        assert found.peaks == expected


def test_a_device_has_a_level_of_its_own() -> None:
    lab = Laboratory(policies=[STABLE])
    seen = lab.snapshot()
    past = Past(KEY, [STABLE], [], seen)
    samples = tuple(np.linspace(0.1, 0.9, PAST).tolist())
    device = DeviceValue(1, "GPU-0", 0.9, range_samples=samples)
    assert past.device(device) == pytest.approx(0.5)
    fallen = replace(device, range_samples=samples[::-1], value=0.1)
    assert past.device(fallen) == 0.1
    assert past.device(replace(device, range_samples=())) == 0.9
    wild = replace(device, range_samples=(1e6, *samples[1:]))
    assert past.device(wild) == pytest.approx(0.5, abs=0.02)
    assert Past(KEY, [EVEN], [], seen).device(device) == 0.9


@pytest.mark.parametrize(("minutes", "expected"), [(10, 0.9), (60, 0.5)])
def test_a_device_that_a_pod_got_meanwhile_reads_what_it_reads_now(
    minutes: int, expected: float
) -> None:
    lab = Laboratory(policies=[STABLE])
    come(lab, "n1", 0.5, timedelta(minutes=minutes))
    seen = lab.snapshot()
    samples = tuple(np.linspace(0.1, 0.9, PAST).tolist())
    users = (0, len(lab.pods) - 1)
    device = DeviceValue(1, "GPU-0", 0.9, pods=users, range_samples=samples)
    assert Past(KEY, [STABLE], [], seen).device(device) == pytest.approx(expected)


def test_devices_of_nodes_that_are_reached_are_as_they_are_now() -> None:
    lab = Laboratory(policies=[STABLE])
    samples = tuple(np.linspace(0.1, 0.9, PAST).tolist())
    devices = tuple(DeviceValue(n, "GPU-0", 0.9, range_samples=samples) for n in (0, 12))
    found = kept(lab, devices=devices).devices[KEY]
    assert {name: value for name, ((_, _, value, _),) in found.items()} == {"n0": 0.5, "n12": 0.9}
