"""A stage in virtual time for processes that act on one `World`: they crash, stall, lose replies.

Nothing sleeps and nothing is random here: who wants chance draws the faults from a seed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

import msgspec

from rescheduler.acting.actor import Actor
from rescheduler.actions.api_call import Api, ApiResponse, ServerClock
from rescheduler.actions.evict import (
    CALL_TIMEOUT,
    EvictionAnswer,
    annotations,
    eviction,
    eviction_answer,
)
from rescheduler.actions.kueue_workloads import KueueWorkloads
from rescheduler.actions.lease import Durations, Lease
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.seen_pod import read_pod
from rescheduler.actions.steering.extender_lease import NAME as EXTENDER
from rescheduler.actions.steering.extender_lease import ExtenderLease
from rescheduler.actions.steering.soft_taints import SoftTaints
from rescheduler.actions.steering.steering_table import TABLE, SteeringTable
from rescheduler.actions.stored_object import StoredObject
from rescheduler.kube.controllers import Controller, Owner
from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.kueue import ClusterQueue, LocalQueue
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.limits.holds import Holds, holds_of
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.sources.kubernetes.cluster import read_pods, read_queues
from rescheduler.sources.kubernetes.pod_reread import read_surroundings, read_workload
from rescheduler.sources.kubernetes.transport import GetResponse as Fetched
from rescheduler.sources.kubernetes.transport import RequestRefused
from rescheduler.steering.port import Port
from rescheduler.steering.steering import Steering
from tests.cluster import node
from tests.fakes.manners import copied
from tests.fakes.truth import STATE
from tests.fakes.world import World

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/rescheduler/leases"
MAPS = "/api/v1/namespaces/rescheduler/configmaps"


WIDE: dict[str, Any] = {
    "movesPerCycle": 100,
    "movesPerNode": 100,
    "movesPerNamespace": 100,
    "movesPerWorkload": 100,
    "minReplicas": 1,
}
"""Limits that leave it to the plan how many moves are made in a cycle, also of the last pod."""


class Killed(BaseException):
    """The process is gone, as after kill -9: none of its requests gets out any more."""


class Stage:
    """Virtual time and the cluster in it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.servers = [0.0]
        """Seconds by which the clock of each API server is wrong; they answer in turns."""
        self.world = World(self.now)

    def now(self) -> datetime:
        """The server's time."""
        return START + timedelta(seconds=self.seconds)


