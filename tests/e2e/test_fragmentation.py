"""Scattered GPUs are gathered, so that a gang that waits for whole nodes can start."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment, job
from tests.e2e.loop import (
    USER,
    Loop,
    budgets_watched,
    only_evictions_and_own_state,
    swift,
    write_policies,
)
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

ROOM = """
apiVersion: rescheduler.io/v1alpha1
kind: Fragmentation
metadata: {name: room}
spec:
  match: {all: true}
  room:
    labels: {matchLabels: {app: gang}}
"""


def scattered(cluster: Cluster) -> None:
    """20 of 32 GPUs are free, and no node has all of its 8; two pods wait for 8 each.

    n1 and n2 miss one GPU each. They have the most CPU in use, so the scheduler prefers n3 and n4.
    """
    cluster.create(*nodes(4, cpu=64, memory="512Gi", gpus=8))
    cluster.arrange(
        [
            (deployment("hog", 2, cpu=40, memory="320Gi"), ["n1", "n2"]),
            (deployment("small-1", 6, cpu=1, memory="4Gi", gpus=1), ["n1", *["n3"] * 5]),
            (deployment("small-2", 6, cpu=1, memory="4Gi", gpus=1), ["n2", *["n4"] * 5]),
        ]
    )
    cluster.create(deployment("gang", 2, cpu=8, memory="64Gi", gpus=8))
    cluster.until(lambda: len(cluster.pods("gang")) == 2, "the gang's pods")


def test_a_pending_gang_gets_room_and_runs(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    scattered(cluster)
    assert not cluster.placement("gang")
    policies = write_policies(tmp_path / "policies", ROOM, swift())
    without_prometheus = Program(actor.binary, actor.kubeconfig, environment=actor.environment)
    loop = Loop(without_prometheus, policies)
    mark = cluster.control_plane.audit.mark()

    with budgets_watched(cluster) as breaches:
        first = loop.once()
        cluster.settled(90)
        moves = loop.until_content()

    [policy] = first["policies"]
    codes = {finding["code"] for finding in policy["findings"]}
    assert codes == {"FRG001", "FRG002"}
    assert cluster.placement("gang") == {"n1": 1, "n2": 1}
    assert {move["node"] for move in moves} == {"n1", "n2"}
    assert {move["owner"]["name"] for move in moves} == {"small-1", "small-2"}
    assert len(moves) == 2
    assert cluster.placement("hog") == {"n1": 1, "n2": 1}
    [policy] = loop.reports[-1]["policies"]
    assert {finding["code"] for finding in policy["findings"]} == {"FRG001"}
    # 4 GPUs are left that 2 of 14 pods could not use; a pod asks for 2 on average.
    assert policy["cost"]["before"] == pytest.approx(4 * 2 / 14 / 2)
    assert not breaches()
    records = cluster.control_plane.audit.since(mark)
    assert len([r for r in records.evictions(by=USER) if r.code == 201]) == 2
    only_evictions_and_own_state(records)


WHOLE = """
apiVersion: rescheduler.io/v1alpha1
kind: Fragmentation
metadata: {name: room}
spec:
  match: {namespaces: [default]}
  resources: []
  room: {namespaces: [research]}
"""


def test_a_gang_gets_room_as_a_whole_or_not_at_all(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    """Two pods of a Job wait for 8 GPUs each. n1 misses one and n2 two, of three workloads.

    While a budget holds one of the three, nothing is moved; then all of them are, and the Job runs.
    """
    cluster.namespace("research")
    cluster.create(*nodes(5, cpu=64, memory="512Gi", gpus=8))
    cluster.create(*(budget(f"small-{number}", max_unavailable=1) for number in (1, 2)))
    cluster.create(budget("small-3", max_unavailable=0))
    # The scheduler prefers n5: no pod of their workloads is there, and little else.
    places = {1: ["n1", "n3", "n3"], 2: ["n2", "n3", "n3"], 3: ["n2", "n4", "n4"]}
    cluster.arrange(
        [
            (deployment("hog", 2, cpu=40, memory="320Gi"), ["n1", "n2"]),
            (deployment("other", 9, cpu=1, memory="4Gi", gpus=1), {"n4": 4, "n5": 5}),
            *(
                (deployment(f"small-{number}", 3, cpu=1, memory="4Gi", gpus=1), on)
                for number, on in places.items()
            ),
        ]
    )
    cluster.create(job("llama", 2, namespace="research", cpu=8, memory="64Gi", gpus=8))
    cluster.until(lambda: len(cluster.pods("llama")) == 2, "the gang's pods")
    policies = write_policies(tmp_path / "policies", WHOLE, swift(batch=1))
    loop = Loop(Program(actor.binary, actor.kubeconfig, environment=actor.environment), policies)
    mark = cluster.control_plane.audit.mark()

    held = loop.once()
    assert held["moves"] == []
    assert held["policies"][0]["cost"]["before"] == held["policies"][0]["cost"]["after"] == 2
    assert cluster.control_plane.audit.since(mark).evictions(by=USER) == []

    stored = cluster.api.read("policy/v1", "PodDisruptionBudget", "small-3", "default")
    cluster.api.patch(stored, {"spec": {"maxUnavailable": 1}})

    def allowed() -> bool:
        fresh = cluster.api.read("policy/v1", "PodDisruptionBudget", "small-3", "default")
        return bool(fresh["status"]["disruptionsAllowed"])

    cluster.until(allowed, "the budget", 60)
    with budgets_watched(cluster) as breaches:
        made = loop.once(code=None)
        told = [(move["pod"]["name"], move["code"], move["message"]) for move in made["moves"]]
        assert [move["result"] for move in made["moves"]] == ["evicted"] * 3, (
            told,
            made["verdict"],
            made["refused"],
        )
        cluster.until(
            lambda: sum(cluster.placement("llama", "research").values()) == 2, "the gang", 120
        )
    assert {move["room"] for move in made["moves"]} == {"research/llama"}
    assert sorted(move["node"] for move in made["moves"]) == ["n1", "n2", "n2"]
    assert len({move["batch"] for move in made["moves"]}) == 3
    [room] = made["policies"][0]["room"]
    assert (room["gpus"], room["before"], room["after"]) == (16, False, True)
    assert cluster.placement("llama", "research") == {"n1": 1, "n2": 1}
    assert loop.once()["moves"] == []
    assert not breaches()
    only_evictions_and_own_state(cluster.control_plane.audit.since(mark))
