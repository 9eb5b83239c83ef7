"""Predicted landings against the decisions of the real kube-scheduler.

Clusters of mixed features come from seeds; pods are evicted one at a time, and where the real
scheduler puts the replacement is compared with what the model said before. The environment
variables LANDING_DECISIONS, LANDING_CLUSTERS and LANDING_SEED make a longer run.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import numpy as np
import pytest

from rescheduler.model.move import Landing
from rescheduler.model.snapshot import Snapshot
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.sources.kubernetes import read_cluster
from rescheduler.sources.kubernetes_client import connect
from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.cleaning import Cleaner
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.landing_mix import NAMESPACES, Mix

pytestmark = pytest.mark.e2e

DECISIONS = int(os.environ.get("LANDING_DECISIONS", "100"))
CLUSTERS = int(os.environ.get("LANDING_CLUSTERS", "6"))
SEED = int(os.environ.get("LANDING_SEED", "1"))
WAITING = 6.0
"""Seconds after which a replacement that is still unbound counts as unschedulable."""


def test_landings_are_those_of_the_real_scheduler(
    control_plane: ControlPlane, cleaner: Cleaner
) -> None:
    tally: Counter[str] = Counter()
    shape: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(CLUSTERS):
        seed = SEED + number
        cleaner.clean()
        cluster = Cluster(control_plane)
        _build(cluster, seed)
        for verdict, story, kinds in _decide(cluster, Random(seed), DECISIONS // CLUSTERS):
            tally[verdict] += 1
            shape.update(kinds)
            if verdict in _WRONG:
                wrong.append(f"seed {seed}: {verdict}: {story}")
    sys.stderr.write(
        f"\nlandings: {dict(tally)} {dict(shape)}\n" + "".join(f"{each}\n" for each in wrong)
    )
    decided = sum(tally.values())
    assert decided >= DECISIONS * 0.8
    assert not [each for each in wrong if "elsewhere" not in each]
    assert tally["best"] >= 0.99 * (decided - tally["unschedulable"])


_WRONG = ("elsewhere", "infeasible", "not predicted to be bound", "not predicted to wait")


def _build(cluster: Cluster, seed: int) -> None:
    """Make the cluster of that seed; workloads with a pod that does not fit are taken away."""
    mix = Mix(seed)
    for name, labels in NAMESPACES.items():
        if name != "default":
            cluster.namespace(name, labels)
    cluster.create(*mix.nodes())
    cluster.until(lambda: not _tainted(cluster), "nodes without the taint of their birth")
    for manifest in mix.workloads():
        cluster.create(manifest)
    cluster.until(lambda: _answered(cluster), "an answer for every pod")
    for pod in cluster.pods():
        if not pod["spec"].get("nodeName"):
            owner = pod["metadata"]["labels"]["app"]
            _remove(cluster, owner, pod["metadata"]["namespace"])
    cluster.until(lambda: _quiet(cluster), "a quiet cluster", 60)


def _tainted(cluster: Cluster) -> list[str]:
    return [
        node["metadata"]["name"]
        for node in cluster.api.items("v1", "Node")
        if any(taint["key"].endswith("/not-ready") for taint in node["spec"].get("taints", []))
    ]


def _answered(cluster: Cluster) -> bool:
    """Whether all wanted pods exist, and each is bound or was refused by the scheduler."""
    wanted = 0
    for kind in ("Deployment", "StatefulSet"):
        wanted += sum(item["spec"]["replicas"] for item in cluster.api.items("apps/v1", kind))
    pods = cluster.pods()
    return len(pods) == wanted and all(_bound(pod) or _refused(pod) for pod in pods)


def _remove(cluster: Cluster, app: str, namespace: str) -> None:
    for kind in ("deployments", "statefulsets"):
        path = f"/apis/apps/v1/namespaces/{namespace}/{kind}/{app}"
        cluster.api.delete_path(path)


def _bound(pod: Manifest) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _refused(pod: Manifest) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions)


def _quiet(cluster: Cluster) -> bool:
    return all(_bound(pod) and "deletionTimestamp" not in pod["metadata"] for pod in cluster.pods())


def _decide(cluster: Cluster, random: Random, count: int) -> Iterator[tuple[str, str, list[str]]]:
    """Evict pods one at a time; yields a verdict, what happened, and what was hard about it."""
    connection = connect(cluster.control_plane.kubeconfig, None)
    for _ in range(count):
        made = read_cluster(connection)
        model = SchedulerModel(made)
        pod = random.randrange(len(made.pods))
        landing = model.landing(pod)
        feasible = {
            made.nodes[index].metadata.name for index in np.flatnonzero(model.feasible(pod))
        }
        assert landing.refusal is None, landing.refusal
        node = _evict(cluster, made, pod)
        yield *_judge(made, pod, landing, feasible, node), _kinds(landing, feasible)
        if not node:
            metadata = made.pods[pod].metadata
            _remove(cluster, (metadata.labels or {})["app"], metadata.namespace)
        cluster.until(lambda: _quiet(cluster), "a quiet cluster", 60)


def _kinds(landing: Landing, feasible: set[str]) -> list[str]:
    """What makes a prediction more than a guess: one winner among many, or an unlikely place."""
    told = {
        "one winner": len(landing.nodes) == 1,
        "of ten or more": len(feasible) >= 10,
        "comes back": landing.returns > 0,
        "nothing else feasible": len(feasible) == 1,
    }
    return [kind for kind, holds in told.items() if holds]


def _evict(cluster: Cluster, made: Snapshot, pod: int) -> str:
    """Evict the pod; answers the node of its replacement, "" where it stays unbound."""
    chosen = made.pods[pod]
    known = {each.metadata.uid for each in made.pods}
    manifest = cluster.api.read("v1", "Pod", chosen.metadata.name, chosen.metadata.namespace)
    assert cluster.api.evict(manifest) == 201
    limit = time.monotonic() + 30

    def replacement() -> Manifest | None:
        fresh = [each for each in cluster.pods() if each["metadata"]["uid"] not in known]
        return fresh[0] if fresh else None

    _wait(lambda: replacement() is not None, limit)
    # Refused beside the old pod, it is tried again when that is gone.
    _wait(lambda: _bound(replacement() or {"spec": {}}), time.monotonic() + WAITING)
    found = replacement()
    assert found is not None
    return str(found["spec"].get("nodeName", ""))


def _wait(met: Callable[[], bool], limit: float) -> None:
    while not met() and time.monotonic() < limit:
        time.sleep(0.1)


def _judge(
    made: Snapshot, pod: int, landing: Landing, feasible: set[str], node: str
) -> tuple[str, str]:
    best = [made.nodes[index].metadata.name for index in landing.nodes.tolist()]
    chosen = made.pods[pod]
    story = (
        f"{chosen.controller.kind if chosen.controller else ''} {chosen.key} left {chosen.node}, "
        f"predicted {best or 'nowhere'} of {len(feasible)}, bound to {node or 'no node'}, "
        f"rejections {landing.rejections}"
    )
    if not node:
        agreed = landing.unschedulable == 1.0
        return ("unschedulable" if agreed else "not predicted to wait"), story
    if landing.unschedulable:
        return "not predicted to be bound", story
    if node not in feasible:
        return "infeasible", story
    return ("best" if node in best else "elsewhere"), story
