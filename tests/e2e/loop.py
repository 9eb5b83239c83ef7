"""The program on a test cluster, with the rights that deploy/ gives it, cycle after cycle."""

import base64
import gzip
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.audit import Records
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.program import ROOT, Finished, Program

Json = dict[str, Any]

KUSTOMIZE = ROOT / "deploy" / "kustomize"
NAMESPACE = "rescheduler"
ACTING, AUDITING = "rescheduler", "rescheduler-audit"
USER = f"system:serviceaccount:{NAMESPACE}:{ACTING}"
AUDITOR = f"system:serviceaccount:{NAMESPACE}:{AUDITING}"
WINDOW = 10
"""Seconds over which the tests' policies measure load."""

_RUNNING = {"CronJob", "Deployment", "Job", "Kustomization", "Component"}

SWIFT = """
apiVersion: rescheduler.io/v1alpha1
kind: Limits
metadata: {{name: swift}}
spec:
  movesPerCycle: {per_cycle}
  movesPerNode: {per_node}
  movesPerNamespace: 1000
  movesPerWorkload: {per_workload}
  movesPerHour: 900
  movesPerDay: 850
  cyclePeriod: 1s
  batchSize: {batch}
  auditFirst: 0s
  coolDown: 0s
  coolDownCap: 0s
  minPodAge: 0s
  minReadyTime: 0s
  minNodeAge: 0s
  maxHotShare: 50%
"""
"""Limits for a test that wants many moves in little time."""


def swift(per_cycle: int = 8, per_node: int = 8, per_workload: int = 1, batch: int = 4) -> str:
    """The text of SWIFT."""
    return SWIFT.format(
        per_cycle=per_cycle, per_node=per_node, per_workload=per_workload, batch=batch
    )


def utilization(**targets: str) -> str:
    """A Utilization policy over all pods and nodes, as `utilization(gpu="50%")`."""
    lines = "".join(f"    {name}: {{high: {high}}}\n" for name, high in targets.items())
    lines += "  wholeDevices: Count\n" if "gpu" in targets else ""
    return f"""
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {{name: hot}}
spec:
  match: {{all: true}}
  nodes: {{all: true}}
  targets:
{lines}  window: {WINDOW}s
  maxAge: 15s
"""


SPREAD = """
apiVersion: rescheduler.io/v1alpha1
kind: Spread
metadata: {name: zones}
spec:
  match: {namespaces: [default]}
  topologyKey: topology.kubernetes.io/zone
  maxSkew: 1
"""

CONFORMING = """
apiVersion: rescheduler.io/v1alpha1
kind: Conformity
metadata: {name: rules}
spec:
  match: {namespaces: [default]}
  nodeAffinity: {}
"""