@dataclass
class Process:
    """One process of the rescheduler, with the requests that it has sent.

    before, after: called with the number of each request, around its effect; they may raise Killed,
    move the time on, or answer a fault: `lost` (no reply) or an HTTP status instead of the effect.
    wall: seconds by which this host's own clock is wrong; nothing may depend on it.
    namespaces: of which a snapshot has the pods.
    """

    stage: Stage
    name: str
    before: Callable[[int, str, str], str | int | None] = lambda *_: None
    after: Callable[[int, str, str], str | None] = lambda *_: None
    wall: float = 0.0
    limits: Limits = field(default_factory=lambda: Limits(**WIDE))
    policies: tuple[Policy, ...] = ()
    stopped: str = ""
    dead: bool = False
    sent: list[tuple[str, str]] = field(default_factory=list)
    announced: list[tuple[str, object, object]] = field(default_factory=list)
    objection: Callable[[PlannedMove, History], Problem | None] = lambda *_: None
    guarding: Callable[[], list[Problem]] = list
    missed: bool = False
    observed: int = 0
    warned: list[str] = field(default_factory=list)
    namespaces: tuple[str, ...] = ("default",)

    def __post_init__(self) -> None:
        self.clock = ServerClock(
            lambda: self.stage.seconds, lambda: self.stage.now() + timedelta(seconds=self.wall)
        )
        self.lease = _VirtualLease(
            self._stored(LEASES, "rescheduler"),
            where="rescheduler/rescheduler",
            identity=self.name,
            now=self.clock.now,
            steady=lambda: self.stage.seconds,
            wait=self._wait,
        )
        self.ledger = Ledger(
            self._stored(MAPS, "rescheduler-state"),
            where="rescheduler/rescheduler-state",
            marker=self.lease,
            clock=self.clock,
        )

    def _stored(self, collection: str, name: str) -> StoredObject:
        return _Stored(self, collection, name)

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> ApiResponse:
        """One request on this stage."""
        if self.dead:
            raise Killed
        number = len(self.sent)
        fault: str | int | None = None
        try:
            fault = self.before(number, method, path)
            self.sent.append((method, path))
            self.stage.seconds += 0.02
            if fault == "lost":
                self.stage.seconds += 5
                return ApiResponse(0, message="lost on the way")
            if isinstance(fault, int):
                return ApiResponse(fault, message=f"{fault} injected")
            # Through JSON and back, as on the wire.
            raw = None if body is None else msgspec.json.decode(msgspec.json.encode(body))
            offset = timedelta(seconds=self.stage.servers[number % len(self.stage.servers)])
            self.stage.world.offset = offset
            status, reply, headers = self.stage.world.handle(method, path, raw)
            fault = self.after(number, method, path)
            if fault == "repeated":
                self.stage.seconds += 5
                self.stage.world.tick()
                status, reply, headers = self.stage.world.handle(method, path, raw)
            if fault == "lost":
                self.stage.seconds += 5
                return ApiResponse(0, message="reply lost")
        except Killed:
            self.dead = True
            raise
        date = {"Date": format_datetime(self.stage.now() + offset, usegmt=True)}
        return ApiResponse(status, reply, {**headers, **date}, str(reply.get("message", "")))

    def sleep(self, seconds: float) -> None:
        """Let time pass; the lock is renewed meanwhile, as its thread does."""
        until = self.stage.seconds + seconds
        while self.stage.seconds < until:
            if self.lease.renew_at is not None and self.lease.renew_at <= until:
                self.stage.seconds = max(self.stage.seconds, self.lease.renew_at)
                self.lease.renew_on_time()
            else:
                self.stage.seconds = until
        self.stage.world.tick()

    def _wait(self, seconds: float) -> bool:
        self.stage.seconds += seconds
        return bool(self.stopped)

    def fetch(
        self,
        path: str,
        query: dict[str, str] | None = None,
        until: float | None = None,
        most: int = 0,
    ) -> Fetched:
        """A GET as `Connection` answers it."""
        asked = {key: value for key, value in (query or {}).items() if key != "limit"}
        answer = self.call("GET", path + (f"?{urlencode(asked)}" if asked else ""))
        if not answer.ok and answer.status not in (403, 404):
            about_it = answer.status in (400, 414, 431)
            raise (RequestRefused if about_it else ClusterUnavailable)(answer.message)
        body = msgspec.json.encode(answer.body)
        date = answer.date or self.stage.now()
        return Fetched(answer.status, body, answer.date, date, date)

    def _pods(self, namespace: str, selector: str = "", name: str = "") -> list[Pod]:
        return read_pods(cast("Connection", self), namespace, selector, name)

    def _observe(self) -> Snapshot:
        self.observed += 1
        pods = [pod for namespace in self.namespaces for pod in self._pods(namespace)]
        nodes = [node(name) for name in sorted({pod.node for pod in pods if pod.node})]
        world = self.stage.world
        controllers = [
            manifest
            for manifest in world.objects.values()
            if "replicas" in manifest.get("spec", {})
        ]
        world.count_pods(controllers)
        return Snapshot(
            taken=self.clock.now(),
            cluster=Cluster(uid="cluster-1"),
            nodes=nodes,
            pods=pods,
            controllers=[
                msgspec.convert(copied(controller), Controller) for controller in controllers
            ],
            owners=[
                owner
                for kind in ("CronJob", "JobSet", "LeaderWorkerSet")
                for owner in self._above(kind)
            ],
            gang_objects=self._known("workloads", GangObject),
            cluster_queues=self._known("clusterqueues", ClusterQueue),
            local_queues=self._known("localqueues", LocalQueue),
        )

    def _above(self, kind: str) -> list[Owner]:
        found: list[Owner] = self._known(f"{kind.lower()}s", Owner)
        for owner in found:
            owner.kind = kind
        return found

    def _known(self, kind: str, model: type[Any]) -> list[Any]:
        objects = self.stage.world.objects.items()
        return [msgspec.convert(copied(v), model) for (k, _, _), v in objects if k == kind]

    def _evict(self, move: PlannedMove, plan: str, fence: int) -> EvictionAnswer:
        return eviction_answer(self.call("POST", *eviction(move, annotations(move, plan, fence))))

    def _dry_run(self, move: PlannedMove, plan: str, fence: int) -> EvictionAnswer:
        asked = eviction(move, annotations(move, plan, fence), dry_run=True)
        return eviction_answer(self.call("POST", *asked))

    def steering_port(self) -> Port:
        """What this process steers by."""
        return Port(
            clock=self.clock.now,
            sleep=self.sleep,
            warn=lambda said, **_: self.warned.append(said),
            fence=lambda: self.ledger.fence,
            locked=lambda: self.lease.valid_for(CALL_TIMEOUT),
            tainted_nodes=self.limits.taintedNodes,
            table=SteeringTable(self._stored(MAPS, TABLE), where=f"rescheduler/{TABLE}"),
            taints=SoftTaints(self._stored),
            extender=ExtenderLease(self._stored(LEASES, EXTENDER), self.clock),
        )

    def actor(self) -> Actor:
        """The ports of this process."""
        self.ledger.keep = self.limits.keep
        return Actor(
            lease=self.lease,
            ledger=self.ledger,
            observe=self._observe,
            recheck=lambda seen, history: Objecting(self, seen, history),
            pod=lambda namespace, name: read_pod(partial(self.call, "GET"), namespace, name),
            pods=self._pods,
            reread=lambda namespace, name: read_surroundings(self, namespace, name),
            queues=lambda: read_queues(cast("Connection", self)),
            workload=lambda *asked: read_workload(self, *asked),
            evict=self._evict,
            dry_run=self._dry_run,
            announce=lambda move, became, _: self.announced.append(
                (move.pod.name, became.result, became.code)
            ),
            clock=self.clock.now,
            steady=lambda: self.stage.seconds,
            sleep=self.sleep,
            stop=lambda: self.stopped,
            limits=self.limits,
            policies=self.policies,
            steering=Steering(self.steering_port()),
            kueue=KueueWorkloads(self.call),
            warn=lambda said, **_: self.warned.append(said),
        )


