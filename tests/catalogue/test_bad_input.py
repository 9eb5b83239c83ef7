"""F11-F20: mass eviction and bad input data."""

import random
from pathlib import Path

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import PolicyError
from rescheduler.sources.policy_files import load_policies
from tests import cluster
from tests.catalogue.kit import GREAT, codes, cycles, drawn, hot, moved, plan_of, sent
from tests.simulation.metrics import LIES
from tests.simulation.policies import POLICIES
from tests.simulation.scenario import simulated
from tests.simulation.weather import Strike
from tests.sources.metrics import Stub, read

virtual = pytest.mark.usefixtures("virtual")


@virtual
def test_f11_a_backlog_is_not_released_by_restarts() -> None:
    """A redeployed evictor finds everything hot, and half of the cluster goes in 15 minutes."""
    apps = {f"app{n}": (f"n{n % 4}", f"n{(n + 1) % 4}") for n in range(8)}
    run = drawn(apps, dict.fromkeys(apps, 0.7), nodes=8, text=GREAT, warm=False)
    made = cycles(run, 24, every=60.0)
    times = [eviction.at for eviction in run.ground.evicted]
    by_cycle = [sum(c.began <= at <= c.ended for at in times) for c in made]
    acting = [count for count in by_cycle if count]
    assert acting[:3] == [1, 1, 1], "it begins slowly"
    assert max(sum(at <= time < at + 3600 for time in times) for at in times) <= 6
    assert run.ground.broken == []


@virtual
@pytest.mark.parametrize(
    "scope", ["", "match: {}", "match: {namespaces: []}", "match: {all: false}"]
)
def test_f12_an_empty_scope_is_an_error_and_not_everything(scope: str, tmp_path: Path) -> None:
    """All nodes were cordoned at once because a selector was left out."""
    file = tmp_path / "policies.yaml"
    file.write_text(POLICIES)
    assert load_policies(file).policies
    file.write_text(POLICIES.replace("match: {all: true}", scope))
    with pytest.raises(PolicyError):
        load_policies(file)
    run = hot()
    run.universe.text = file.read_text()
    (cycle,) = cycles(run, 1)
    assert (sent(run), cycle.code) == ([], 2)