def write_policies(folder: Path, *documents: str) -> Path:
    """A folder with these documents, as `--policies` takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, document in enumerate(documents):
        (folder / f"policy-{number}.yaml").write_text(document, encoding="utf-8")
    return folder


def manifests(overlay: str) -> list[Path]:
    """The files of an overlay in deploy/kustomize, its bases' and components' included."""
    return gathered(KUSTOMIZE / "overlays" / overlay)


def gathered(folder: Path) -> list[Path]:
    """The files that a kustomization or component gathers."""
    files: list[Path] = []
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    for entry in [*kustomization.get("resources", []), *kustomization.get("components", [])]:
        path = (folder / entry).resolve()
        files += gathered(path) if path.is_dir() else [path]
    return files


def install(cluster: Cluster, overlay: str, folder: Path, *, first: bool = False) -> Path:
    """Apply an overlay's objects but not what runs; the kubeconfig of its ServiceAccount.

    first: nothing has run before, so that it begins slowly; otherwise something has.
    """
    kept = folder / f"manifests-{overlay}"
    kept.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(manifests(overlay)):
        documents = [
            document
            for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
            if document and document["kind"] not in _RUNNING
        ]
        (kept / f"{number:02}.yaml").write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    apply_manifests(cluster.api, [kept], namespace=NAMESPACE)
    if not first:
        leave_past_run(cluster)
    account = ACTING if overlay.startswith("enforce") else AUDITING
    return cluster.control_plane.kubeconfig_for(NAMESPACE, account)


def leave_past_run(cluster: Cluster) -> None:
    """Leave the state and the Lease of a run that ended just now and had nothing to move."""
    now = datetime.now(UTC).isoformat()
    state = {"schemaVersion": 1, "fence": 1, "sequence": 1, "written": now, "history": {}}
    packed = gzip.compress(json.dumps(state).encode())
    digest = hashlib.sha256(packed).hexdigest()
    stored = cluster.api.read("v1", "ConfigMap", "rescheduler-state", NAMESPACE)
    encoded = base64.b64encode(packed).decode()
    data = {"paused": "false", "checksum": digest}
    cluster.api.patch(stored, {"data": data, "binaryData": {"state": encoded}})
    note = json.dumps({"fence": 1, "sequence": 1, "checksum": digest, "written": now})
    metadata = {"annotations": {"rescheduler.io/ledger": note}}
    cluster.api.apply(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "rescheduler", "namespace": NAMESPACE, **metadata},
        }
    )


def together(report: Json) -> Json:
    """A plan as it is; an outcome as its plan, each move of which also says what became of it."""
    if report["kind"] != "Outcome":
        return report
    plan = report["plan"]
    moves = [
        {**planned, **became}
        for planned, became in zip(plan["moves"], report["moves"], strict=True)
    ]
    return {**plan, **report, "moves": moves}


@dataclass
class Loop:
    """Runs `run --once` again and again, and keeps every report.

    more: further arguments. pause: seconds after a cycle that evicted; where the exact number of
    moves counts, the window of the readings, as a node at its target is else judged by a correction
    that is no finer than Prometheus scrapes.
    """

    program: Program
    policies: Path
    more: tuple[str | Path, ...] = ()
    pause: float = 0.0
    reports: list[Json] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def once(self, mode: str = "Enforce", code: int | None = 0, timeout: float = 180) -> Json:
        """One cycle; its report. `code` is the exit code that is expected, None for any.

        An outcome is reported as `together` has it.
        """
        done = self.program.run(
            "run",
            "--once",
            "--policies",
            self.policies,
            "--mode",
            mode,
            "-o",
            "json",
            *self.more,
            timeout=timeout,
        )
        assert code is None or done.code == code, f"exit {done.code}\n{done.stderr}\n{done.stdout}"
        assert done.stdout, f"exit {done.code}\n{done.stderr}"
        report = together(json.loads(done.stdout))
        self.reports.append(report)
        self.codes.append(done.code)
        return report

    def until_content(self, cycles: int = 20) -> list[Json]:
        """Cycles until one proposes nothing; all moves that were evicted.

        A move may be refused by its re-check (exit code 3): where several nodes are equally likely,
        earlier moves of the plan may have landed on others than were assumed.
        """
        for _ in range(cycles):
            report = self.once(code=None)
            refused = [m for m in report["moves"] if m.get("result") == "refused"]
            assert {move["code"] for move in refused} <= {"DRF004"}, refused
            silent = {policy["name"]: policy.get("problem") for policy in report["policies"]}
            assert self.codes[-1] == (3 if refused else 0), (report["verdict"], silent)
            if not report["moves"]:
                return self.evicted()
            time.sleep(self.pause)
        raise AssertionError(f"still moving after {cycles} cycles: {self.reports[-1]['moves']}")

    def evicted(self) -> list[Json]:
        """Every move that was accepted by the API server, in order."""
        return [
            move
            for report in self.reports
            for move in report["moves"]
            if move.get("result") == "evicted"
        ]


def plan(program: Program, policies: Path, *more: str | Path) -> tuple[Finished, Json]:
    """`plan -o json`: how it ended, and the plan."""
    done = program.run("plan", "--policies", policies, "-o", "json", *more)
    return done, json.loads(done.stdout)


def only_evictions_and_own_state(records: Records, *more: str) -> None:
    """Assert that our user wrote evictions, events, its Lease and its ConfigMap, and no more.

    more: what else it may write. It may always ask what it may do.
    """
    allowed = {"pods/eviction", "events", "leases", "configmaps", "selfsubjectaccessreviews", *more}
    for record in records.writes(by=USER):
        assert record.resource in allowed, (record.verb, record.resource, record.name)
        if record.resource in {"leases", "configmaps"}:
            assert record.name.startswith(f"{NAMESPACE}/rescheduler"), record.name
        if record.resource == "pods/eviction":
            options = record.requestObject["deleteOptions"]
            assert options["preconditions"]["uid"], record.name
            assert "gracePeriodSeconds" not in options


@contextmanager
def budgets_watched(cluster: Cluster) -> Iterator[Callable[[], list[str]]]:
    """Watch every PodDisruptionBudget; the answer lists each breach of a desired count.

    A budget whose controller has not counted yet (expectedPods 0) is not checked.
    """
    breaches: list[str] = []
    observations = 0
    stop = threading.Event()

    def watch() -> None:
        nonlocal observations
        while not stop.is_set():
            for item in cluster.api.items("policy/v1", "PodDisruptionBudget"):
                status = item.get("status", {})
                healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
                if status.get("expectedPods") and healthy < desired:
                    breaches.append(f"{item['metadata']['name']}: {healthy} of {desired}")
            observations += 1
            time.sleep(0.05)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()

    def reported() -> list[str]:
        assert observations > 10, "the budgets were hardly observed"
        return breaches

    try:
        yield reported
    finally:
        stop.set()
        thread.join()
