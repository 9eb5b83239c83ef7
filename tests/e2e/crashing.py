"""Kills the program around a write of its own choosing, and judges what is left behind."""

import base64
import gzip
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.e2e.between import Between, Cut, Effect, When
from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.audit import Record, Records
from tests.e2e.controlplane.processes import free_ports
from tests.e2e.loop import NAMESPACE, SPREAD, USER, swift, write_policies
from tests.e2e.program import Program

Json = dict[str, Any]

STATE = "rescheduler-state"
DELAY = 120
"""Seconds after which the program gives up on an intent that shows no effect."""
ONCE: tuple[str, ...] = ("--once", "-o", "json")
SERVICE: tuple[str, ...] = ("--every", "1s")


@dataclass(frozen=True)
class Point:
    """A moment of a run: right before or after the `nth` write of a kind; see `Effect`."""

    kind: str
    nth: int
    when: When

    def __str__(self) -> str:
        return f"{self.when} {self.kind} {self.nth}"


@dataclass
class Crashes:
    """The program behind `Between`, on a cluster whose workloads all want to spread."""

    cluster: Cluster
    between: Between
    program: Program
    folder: Path
    mark: int = 0
    trail: str = "trail.jsonl"
    """Name of its audit trail, which one process at a time can write."""
    reached: list[Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.policies = write_policies(
            self.folder / "policies", SPREAD, swift(per_cycle=2, batch=1, per_workload=4)
        )
        self.mark = self.cluster.control_plane.audit.mark()

    def start(self, mode: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start `run` in mode Enforce."""
        more = list(mode)
        if "--every" in more:
            (port,) = free_ports(1)
            more += ["--listen", f"127.0.0.1:{port}"]
        trail = self.folder / self.trail
        given = ("--policies", self.policies, "--mode", "Enforce", "--audit-trail", trail)
        return self.program.start("run", *more, *given, log=log)

    def tilt(self) -> None:
        """Empty one zone, so that every workload wants to spread again."""
        zone = [n for n in self.cluster.api.items("v1", "Node") if _zone(n) == "c"]
        names = {node["metadata"]["name"] for node in zone}
        for node in zone:
            self.cluster.api.patch(node, {"spec": {"unschedulable": True}})
        for pod in self.cluster.pods():
            if pod["spec"].get("nodeName") in names:
                self.cluster.api.delete(pod)
        self.cluster.until(lambda: not names & set(self.cluster.placement()), "an empty zone")
        self.cluster.settled()
        for node in zone:
            self.cluster.api.patch(node, {"spec": {"unschedulable": None}})

    def calm(self) -> list[Effect]:
        """One run that nobody disturbs; its writes."""
        self.between.forget()
        log = self.folder / f"calm-{time.monotonic_ns()}.log"
        process = self.start(ONCE, log)
        assert process.wait(120) == 0, log.read_text(encoding="utf-8")
        return list(self.between.effects)

    def crash(self, point: Point, mode: Sequence[str] = ONCE) -> bool:
        """Start it and kill it there; False where a single run never came so far."""
        log = self.folder / f"{point}.log".replace(" ", "-")
        started, hit = threading.Event(), threading.Event()
        running: list[subprocess.Popen[bytes]] = []

        def kill(effect: Effect, when: When) -> None:
            if hit.is_set():
                raise Cut
            if (effect.kind, effect.nth, when) != (point.kind, point.nth, point.when):
                return
            hit.set()
            started.wait()
            running[0].kill()
            running[0].wait()
            raise Cut

        self.between.forget(kill)
        running.append(self.start(mode, log))
        started.set()
        try:
            limit = time.monotonic() + 120
            while not hit.is_set() and running[0].poll() is None:
                assert time.monotonic() < limit, f"{point}: {log.read_text(encoding='utf-8')}"
                time.sleep(0.05)
            code = running[0].wait(30)
        finally:
            end(running[0])
        self.between.forget()
        if hit.is_set():
            assert code == -9, code
            self.reached.append(point)
        else:
            assert code in (0, 3), f"{point}: exit {code}\n{log.read_text(encoding='utf-8')}"
        self.judge(str(point))
        self.expire()
        self.cluster.settled()
        return hit.is_set()

    def expire(self) -> None:
        """Let the dead holder's lock be over at once, which else takes its minute."""
        lease = self.cluster.api.read("coordination.k8s.io/v1", "Lease", "rescheduler", NAMESPACE)
        self.cluster.api.patch(lease, {"spec": {"holderIdentity": None}})

    def evictions(self) -> list[Record]:
        """Every eviction of ours that the API server has accepted."""
        return accepted(self.cluster.control_plane.audit.since(self.mark))

    def judge(self, what: str) -> None:
        """Nothing was evicted twice, and all that was evicted is charged and was intended first."""
        records = self.cluster.control_plane.audit.since(self.mark)
        judge(records, what)
        charged = {m["podUid"] for m in moves(self.cluster) if m.get("state") != "refused"}
        forgotten = {uid(record) for record in accepted(records)} - charged
        assert not forgotten, f"{what}: evicted, and not charged: {forgotten}"

    def recover(self) -> None:
        """What is left open is closed by the next run, once its time is over."""
        done = {uid(eviction) for eviction in self.evictions()}
        unapplied = [m["at"] for m in intents(self.cluster) if m["podUid"] not in done]
        if unapplied:
            age = datetime.now(UTC) - max(map(datetime.fromisoformat, unapplied))
            time.sleep(max(0.0, DELAY + 2 - age.total_seconds()))
        self.calm()
        self.judge("the run after the last crash")
        left = intents(self.cluster)
        assert not left, f"intents that nobody closed: {left}"


@contextmanager
def behind_a_proxy(cluster: Cluster, actor: Program, folder: Path) -> Iterator[Crashes]:
    """That program behind a proxy that sees its writes and can kill it around each of them."""
    plane = cluster.control_plane
    assert actor.kubeconfig is not None
    between = Between(plane.url, plane.layout.authority)
    try:
        proxied = between.kubeconfig(actor.kubeconfig, folder / "between.kubeconfig")
        yield Crashes(cluster, between, replace(actor, kubeconfig=proxied), folder)
    finally:
        between.stop()


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill it unless it has ended."""
    if process.poll() is None:
        process.kill()
        process.wait()


def _zone(node: Json) -> str:
    return str(node["metadata"]["labels"]["topology.kubernetes.io/zone"])


def uid(record: Record) -> str:
    """The UID of the pod that an eviction names."""
    return str(record.requestObject["deleteOptions"]["preconditions"]["uid"])


def accepted(records: Records) -> list[Record]:
    """The evictions of ours that the API server has accepted."""
    return [record for record in records.evictions(by=USER) if record.code == 201]


def judge(records: Records, what: str) -> None:
    """From the audit log alone: each pod evicted once, and its intent stored before."""
    counts = Counter(uid(record) for record in accepted(records))
    assert all(count == 1 for count in counts.values()), f"{what}: evicted twice: {counts}"
    intended: set[str] = set()
    for record in records.writes(by=USER):
        if record.name == f"{NAMESPACE}/{STATE}" and record.code < 300:
            stored = unpacked(record.requestObject)
            if stored is not None:
                intended = {m["podUid"] for m in stored["history"].get("moves", [])}
        if record.resource == "pods/eviction":
            assert uid(record) in intended, f"{what}: {record.name} was evicted without an intent"


def unpacked(config_map: Json) -> Json | None:
    """The state in a ConfigMap, or None where there is none."""
    packed = (config_map.get("binaryData") or {}).get("state")
    return json.loads(gzip.decompress(base64.b64decode(packed))) if packed else None


def state(cluster: Cluster) -> Json:
    """The ConfigMap of the durable state."""
    return cluster.api.read("v1", "ConfigMap", STATE, NAMESPACE)


def intents(cluster: Cluster) -> list[Json]:
    """The moves in the durable state of which nobody has found out what became of them."""
    return [m for m in moves(cluster) if m.get("state", "intended") == "intended"]


def moves(cluster: Cluster) -> list[Json]:
    """The moves in the durable state."""
    stored = unpacked(state(cluster))
    assert stored is not None, "there is no state"
    return list(stored["history"].get("moves", []))