@virtual
@pytest.mark.parametrize("hot_nodes", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("lie", ["hundredfold", "negative", "infinite", "none"])
def test_f13_all_nodes_hot_at_once_is_a_wrong_query_or_an_overload(
    lie: str, hot_nodes: int
) -> None:
    """A wrong unit makes every node a victim."""
    apps = {f"{app}{n}": (f"n{n}",) * 2 for n in range(hot_nodes) for app in ("web", "api")}
    guarded, unguarded = (
        drawn(apps, dict.fromkeys(apps, 0.7), nodes=12, text=text) for text in (POLICIES, GREAT)
    )
    for run in (guarded, unguarded) if lie != "none" else ():
        for name in run.metrics.exporters:
            run.metrics.set_exporter(name, lie)
    (held,), (without,) = cycles(guarded, 1), cycles(unguarded, 1)
    if lie != "none":
        assert sent(guarded) == sent(unguarded) == []
        assert (held.code, without.code) == (1, 1)
        assert "RDG006" in codes(held.report) & codes(without.report)
    elif hot_nodes <= 2:
        assert (held.code, bool(moved(guarded))) == (0, True), "up to a fifth of the nodes"
    else:
        assert (sent(guarded), held.code) == ([], 3)
        assert "GRD001" in codes(held.report)
        assert bool(moved(unguarded)) == (hot_nodes < 12), "it is the guard that holds them"


NAMES = tuple(f"n{n}" for n in range(6))


@virtual
@pytest.mark.parametrize("nth", range(6))
def test_f14_an_empty_result_is_not_zero(nth: int) -> None:
    """Read as zero, every node is cold and every other one hot."""
    run = hot()
    process = run.process()
    process.weather = Strike("empty", "metric", random.Random(1), nth=nth, times=100)
    cycle = process.run()
    empty = process.weather.struck
    assert empty
    assert sent(run) == []
    assert cycle.code in (1, 3), "it is no success"


@virtual
def test_f15_a_value_that_is_kept_alive_is_not_believed() -> None:
    """A dead agent's last value goes on evicting."""
    run = hot()
    run.metrics.set_exporter("n0", "frozen")
    run.cluster.timeline.advance(240.0)
    (cycle,) = cycles(run, 1)
    assert [eviction for eviction in run.ground.evicted if eviction.node == "n0"] == []
    assert codes(cycle.report)
    fresh = hot()
    fresh.cluster.timeline.advance(240.0)
    cycles(fresh, 1)
    assert moved(fresh)


@virtual
def test_f16_a_partial_answer_is_no_answer() -> None:
    """A store did not answer, and the client hides the warning that says so."""
    run = hot()
    process = run.process()
    process.weather = Strike("partial", "metric", random.Random(1), nth=1, times=100)
    cycle = process.run()
    assert sent(run) == []
    assert cycle.code == 1
    assert "RDG002" in codes(cycle.report)


@virtual
@pytest.mark.parametrize("silent", range(6))
def test_f17_a_node_without_metrics_is_not_idle_and_stops_only_itself(
    silent: int,
) -> None:
    """Of ten nodes one may be missing; more than that, and nothing is known well enough."""
    run = hot(nodes=10)
    dark = NAMES[6 - silent :]
    for name in dark:
        run.metrics.set_exporter(name, "missing")
    (cycle,) = cycles(run, 1)
    assert bool(moved(run)) == (silent <= 1)
    assert (cycle.code == 0) == (silent <= 1)
    assert {share.node for move in plan_of(cycle).moves for share in move.landing}.isdisjoint(dark)


def test_f18_a_value_that_cannot_be_is_absent() -> None:
    """NaN compares as False with everything, so that each check passes."""
    with simulated():
        for lie in set(LIES) - {"dead", "frozen"}:
            run = hot(nodes=12)
            run.metrics.set_exporter("n0", lie)
            cycles(run, 1)
            assert moved(run) == [], lie
    for value in ("NaN", "+Inf", "-Inf", -0.5, 1e9, "0x1", ""):
        rows = [({"instance": "n1"}, value), ({"instance": "n2"}, 0.5)]
        reading = read(Stub().series("node.memory", rows), "node.memory", two_nodes())
        assert np.isnan(reading.values[0]), value
        assert reading.values[1] == 0.5, value


def two_nodes() -> Snapshot:
    return cluster.snapshot([cluster.node("n1"), cluster.node("n2")], [])


@virtual
def test_f19_a_window_over_a_target_that_is_gone_is_not_fresh() -> None:
    """`rate()` ignores stale markers: for five minutes it answers for what is not there."""
    run = hot()
    run.metrics.set_exporter("n0", "dead")
    run.cluster.timeline.advance(230.0)
    rows = run.metrics.query("node_cpu_seconds_total[300s]", None)
    assert "n0" in {row["metric"]["node"] for row in rows}, "the range still has its samples"
    cycles(run, 1)
    assert [eviction for eviction in run.ground.evicted if eviction.node == "n0"] == []


def test_f20_series_that_cannot_be_told_apart_are_of_no_node() -> None:
    """An instance is an address and a node is a name; two series of one node must agree."""
    with simulated():
        run = hot(nodes=12)
        run.metrics.set_exporter("n0", "twice")
        cycles(run, 1)
        assert moved(run) == []
    rows = [({"instance": "n1:9100"}, 0.4), ({"instance": "10.9.9.9:9100"}, 0.9)]
    reading = read(Stub().series("node.memory", rows), "node.memory", two_nodes())
    assert reading.values[0] == 0.4
    assert np.isnan(reading.values[1])
    assert any("10.9.9.9" in note or "1 " in note for note in reading.notes), reading.notes
