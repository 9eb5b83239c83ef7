"""Moves that help are found to help; a policy that does not is demoted; falling load is neither."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import PREFIX, BaseLoad, Load
from tests.e2e.builders.workloads import job
from tests.e2e.demotions import demotions
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import LoadScenario, hot_nodes
from tests.e2e.loop import NAMESPACE, USER, WINDOW, Loop, swift, utilization, write_policies
from tests.e2e.program import Program
from tests.e2e.replica import Replica

pytestmark = pytest.mark.e2e

SIZE = 64.0
"""Cores of each node."""

MAX_AGE = 5
QUIET = WINDOW + MAX_AGE + 2
"""Seconds after which a move can be measured: the window and the greatest age, and a margin."""

LIMITS = swift(per_cycle=6, per_node=2) + "  minMeasuredSample: 5\n"
"""So few moves in a cycle leave the three hot nodes hot."""


def too_hot(name: str, high: float) -> str:
    """A policy that is measured soon."""
    text = utilization(cpu=f"{high:.0%}").replace("name: hot", f"name: {name}")
    return text.replace("maxAge: 15s", f"maxAge: {MAX_AGE}s")


def hot_cpus(cluster: Cluster) -> LoadScenario:
    """3 of 24 nodes with 50.2 of their 64 cores busy, the others with 3."""
    busy = Load(cpu=4.9, memory=1 << 30)
    return hot_nodes(cluster, busy, use=4.9, capacity=SIZE, count=24)


def declared(manifest: Mapping[str, Any], key: str) -> float:
    """What the exporter reads from an annotation."""
    return float(manifest["metadata"].get("annotations", {}).get(PREFIX + key, 0.0))


def cores(cluster: Cluster) -> dict[str, float]:
    """Busy cores of every node, as the exporter has them."""
    used: defaultdict[str, float] = defaultdict(float)
    for pod in cluster.pods():
        used[pod["spec"]["nodeName"]] += declared(pod, "cpu")
    return {
        name: max(declared(node, "base-cpu") + used[name], declared(node, "least-cpu"))
        for node in cluster.api.items("v1", "Node")
        for name in [node["metadata"]["name"]]
    }


def shown(cluster: Cluster, metrics: Metrics) -> None:
    """Wait until Prometheus shows over a whole window what the exporter has."""
    names = {
        f"{address['address']}:9100": node["metadata"]["name"]
        for node in cluster.api.items("v1", "Node")
        for address in node["status"]["addresses"]
        if address["type"] == "InternalIP"
    }
    idle = f'avg by (instance) (rate(node_cpu_seconds_total{{mode="idle"}}[{WINDOW}s]))'
    truth = cores(cluster)

    def differing() -> list[str]:
        found = {names[labels["instance"]]: v for labels, v in metrics.prometheus.query(idle)}
        return [
            f"{name}: {SIZE * (1 - found.get(name, 0.0)):.2f} of {busy:.2f} cores"
            for name, busy in truth.items()
            if abs(SIZE * (1 - found.get(name, 0.0)) - busy) > 0.02 * SIZE
        ]

    cluster.until_empty(differing, "Prometheus shows another load", 60)


def cost(cluster: Cluster, used: Mapping[str, float], high: float) -> float:
    """What the policy is to charge: cores above `high`, in what a pod uses that is not idle."""
    uses = [declared(pod, "cpu") for pod in cluster.pods()]
    counted = [use for use in uses if use >= 0.01 * SIZE]
    above = sum(max(0.0, busy - high * SIZE) for busy in used.values())
    return above * len(counted) / sum(counted)


def measured(report: Mapping[str, Any], policy: str) -> float:
    """What all moves that were measured have brought."""
    return float(sum(move["measured"].get(policy, 0.0) for move in report["measuredMoves"]))


def promised(report: Mapping[str, Any], policy: str) -> float:
    """What they promised under the load when they were measured."""
    return float(sum(move["promised"].get(policy, 0.0) for move in report["measuredMoves"]))


def brought(report: Mapping[str, Any], policy: str) -> Any:
    """What the report says about a policy's moves."""
    return next(
        policy_result for policy_result in report["policies"] if policy_result["name"] == policy
    ).get("brought")


def evictions(cluster: Cluster, mark: Any) -> int:
    """How many the API server has accepted since."""
    return sum(r.code == 201 for r in cluster.control_plane.audit.since(mark).evictions(by=USER))