def let_policies_act(stage: Stage) -> None:
    """As a person lets what the policies of the first run select act at once."""
    if STATE in stage.world.objects:
        return
    state = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"selections": "forget"}}
    stage.world.put(*STATE, state)


def warm(stage: Stage) -> Stage:
    """The stage as an earlier run left it: nothing begins slowly, and no policy is shown first."""
    before = Process(stage, "before")
    before.lease.acquire()
    history = before.ledger.open()
    history.rampSince = None
    history.acceptSelections = True
    before.ledger.write(history)
    before.lease.release()
    stage.seconds = 0.0
    return stage


@dataclass(frozen=True, slots=True)
class Objecting:
    """Stands for the part of the re-check that needs a placement: what the process is told.

    Where the process is `missed`, whom missing replacements hold follows from the snapshot, as in a
    real one.
    """

    process: Process
    snapshot: Snapshot
    history: History

    def guards(self) -> list[Problem]:
        held = self.holds.everybody if self.process.missed else ()
        return [*self.process.guarding(), *held]

    def refuse_held(self, move: PlannedMove, /) -> Problem | None:
        if not self.process.missed:
            return self.holds.distrust.refusal(move.owner.controllerKind, move.pod.namespace)
        return self.holds.refusal(move.pod.namespace, move.owner.controllerKind)

    @property
    def holds(self) -> Holds:
        limits = self.process.limits
        eligibility = Eligibility(self.snapshot, limits, self.history)
        return holds_of(
            self.snapshot, eligibility, limits, self.history, SchedulerModel(self.snapshot)
        )

    def check(self, move: PlannedMove, _: Sequence[PastMove], /) -> PlannedMove | Problem:
        return self.process.objection(move, self.history) or move


class _Stored(StoredObject):
    """The real store, with the stage for a network."""

    def __init__(self, process: Process, collection: str, name: str) -> None:
        super().__init__(cast("Api", process), collection, name, clock=process.clock)
        self.process = process

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> ApiResponse:
        answer = self.process.call(method, path, body)
        self.process.clock.hear(answer.date)
        return answer


class _VirtualLease(Lease):
    """The real lease; its thread is replaced by the virtual time of the stage."""

    renew_at: float | None = None

    def start(self) -> None:
        self.renew_at = self._steady() + self.durations.retry

    def renew_on_time(self) -> None:
        self.renew()
        self.renew_at = self._steady() + self.durations.retry if self.held else None

    def release(self) -> None:
        self.renew_at = None
        super().release()


__all__ = ["START", "WIDE", "Durations", "Killed", "Process", "Stage", "warm"]
