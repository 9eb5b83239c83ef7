"""What was true, and what each process could know, when the API server accepted an eviction."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from rescheduler.model.moves.past_move import PastMove
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from tests.simulation.objects import (
    STATE,
    Object,
    is_ready,
    leaving,
    moment_of,
    owner_uid,
    takes_pods,
    uid_of,
)
from tests.simulation.process import Cycle, Process
from tests.simulation.universe import Request, Universe
from tests.simulation.virtual_time import START

RE_READ = 6.0
"""Seconds: what was read at most 5 s before, and the requests between."""


@dataclass
class Evicted:
    """An eviction that the API server accepted. left, replaced: when in truth, or None."""

    at: float
    process: Process
    cycle: Cycle
    pod: Object
    body: Object
    controller: str
    workload: str
    wanted: int
    move: PastMove | None
    fence: int
    used: float = 0.0
    """CPUs, as the mean over the window of the policies when it was evicted."""
    late: bool = False
    """Whether its process stood still after its last gate; another one may have taken over."""
    left: float | None = None
    """When the pod began to go; of a gang that is stopped, once Kueue has seen that."""
    replaced: float | None = None
    stop: str = ""
    """The UID of the Workload that was deleted instead, whose pods all go at once."""
    peers: tuple[Object, ...] = ()
    """All pods that go with it, itself included."""

    @property
    def uid(self) -> str:
        """The pod's."""
        return uid_of(self.pod)

    @property
    def node(self) -> str:
        """Where it was."""
        return str(self.pod["spec"]["nodeName"])

    @property
    def notes(self) -> dict[str, str]:
        """The annotations of the request; of a gang that Kueue stops what the ledger says."""
        if not self.stop:
            return dict(self.body["metadata"]["annotations"])
        fence, policies = (self.move.fence, self.move.policies) if self.move else (0, [])
        return {"rescheduler.io/fence": str(fence), "rescheduler.io/policies": ",".join(policies)}

    def __str__(self) -> str:
        return (
            f"{self.pod['metadata']['name']} ({self.uid}) at {self.at:.1f} by {self.process.name}"
        )


@dataclass
class Knowledge:
    """What a process was told, and when, by the true time."""

    read: dict[str, float] = field(default_factory=dict)
    """By what (`nodes`, `poddisruptionbudgets`, `pods/NAME`, ...), without the time apart."""
    allowed: dict[str, int] = field(default_factory=dict)
    """By PodDisruptionBudget, its allowance."""
    not_ready: tuple[int, int] = (0, 0)
    """Nodes that are not Ready, of how many."""
    odd: set[str] = field(default_factory=set)
    """Nodes whose metrics were unfit."""
    partial: bool = False
    """Whether one of the answers with metrics was empty or in part."""
    stop: float | None = None
    """When it was asked to stop."""
    asked: list[tuple[float, str, int]] = field(default_factory=list)
    """Its evictions in this cycle: when, of which pod, and the answer; -1 where it stood still."""
    after_stop: int = 0
    policies: dict[str, str] = field(default_factory=dict)
    """The policies of its cycle, and the meaning that each has."""
    apart: float = 0.0
    """How long it had stood still in its cycle when it last read anything."""
    refused: set[str] = field(default_factory=set)
    """Pods that it may not read by themselves, so that a list of pods stands for them."""

    def see(self, what: str, at: float) -> None:
        """It was answered that."""
        self.read[what] = at
        if what == "pods":
            self.read |= dict.fromkeys(self.refused, at)
        self.refused.discard(what)


