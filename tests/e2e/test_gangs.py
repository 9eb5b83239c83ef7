"""Gangs on real servers: spared, moved by their surplus, or as a whole; never torn.

PodGroups of Kubernetes itself are there too, and those that the Job controller makes for an Indexed
Job. The marks of LeaderWorkerSet and JobSet are as their controllers put them: constants of
api/leaderworkerset/v1 of sigs.k8s.io/lws v0.8.0 and api/jobset/v1alpha2 of sigs.k8s.io/jobset
v0.11.0.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.gang_kinds import GANG_KINDS, RUNNERS, served
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment, job, stateful_set
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.programs import USUAL, Features
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.controlplane.versions import MINOR
from tests.e2e.loop import USER, Json, Loop, install, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

GROUPS = f"scheduling.k8s.io/{'v1alpha2' if MINOR == 36 else 'v1beta1'}"
"""The version of the API that has PodGroups."""
GATES = ("GenericWorkload", "WorkloadWithJob", *(["GangScheduling"] if MINOR == 36 else []))
NATIVE = (
    Features(",".join(f"{gate}=true" for gate in GATES), f"{GROUPS}=true") if MINOR >= 36 else USUAL
)
POD_GROUP = "scheduling.x-k8s.io/pod-group"
SSD = {"disk": "ssd"}

RULES = """
apiVersion: rescheduler.io/v1alpha1
kind: Conformity
metadata: {{name: rules}}
spec:
  match: {{namespaces: [{namespace}]}}
  nodeAffinity: {{}}
