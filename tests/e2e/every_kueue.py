"""Gangs that Kueue itself runs, on real servers: `make e2e-kueue`.

What `tests.fakes.kueue` imitates is seen here of the real one: a Workload that is deleted suspends
its Job or JobSet, whose pods all go, and is made and admitted again, without anybody to resume it.
"""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.jobset import API as JOBSETS
from tests.e2e.builders.jobset import jobset, jobset_controller
from tests.e2e.builders.kueue import API, admitted, kueue, queue, workloads
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import job
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.controlplane.processes import Process
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.loop import CONFORMING, NAMESPACE, USER, Json, Loop, install, swift, write_policies
from tests.e2e.program import ROOT, Program

pytestmark = pytest.mark.e2e

SSD = {"disk": "ssd"}
LIMITS = f"{swift(per_workload=4, batch=8)}  gangs: Whole\n  kueue: Restart\n"
KIND = {"apiVersion": API, "kind": "Workload"}
DEPLOY = ROOT / "deploy" / "kustomize"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A control plane of its own, as Kueue leaves finalizers behind."""
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-kueue-"))
    made = ControlPlane(folder)
    try:
        yield Cluster(made)
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def running(cluster: Cluster, tmp_path: Path) -> Iterator[Process]:
    with kueue(cluster, tmp_path) as process:
        yield process


@pytest.fixture
def running_jobsets(cluster: Cluster, tmp_path: Path) -> Iterator[Process]:
    more = ("jobset.x-k8s.io/jobset",)
    with jobset_controller(cluster, tmp_path), kueue(cluster, tmp_path, *more) as process:
        yield process


@pytest.fixture
def loop(cluster: Cluster, binary: Path, tmp_path: Path) -> Loop:
    actor = Program(binary, install(cluster, "enforce-cronjob", tmp_path))
    return Loop(actor, write_policies(tmp_path / "policies", CONFORMING, LIMITS))


def permit(cluster: Cluster) -> None:
    """The component kueue-restart and the fence, with the namespace that it asks for."""
    for component in ("kueue-restart", "fence"):
        said = yaml.safe_load((DEPLOY / component / "kustomization.yaml").read_text())
        apply_manifests(
            cluster.api,
            [DEPLOY / component / resource for resource in said["resources"]],
            NAMESPACE,
        )
    default = cluster.api.read("v1", "Namespace", "default")
    cluster.api.patch(default, {"metadata": {"labels": {"rescheduler.io/evictions": "allowed"}}})


def training(cluster: Cluster) -> None:
    """A Job of Kueue with four pods on n1, see `misplaced`."""
    made = job("train", 4, node_selector=SSD, cpu=1, memory=None)
    made["spec"] |= {"suspend": True, "completionMode": "Indexed"}
    misplaced(cluster, made, 4)


def misplaced(cluster: Cluster, made: Manifest, size: int) -> None:
    """What Kueue runs, with all its pods on n1, which then turns out to be of another kind."""
    cluster.create(*nodes(1, cpu=32, memory="64Gi", labels=SSD), *queue("8"))
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    cluster.create(made)
    cluster.until(lambda: len(ready(cluster)) == size, "Kueue starts it", deadline=120)
    for number, cpu in enumerate((16, 7, 3)):  # no two alike, so that little is a toss-up
        more = nodes(1, prefix=f"m{number}-", cpu=cpu, memory=f"{2 * cpu}Gi", labels=SSD)
        cluster.create(*more)
    found = cluster.api.read("v1", "Node", "n1")
    cluster.api.patch(found, {"metadata": {"labels": {"disk": "hdd"}}})


def of_train(cluster: Cluster) -> Manifest:
    """The Workload of the Job or JobSet."""
    names = ("job-train-", "jobset-train-")
    (found,) = (
        workload
        for workload in workloads(cluster)
        if workload["metadata"]["name"].startswith(names)
    )
    return found


def jobs(cluster: Cluster) -> set[str]:
    """The UIDs of all Jobs."""
    return {manifest["metadata"]["uid"] for manifest in cluster.api.items("batch/v1", "Job")}


def ready(cluster: Cluster) -> list[Manifest]:
    return [
        pod
        for pod in cluster.pods("train")
        if any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in pod.get("status", {}).get("conditions", [])
        )
    ]


def written(cluster: Cluster, mark: int) -> Counter[tuple[str, int]]:
    """What our account deleted and evicted, with the answers."""
    records = cluster.control_plane.audit.since(mark)
    asked = records.on("workloads", "pods/eviction").writes(by=USER)
    return Counter((record.resource, record.code) for record in asked)


def landed_as_predicted(report: Json) -> None:
    """On each node as many as was expected; which of the pods comes first nobody knows.

    Where the last pod may take one of two nodes, half of it was expected on each.
    """
    expected: Counter[str] = Counter()
    for move in report["moves"]:
        expected.update({share["node"]: share["probability"] for share in move["landing"]})
        assert move["predicted"] > 0, move
    landed = Counter(move["landedOn"] for move in report["moves"])
    assert landed == pytest.approx(expected, abs=0.5)
    assert "n1" not in landed


def told(report: Json) -> list[tuple[str, str]]:
    return [(refusal["code"], refusal["message"]) for refusal in report["refused"]]


def test_kueue_stops_and_starts_a_gang_that_nothing_else_may_move(
    cluster: Cluster, running: Process, loop: Loop
) -> None:
    training(cluster)
    before = of_train(cluster)
    uids = {pod["metadata"]["uid"] for pod in ready(cluster)}

    # Without the right nothing is even planned, and it is said.
    mark = cluster.control_plane.audit.mark()
    first = loop.once(code=1)
    assert first["moves"] == []
    assert "ACT022" in {note["code"] for note in first["notes"]}, first["notes"]
    assert {code for code, _ in told(first)} == {"ELG029"}

    permit(cluster)
    cluster.create(budget("train", min_available=2))
    cluster.until(lambda: allowed(cluster) == 2, "the budget is counted")
    held(loop, "BUD002")
    cluster.api.delete(cluster.api.read("policy/v1", "PodDisruptionBudget", "train", "default"))

    rival = job("rival", 1, node_selector=SSD, cpu=20, memory=None)
    rival["spec"]["suspend"] = True
    rival["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    cluster.create(rival)
    cluster.until(lambda: pending(cluster) == 1, "the rival waits")
    held(loop, "ELG034")
    (waits,) = (
        workload
        for workload in workloads(cluster)
        if workload["metadata"]["name"].startswith("job-r")
    )
    cluster.api.patch({**waits, **KIND}, {"spec": {"active": False}})
    cluster.until(lambda: pending(cluster) == 0, "its ClusterQueue says so")
    assert written(cluster, mark) == {}

    report = loop.once()
    assert [move["result"] for move in report["moves"]] == ["evicted"] * 4, told(report)
    assert written(cluster, mark) == {("workloads", 200): 1}
    landed_as_predicted(report)
    after = ready(cluster)
    assert len(after) == 4
    assert not {pod["metadata"]["uid"] for pod in after} & uids
    now = of_train(cluster)
    assert admitted(now)
    assert now["metadata"]["name"] == before["metadata"]["name"]
    assert now["metadata"]["uid"] != before["metadata"]["uid"]
    found = cluster.api.read("batch/v1", "Job", "train", "default")
    assert found["status"].get("failed", 0) == 0, "a suspended Job counts no failure"
    loop.until_content()
    assert written(cluster, mark) == {("workloads", 200): 1}


def test_kueue_stops_and_starts_a_jobset_with_all_its_jobs(
    cluster: Cluster, running_jobsets: Process, loop: Loop
) -> None:
    made = jobset(
        "train", {"driver": (1, 1), "worker": (2, 2)}, node_selector=SSD, cpu=1, memory=None
    )
    misplaced(cluster, made, 5)
    permit(cluster)
    mark = cluster.control_plane.audit.mark()
    before, uids = of_train(cluster), {pod["metadata"]["uid"] for pod in ready(cluster)}
    made_jobs = jobs(cluster)
    assert len(made_jobs) == 3

    # Its annotation stands for all pods below its Jobs.
    found = cluster.api.read(JOBSETS, "JobSet", "train", "default")
    cluster.annotate(found, **{"rescheduler.io/opt-out": "true"})
    held(loop, "ELG011")
    assert written(cluster, mark) == {}
    cluster.annotate(found, **{"rescheduler.io/opt-out": None})

    report = loop.once()
    assert [move["result"] for move in report["moves"]] == ["evicted"] * 5, told(report)
    assert written(cluster, mark) == {("workloads", 200): 1}
    landed_as_predicted(report)
    after = ready(cluster)
    assert len(after) == 5
    assert not {pod["metadata"]["uid"] for pod in after} & uids
    now = of_train(cluster)
    assert admitted(now)
    assert now["metadata"]["name"] == before["metadata"]["name"]
    assert now["metadata"]["uid"] != before["metadata"]["uid"]
    found = cluster.api.read(JOBSETS, "JobSet", "train", "default")
    assert found["status"].get("restarts", 0) == 0, "a suspended JobSet counts no failure"
    assert jobs(cluster) == made_jobs, "its Jobs are suspended, not created again"
    loop.until_content()
    assert written(cluster, mark) == {("workloads", 200): 1}


def held(loop: Loop, code: str) -> None:
    """It is held for this reason, once the API server knows of what was just applied."""
    until = time.monotonic() + 60
    while True:
        report = loop.once()
        assert report["moves"] == []
        if {reported_code for reported_code, _ in told(report)} == {code}:
            return
        assert time.monotonic() < until, (told(report), report["notes"])


def pending(cluster: Cluster) -> int:
    found = cluster.api.read(API, "ClusterQueue", "all")
    return int(found["status"]["pendingWorkloads"])


def allowed(cluster: Cluster) -> int:
    found = cluster.api.read("policy/v1", "PodDisruptionBudget", "train", "default")
    return int(found.get("status", {}).get("disruptionsAllowed", -1))


def test_a_workload_deleted_while_kueue_is_down_is_stopped_later(
    cluster: Cluster, running: Process
) -> None:
    """The finalizer holds it, so that nothing is lost, no matter who is killed."""
    training(cluster)
    before = of_train(cluster)
    uids = {pod["metadata"]["uid"] for pod in ready(cluster)}
    with running.held():
        cluster.api.delete({**before, **KIND})
        held = of_train(cluster)
        assert held["metadata"]["deletionTimestamp"]
        assert {pod["metadata"]["uid"] for pod in ready(cluster)} == uids
    cluster.until(
        lambda: (
            len(ready(cluster)) == 4
            and not {pod["metadata"]["uid"] for pod in ready(cluster)} & uids
        ),
        "Kueue starts it again",
        deadline=120,
    )