class Ground:
    """Watches a universe; `broken` has every promise that did not hold, by its number."""

    def __init__(self, universe: Universe, limits: Limits, protected: frozenset[str]) -> None:
        """protected: the apps none of whose pods may ever be evicted."""
        self.universe = universe
        self.limits = limits
        self.protected = protected
        self.broken: list[str] = []
        self.evicted: list[Evicted] = []
        self._unsettled: list[Evicted] = []
        """Those of them that are not replaced yet."""
        self.stops: list[str] = []
        """The UIDs of the Workloads of Kueue that we deleted."""
        self.known: dict[str, Knowledge] = defaultdict(Knowledge)
        self.since: dict[str, float] = {}
        """Since when something has been so that forbids evictions: `node/n1`, `owner/UID`, ..."""
        self.maintained: set[str] = set()
        """Nodes that bear a soft taint of somebody else."""
        self.paused: float | None = None
        self.fences: list[int] = [0]
        self.stood: set[str] = set()
        """Pods that were Ready at the end of a cycle."""
        self.changed_at = 0.0
        self.shown: dict[tuple[str, str], float] = {}
        """When a run first had each policy with that meaning; those of the first run always were.
        """
        self.reached: Counter[str] = universe.reached
        universe.watchers.append(self)
        cluster = universe.cluster
        cluster.on_accept = self._accept
        cluster.changed.append(self._change)

    def break_(self, number: str, what: str) -> None:
        """A promise does not hold."""
        self.broken.append(f"{number} {what}")

    @property
    def seconds(self) -> float:
        """The true time."""
        return self.universe.timeline.seconds

    def _change(self) -> None:
        self.changed_at = self.seconds
        self._settle()

    # --- the log of the server

    def _accept(self, pod: Object, body: Object) -> None:
        self._judge([self._evicted(pod, body)])
        self.reached["evicted"] += 1

    def stop(self, workload: Object, pods: list[Object]) -> None:
        """A Workload of Kueue is deleted by us, and these pods will go.

        One that has come since its gang was last looked at stands for the one that it replaces.
        """
        before = [self._evicted(pod, {}) for pod in pods]
        unseen = RE_READ + self.slack()
        if before:
            process, cycle = before[0].process, before[0].cycle
            unseen += cycle.apart - self.known[process.name].apart
        found = [e for e in before if e.move or self.age(e.pod) > unseen]
        for eviction in found:
            eviction.stop, eviction.peers = uid_of(workload), tuple(e.pod for e in found)
        if uid_of(workload) in self.stops:
            self.break_("I03", f"Workload {uid_of(workload)} was stopped before")
        self.stops.append(uid_of(workload))
        self._judge(found)
        self.reached["gang stopped"] += 1

    def _judge(self, found: list[Evicted]) -> None:
        from tests.simulation.invariants_of_evictions import (  # noqa: PLC0415 - it names us
            EVEN_IF_LATE,
            ON_EVICTION,
        )

        for evicted in found:
            # What had passed its last gate when its process was stopped can come at any time.
            evicted.late = evicted.cycle.apart > self.known[evicted.process.name].apart
            self.reached["late request"] += evicted.late
            for check in ON_EVICTION[:EVEN_IF_LATE] if evicted.late else ON_EVICTION:
                for violation in check(self, evicted):
                    self.break_(check.__name__[:3].upper(), f"{evicted}: {violation}")
        self.evicted += found
        self._unsettled += found

    def _evicted(self, pod: Object, body: Object) -> Evicted:
        process = self.universe.sender
        if process is None or process.cycle is None:
            raise AssertionError("nobody has sent this")
        controller = owner_uid(pod)
        state = self.universe.state()
        uid = uid_of(pod)
        moves = [] if state is None else state.history.moves
        return Evicted(
            at=self.seconds,
            process=process,
            cycle=process.cycle,
            pod=pod,
            body=body,
            controller=controller,
            workload=self.workload_of(controller),
            wanted=self.wanted(controller),
            move=next((move for move in reversed(moves) if move.podUid == uid), None),
            fence=0 if state is None else state.fence,
            used=self.universe.metrics.used(uid),
        )

    def on_request(self, process: Process, request: Request) -> None:
        """A request that may change something has reached the API server."""
        from tests.simulation.invariants import ON_REQUEST  # noqa: PLC0415 - it names us

        for check in ON_REQUEST:
            for found in check(self, process, request):
                self.break_(check.__name__[:3].upper(), f"{process.name}: {found}")
        if "/configmaps/rescheduler-state" in request.path and request.status == 200:
            state = self.universe.state()
            self.fences.append(0 if state is None else state.fence)

    def restored(self) -> None:
        """Somebody has put a state there, and what was written of later ones is gone.

        Only where the Lease records none of them: nothing was sent on the strength of these.
        """
        state, noted = self.universe.state(), self.universe.noted()
        if state is None or noted is None:
            return
        if state.fence >= noted.fence and state.sequence >= noted.sequence:
            self.fences = [state.fence]

    def on_answer(self, process: Process, phase: str, method: str, path: str, status: int) -> None:
        """An answer has reached a process."""
        known = self.known[process.name]
        kind = path.rsplit("/", 1)[-1]
        if phase == "metric":
            known.odd = set(self.universe.metrics.odd)
            return
        if method != "GET" and takes_pods(path):
            name = path.removesuffix("/eviction").rsplit("/", 1)[-1]
            late = process.cycle is not None and process.cycle.apart > known.apart
            known.asked.append((self.seconds, name, -1 if late else status))
            self.reached[f"{'eviction' if method == 'POST' else 'stop'} {status}"] += 1
            return
        if method != "GET":
            return
        what = f"pods/{kind}" if "/pods/" in path else kind
        if status == 403:
            known.refused |= {what} if "/pods/" in path else set()
            return
        known.apart = process.cycle.apart if process.cycle is not None else 0.0
        known.see(what, self.seconds - known.apart)
        if kind == "nodes":
            nodes = self.universe.cluster.of("nodes")
            known.not_ready = (sum(not is_ready(node) for node in nodes), len(nodes))
        elif kind == "poddisruptionbudgets":
            known.allowed = {
                budget["metadata"]["name"]: budget["status"].get("disruptionsAllowed", 0)
                for budget in self.universe.cluster.of("poddisruptionbudgets")
            }

    def on_metrics(self, process: Process) -> None:
        """A process begins to read all metrics."""
        self.known[process.name].partial = False

    def on_policies(self, process: Process, policies: PolicySet) -> None:
        """A process has loaded the policies of its cycle."""
        known, state = self.known[process.name], self.universe.state()
        known.policies = {policy.name: policy.meaning for policy in policies.policies}
        stored = self.universe.cluster.objects.get(STATE, {}).get("data", {})
        first = state is None or not state.history.selections or stored.get("budgets") == "forget"
        if process.mode == "Enforce":
            for policy in known.policies.items():
                at = -1e9 if first else self.seconds
                self.shown[policy] = min(at, self.shown.get(policy, at))

    def on_begin(self, process: Process) -> None:
        """A process begins a cycle."""
        known = self.known[process.name]
        known.asked, known.after_stop, known.apart = [], 0, 0.0

    def on_end(self, process: Process, cycle: Cycle) -> None:
        """A process has ended a cycle."""
        from tests.simulation.invariants import ON_END  # noqa: PLC0415 - it names us

        self.reached["cycles"] += 1
        self.stood.update(uid_of(p) for p in self.universe.cluster.of("pods") if is_ready(p))
        if cycle.code is None:
            self.reached["killed"] += 1
            return
        for check in ON_END:
            for found in check(self, process, cycle):
                self.break_(check.__name__[:3].upper(), f"{process.name}: {found}")

    def on_loss(self, process: Process) -> None:
        """A part of an answer with metrics, or all of it, is lost on its way to a process."""
        if not process.probing:
            self.known[process.name].partial = True

    def stopped(self, process: Process) -> None:
        """A process was asked to stop."""
        known = self.known[process.name]
        known.stop = self.seconds if known.stop is None else known.stop

    # --- the truth

    def workload_of(self, controller: str) -> str:
        """The UID of the top owner."""
        for replica_set in self.universe.cluster.of("replicasets"):
            if uid_of(replica_set) == controller:
                return owner_uid(replica_set) or controller
        return controller

    def wanted(self, controller: str) -> int:
        """How many pods the controller is to have."""
        for kind in ("replicasets", "statefulsets", "jobs"):
            for workload in self.universe.cluster.of(kind):
                if uid_of(workload) == controller:
                    spec = workload["spec"]
                    return int(spec.get("replicas", spec.get("parallelism", 0)))
        return 0

    def ready(self, controller: str) -> int:
        """How many Ready pods it has in truth."""
        return sum(
            owner_uid(pod) == controller and is_ready(pod) and not leaving(pod)
            for pod in self.universe.cluster.of("pods")
        )

    def _settle(self) -> None:
        """Which evicted pods go, and are replaced by now: the old one gone, and none missing."""
        for eviction in self._unsettled:
            pod = self.universe.cluster.by_uid(eviction.uid)
            if eviction.left is None and (pod is None or leaving(pod)):
                eviction.left = self.seconds
            if pod is None and self.ready(eviction.controller) >= min(
                eviction.wanted, self.wanted(eviction.controller)
            ):
                eviction.replaced = self.seconds
        self._unsettled = [eviction for eviction in self._unsettled if eviction.replaced is None]

    def ready_for(self, thing: Object) -> float:
        """For how many seconds a pod or a node has been Ready."""
        since = next(c for c in thing["status"]["conditions"] if c["type"] == "Ready")
        return self._age(since["lastTransitionTime"])

    def age(self, thing: Object) -> float:
        """How old an object is, in seconds."""
        return self._age(thing["metadata"]["creationTimestamp"])

    def _age(self, text: str) -> float:
        return self.seconds - (moment_of(text) - START).total_seconds()

    def lasting(self, what: str) -> float | None:
        """For how many seconds something has forbidden evictions, or None."""
        since = self.since.get(what)
        return None if since is None else self.seconds - since

    def slack(self) -> float:
        """Seconds by which the servers' clocks differ, and their stamps are cut."""
        return 2 * max(map(abs, self.universe.servers)) + 3.0