def test_moves_that_help_are_measured_to_help(
    binary: Path, cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    hot_cpus(cluster)
    metrics.warm(2 * WINDOW)
    shown(cluster, metrics)
    before = cost(cluster, cores(cluster), 0.5)
    limits = swift() + "  minMeasuredSample: 5\n"
    policies = write_policies(tmp_path / "policies", too_hot("hot", 0.5), limits)
    trail = tmp_path / "trail.jsonl"
    loop = Loop(actor, policies, more=("--audit-trail", trail))

    moves = loop.until_content()

    assert 12 <= len(moves) <= 14
    cluster.settled()
    metrics.warm(QUIET)
    shown(cluster, metrics)
    truth = before - cost(cluster, cores(cluster), 0.5)
    assert truth > 12
    report = loop.once(code=0)
    assert len(report["measuredMoves"]) == len(moves)
    assert [move["problem"] for move in report["measuredMoves"] if move.get("problem")] == []
    assert measured(report, "hot") == pytest.approx(truth, rel=0.1)
    assert promised(report, "hot") == pytest.approx(truth, rel=0.1)
    found = brought(report, "hot")
    assert found["moves"] == len(moves)
    assert found["measured"] == pytest.approx(truth, rel=0.1)
    assert found.get("problem") is None
    assert demotions(cluster) == []
    assert report["moves"] == []

    tells_all(Program(binary), trail, moves, truth, cycles=len(loop.reports))
    names_what_was_changed(Program(binary), trail)


def test_a_policy_that_does_not_help_is_demoted_until_it_is_reset(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    hot = hot_cpus(cluster).hot
    used = cores(cluster)
    for name in hot:
        least = BaseLoad(least_cpu=used[name]).annotations()
        cluster.annotate(cluster.api.read("v1", "Node", name), **least)
    metrics.warm(2 * WINDOW)
    shown(cluster, metrics)
    before = cost(cluster, cores(cluster), 0.5)
    limits = swift(per_cycle=3, per_node=1) + "  minMeasuredSample: 2\n"
    policies = write_policies(tmp_path / "policies", too_hot("hot", 0.5), limits)
    loop = Loop(actor, policies)

    loop.once()

    assert len(loop.evicted()) == 3
    cluster.settled()
    metrics.warm(QUIET)
    shown(cluster, metrics)
    assert cost(cluster, cores(cluster), 0.5) == pytest.approx(before), "they change nothing"
    mark = cluster.control_plane.audit.mark()
    report = loop.once(code=3)
    assert len(report["measuredMoves"]) == 3
    assert promised(report, "hot") > 2
    assert abs(measured(report, "hot")) < 0.1 * promised(report, "hot")
    found = brought(report, "hot")
    assert found["problem"]["code"] == "MSR001"
    assert found["demotedUntil"] is not None
    assert report["moves"], "it still reports what it would do"
    assert {move["mode"] for move in report["moves"]} == {"Audit"}
    (note,) = demotions(cluster)
    assert note.startswith("MSR001 Policy hot counts as Audit until")

    replica = Replica(actor, policies, tmp_path, "service")
    try:
        cluster.until(lambda: replica.cycles() >= 1, f"a cycle: {replica.log}", 60)
        answer = replica.get("/metrics")
        assert answer is not None
        demoted = 'rescheduler_policy_demoted{policy="hot",reason="MSR001"} 1.0'
        assert demoted in answer.text.splitlines()
    finally:
        replica.process.terminate()
        replica.process.wait(60)
    loop.once(code=3)
    assert evictions(cluster, mark) == 0
    assert len(demotions(cluster)) == 1, "an Event is written once"

    state = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    cluster.api.patch(state, {"data": {"demoted": "forget"}})
    report = loop.once(code=0)
    assert brought(report, "hot") is None
    assert evictions(cluster, mark) > 0
    state = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    assert "demoted" not in state["data"]


def test_load_that_falls_by_itself_is_no_success_and_no_failure(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    hot_cpus(cluster)
    metrics.warm(2 * WINDOW)
    shown(cluster, metrics)
    policies = write_policies(
        tmp_path / "policies", too_hot("hot", 0.5), too_hot("warm", 0.3), LIMITS
    )
    loop = Loop(actor, policies)
    started = cost(cluster, cores(cluster), 0.3)

    loop.once()

    moves = loop.evicted()
    assert len(moves) == 6
    cluster.settled()
    halve(cluster)
    metrics.warm(QUIET + WINDOW)  # no window holds anything of before, with a slow scrape too
    shown(cluster, metrics)
    now = cores(cluster)
    without = dict(now)
    for move in moves:
        without[move["node"]] += 4.9 / 2
        without[move["landedOn"]] -= 4.9 / 2
    assert cost(cluster, without, 0.5) == 0, "they would not be needed any more"
    truth = cost(cluster, without, 0.3) - cost(cluster, now, 0.3)
    naive = started - cost(cluster, now, 0.3)
    assert 0 < truth < 0.5 * naive

    report = loop.once(code=0)

    assert len(report["measuredMoves"]) == 6
    assert [move for move in report["measuredMoves"] if "hot" not in move["neutral"]] == []
    assert brought(report, "hot") is None, "it is counted neither for nor against it"
    assert measured(report, "warm") == pytest.approx(truth, rel=0.1)
    found = brought(report, "warm")
    assert found["moves"] == 6
    assert found.get("problem") is None
    assert demotions(cluster) == []


def test_pods_that_end_by_themselves_are_no_gain(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    hot = hot_cpus(cluster).hot
    ending = Load(cpu=3.0, memory=1 << 30)
    stay = {"rescheduler.io/opt-out": "true"}
    short = job("short", 6, cpu="100m", memory="64Mi", load=ending, annotations=stay)
    cluster.place(short, dict.fromkeys(hot, 2))
    metrics.warm(2 * WINDOW)
    shown(cluster, metrics)
    policies = write_policies(tmp_path / "policies", too_hot("hot", 0.5), LIMITS)
    loop = Loop(actor, policies)
    started = cost(cluster, cores(cluster), 0.5)

    loop.once()

    moves = loop.evicted()
    assert len(moves) == 6
    cluster.settled()
    done = {"pod-complete.stage.kwok.x-k8s.io/delay": "1s"}
    for pod in cluster.pods("short"):
        cluster.annotate(pod, **done)
    cluster.until(lambda: not cluster.pods("short"), "the Job ends", 60)
    metrics.warm(QUIET)
    shown(cluster, metrics)
    now = cores(cluster)
    without = dict(now)
    for move in moves:
        without[move["node"]] += 4.9
        without[move["landedOn"]] -= 4.9
    truth = cost(cluster, without, 0.5) - cost(cluster, now, 0.5)
    assert 0 < truth < 0.7 * (started - cost(cluster, now, 0.5))

    report = loop.once(code=None)

    assert [move["problem"] for move in report["measuredMoves"] if move.get("problem")] == []
    assert len(report["measuredMoves"]) == 6
    assert measured(report, "hot") == pytest.approx(truth, rel=0.1)


def tells_all(reader: Program, trail: Path, moves: list[Any], truth: float, cycles: int) -> None:
    """Assert that the history of the trail has every move, where it landed, and what it brought."""
    done = reader.run("history", "--audit-trail", trail, "-o", "json")
    assert done.code == 0, done.stderr
    history = done.json()
    totals = history["totals"]
    assert [totals[key] for key in ("evicted", "landed", "ready", "compared")] == [len(moves)] * 4
    assert totals["measured"] == pytest.approx(truth, rel=0.1)
    assert totals["cycles"] == cycles
    assert totals["failed"] == totals["unfinished"] == history["integrity"]["broken"] == 0
    told = {step["pod"]["uid"]: step for step in history["moves"]}
    assert told.keys() == {move["pod"]["uid"] for move in moves}
    for move in moves:
        step = told[move["pod"]["uid"]]
        assert (step["source"], step["landedOn"]) == (move["node"], move["landedOn"])
        assert step["readySeconds"] is not None
        assert step["brought"] is not None
        assert step["measured"].keys() == {"hot"}


def names_what_was_changed(reader: Program, trail: Path) -> None:
    """Assert that the history names the line in which another node was written."""
    lines = trail.read_text(encoding="utf-8").splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if '"predicted":' in line)
    record = json.loads(lines[number])
    assert lines[number].count(f'"{record["record"]["node"]}"') == 1
    lines[number] = lines[number].replace(f'"{record["record"]["node"]}"', '"n99"')
    trail.write_text("".join(lines), encoding="utf-8")
    done = reader.run("history", "--audit-trail", trail)
    assert done.code == 1
    assert f"trail.jsonl:{number + 1}: the line was changed" in done.stderr


def halve(cluster: Cluster) -> None:
    """Let every pod and every node's system use half of what they use."""
    used = [(pod, "cpu") for pod in cluster.pods()]
    used += [(node, "base-cpu") for node in cluster.api.items("v1", "Node")]
    cluster.api.parallel(
        lambda target: cluster.annotate(
            target[0], **{PREFIX + target[1]: repr(declared(target[0], target[1]) / 2)}
        ),
        used,
    )