"""


def pod_group(api_version: str, name: str, namespace: str, spec: Json) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec}


def native(name: str, minimum: int) -> list[Manifest]:
    """A PodGroup of Kubernetes and a Deployment of four that are its members."""
    policy = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    group = pod_group(GROUPS, name, "default", policy)
    member = {"podGroupName": name}
    return [group, deployment(name, 4, node_selector=SSD, schedulingGroup=member)]


def marked(name: str, minimum: int, namespace: str = "default") -> list[Manifest]:
    """A PodGroup of coscheduling and a Deployment of four that are its members."""
    spec = {"minMember": minimum}
    group = pod_group("scheduling.x-k8s.io/v1alpha1", name, namespace, spec)
    labels = {POD_GROUP: name}
    made = deployment(name, 4, namespace=namespace, node_selector=SSD, labels=labels)
    return [group, made]


def of_sets(cluster: Cluster) -> list[Manifest]:
    """A LeaderWorkerSet's StatefulSet and a JobSet's Job, below what their controllers watch."""
    spec: Json = {"spec": {}}
    metadata = {"namespace": "default"}
    sets = [
        {**spec, "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"},
        {**spec, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"},
    ]
    names = ("llm", "sweep")
    found = [
        cluster.api.apply({**manifest, "metadata": {**metadata, "name": name}})
        for manifest, name in zip(sets, names, strict=True)
    ]
    labels = {
        "leaderworkerset.sigs.k8s.io/name": "llm",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
        "leaderworkerset.sigs.k8s.io/group-key": "llm",
    }
    size = {"leaderworkerset.sigs.k8s.io/size": "4"}
    workers = stateful_set("llm", 4, node_selector=SSD, labels=labels, annotations=size)
    jobs = job("sweep", 4, node_selector=SSD, labels={"jobset.sigs.k8s.io/jobset-name": "sweep"})
    for made, owner in zip((workers, jobs), found, strict=True):
        made["metadata"]["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return [workers, jobs]


@dataclass
class Gangs:
    """A control plane that knows PodGroups itself, and the program with the rights of deploy/."""

    cluster: Cluster
    program: Program
    folder: Path

    def loop(self, gangs: str, namespace: str = "default") -> Loop:
        """The program under these `gangs`."""
        limits = f"{swift(per_workload=4, batch=8)}  gangs: {gangs}\n  jobs: Allow\n"
        rules = RULES.format(namespace=namespace)
        return Loop(self.program, write_policies(self.folder / gangs, rules, limits))

    def spoil(self, *names: str) -> None:
        """Give these nodes another kind of disk, so that the pods there should go."""
        for name in names:
            found = self.cluster.api.read("v1", "Node", name)
            self.cluster.api.patch(found, {"metadata": {"labels": {"disk": "hdd"}}})

    def evicted(self, mark: int) -> Counter[str]:
        """How many pods of each workload were evicted, from the audit log."""
        records = self.cluster.control_plane.audit.since(mark).evictions(by=USER)
        names = [record.name.partition("/")[2] for record in records if record.code == 201]
        return Counter(next(app for app in APPS if name.startswith(f"{app}-")) for name in names)

    def mark(self) -> int:
        """Where the audit log is now."""
        return self.cluster.control_plane.audit.mark()


SPARED = ("wide", "loose")
"""Gangs with a pod to spare."""
APPS = ("plain", "ring", "loose", "trial", "close", "wide", "llm", "sweep", "whole", "held")


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-gangs-"))
    made = ControlPlane(folder, features=NATIVE)
    try:
        with served(Cluster(made), [*GANG_KINDS, *RUNNERS]):
            yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def gangs(plane: ControlPlane, binary: Path, tmp_path: Path) -> Gangs:
    cluster = Cluster(plane)
    actor = Program(binary, install(cluster, "enforce-cronjob", tmp_path))
    return Gangs(cluster, actor, tmp_path)


def arrange(cluster: Cluster, made: Sequence[Manifest], places: Sequence[str]) -> None:
    """Create them, the workloads with their pods on these nodes."""
    cluster.create(*(manifest for manifest in made if manifest["kind"] == "PodGroup"))
    rows = [(manifest, places) for manifest in made if manifest["kind"] != "PodGroup"]
    cluster.arrange([(manifest, list(on)) for manifest, on in rows], deadline=240)


def refused(report: Json) -> dict[str, set[str]]:
    """The codes of the refusals, by workload."""
    found: dict[str, set[str]] = {}
    for refusal in report["refused"]:
        name = refusal["pod"]["name"]
        found.setdefault(next(app for app in APPS if name.startswith(app)), set()).add(
            refusal["code"]
        )
    return found


def _moves(loop: Loop, app: str) -> list[list[Json]]:
    """The moves of that workload in each cycle that had one."""
    found = [
        [move for move in report["moves"] if move["pod"]["name"].startswith(f"{app}-")]
        for report in loop.reports
    ]
    return [cycle_moves for cycle_moves in found if cycle_moves]


def test_gangs_are_never_torn(gangs: Gangs) -> None:
    cluster = gangs.cluster
    cluster.create(*nodes(6, cpu=32, memory="64Gi", zones=["a", "b"], labels=SSD))
    trial: dict[str, Any] = job("trial", 4, node_selector=SSD)
    trial["spec"]["completionMode"] = "Indexed"
    made = [
        *native("ring", 4),
        *native("loose", 3),
        trial,
        *marked("close", 4),
        *marked("wide", 3),
        *of_sets(cluster),
        deployment("plain", 4, node_selector=SSD),
    ]
    arrange(cluster, made, ["n1", "n1", "n2", "n3"])
    pods = cluster.pods("trial")
    assert all(pod["spec"].get("schedulingGroup") for pod in pods), "the Job controller's gang"
    gangs.spoil("n1")

    mark, loop = gangs.mark(), gangs.loop("Spare")
    loop.until_content()
    assert gangs.evicted(mark) == {"plain": 2}
    every = set(APPS) - {"plain", "whole", "held"}
    assert refused(loop.reports[-1]) == {app: {"ELG016"} for app in every}

    mark, loop = gangs.mark(), gangs.loop("Surplus")
    loop.until_content()
    assert gangs.evicted(mark) == dict.fromkeys(SPARED, 2), "three of four must run"
    moves = {app: _moves(loop, app) for app in SPARED}
    for app, found in moves.items():
        assert [len(cycle_moves) for cycle_moves in found] == [1, 1], f"{app}: one after the other"
    for move in (move for found in moves.values() for cycle_moves in found for move in cycle_moves):
        assert move["landedOn"] in {share["node"] for share in move["landing"]} - {"n1"}
    assert sum(cluster.placement("loose").values()) == 4
    codes = refused(loop.reports[-1])
    whole = ("ring", "trial", "close", "llm", "sweep")
    assert {app: codes[app] for app in whole} == {app: {"ELG027"} for app in whole}
    records = cluster.control_plane.audit.since(mark)
    lists = [r for r in records.reads(by=USER) if f"{GROUPS}/podg" in r.requestURI]
    assert {record.code for record in lists} == {200}


def test_a_gang_is_moved_as_a_whole_or_not_at_all(gangs: Gangs) -> None:
    cluster = gangs.cluster
    cluster.namespace("training")
    cluster.create(*nodes(6, prefix="t", cpu=32, memory="64Gi", zones=["a", "b"], labels=SSD))
    made = [*marked("whole", 4, "training"), *marked("held", 4, "training")]
    cluster.create(budget("held", namespace="training", min_available=4))
    arrange(cluster, made, ["t1"] * 4)
    gangs.spoil("t1")
    mark, loop = gangs.mark(), gangs.loop("Whole", "training")

    first = loop.once()

    assert gangs.evicted(mark) == {"whole": 4}, [
        (refusal["pod"]["name"], refusal["code"], refusal["message"])
        for refusal in first["refused"]
    ]
    assert {move["group"] for move in first["moves"]} == {f"training/whole ({POD_GROUP})"}
    assert [move["result"] for move in first["moves"]] == ["evicted"] * 4
    cluster.settled()
    places = cluster.placement("whole", namespace="training")
    assert sum(places.values()) == 4
    assert "t1" not in places
    loop.until_content()
    assert gangs.evicted(mark) == {"whole": 4}
    assert cluster.placement("held", namespace="training")["t1"] == 4
