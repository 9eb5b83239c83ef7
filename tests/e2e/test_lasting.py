"""Trouble that must last (`stableFor`): every cycle is a process of its own, as a CronJob's."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import BaseLoad, Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import (
    NAMESPACE,
    SPREAD,
    USER,
    WINDOW,
    Loop,
    install,
    only_evictions_and_own_state,
    plan,
    swift,
    utilization,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

WAIT = 20
"""Seconds for which a finding must hold here."""


def refused(report: dict[str, Any]) -> set[str]:
    return {refusal["code"] for refusal in report["refused"]}


def stored(cluster: Cluster) -> str:
    made = cluster.api.read("v1", "ConfigMap", "rescheduler-finding-history", NAMESPACE)
    return str((made.get("binaryData") or {}).get("finding_history", ""))


def test_a_skew_is_repaired_by_the_first_process_that_saw_it_last(
    cluster: Cluster, binary: Path, tmp_path: Path
) -> None:
    cluster.create(*nodes(4, cpu=16, memory="64Gi", zones=["a", "b"]))
    cluster.arrange([(deployment("web", 4, cpu="500m", memory="1Gi"), {"n1": 2, "n3": 2})])
    policies = write_policies(tmp_path / "policies", SPREAD + f"  stableFor: {WAIT}s\n", swift())
    watcher = Program(binary, install(cluster, "audit-cronjob", tmp_path))
    actor = Program(binary, install(cluster, "enforce-cronjob", tmp_path))
    mark = cluster.control_plane.audit.mark()

    done, seen = plan(watcher, policies)
    assert (done.code, refused(seen)) == (0, {"STB001"}), "a plan reads, and remembers nothing"
    assert stored(cluster) == ""

    loop = Loop(actor, policies)
    first = loop.once(mode="Audit")
    begin = time.monotonic()
    assert (first["moves"], refused(first)) == ([], {"STB001"})
    assert first["policies"][0]["cost"]["before"] > 0, "the finding is shown"
    assert stored(cluster), "Audit remembers too"

    time.sleep(1.1)  # the API server's clock tells whole seconds, and in the same one nothing lasts
    second = loop.once()
    assert time.monotonic() < begin + WAIT, "too slow for this test to show anything"
    assert (second["moves"], refused(second)) == ([], {"STB001"})
    reported = [refusal["message"] for refusal in second["refused"]]
    assert all("known to hold since" in message for message in reported), (first, second)

    time.sleep(max(0.0, begin + WAIT + 1 - time.monotonic()))
    _, known = plan(watcher, policies)
    assert len(known["moves"]) == 1, "a plan knows what cycles have remembered"
    third = loop.once()
    assert [move["result"] for move in third["moves"]] == ["evicted"]
    cluster.settled()

    fourth = loop.once()
    assert [move["result"] for move in fourth["moves"]] == ["evicted"], "the rest waits no more"
    cluster.settled()
    placed = cluster.placement("web")
    assert placed["n1"] + placed["n3"] == placed["n2"] + placed["n4"] == 2
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 2
    only_evictions_and_own_state(records)


def test_a_hot_node_gives_pods_away_once_prometheus_shows_that_it_lasted(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(4, cpu=16, memory="64Gi", zones=["a"], load=BaseLoad(cpu=0.2)))
    calm = deployment("calm", 2, cpu=4, memory="4Gi", load=Load(cpu=0.5))
    cluster.arrange([(calm, {"n3": 1, "n4": 1})])
    metrics.warm(WINDOW + WAIT)
    begin = time.monotonic()
    busy = [deployment(f"busy-{n}", 2, cpu=1, memory="4Gi", load=Load(cpu=3.4)) for n in range(3)]
    cluster.arrange([(manifest, ["n1", f"n{n + 2}"]) for n, manifest in enumerate(busy)])
    lasting = utilization(cpu="50%") + f"  stableFor: {WAIT}s\n"
    loop = Loop(actor, write_policies(tmp_path / "policies", lasting, swift()))

    until = time.monotonic() + 4 * WAIT
    while not loop.evicted() and time.monotonic() < until:
        loop.once(code=None)

    assert time.monotonic() - begin >= WAIT
    waited = [report for report in loop.reports if "STB001" in refused(report)]
    assert waited, "it was seen to be hot before it had lasted"
    assert not any(report["moves"] for report in waited)
    assert waited[0]["policies"][0]["cost"]["before"] > 0
    reported = [
        refusal["message"] for refusal in waited[-1]["refused"] if refusal["code"] == "STB001"
    ]
    assert any(
        "known to hold" in message and f"stableFor is {WAIT}s" in message for message in reported
    )
    assert {move["node"] for move in loop.evicted()} == {"n1"}
    assert stored(cluster) == "", "what Prometheus knows needs no memory"
