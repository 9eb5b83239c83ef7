"""A cluster whose load is known exactly, so that what a move has really brought is known too."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from msgspec import structs

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import Reading, ReadingRequest, Readings, instants
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import LandingShare, OwnerRef, PlannedMove, PodRef
from rescheduler.model.problem import Problem
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.measuring import MeasureResult, measure
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.terms import Term
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policies.utilization.targets import PressedTarget, Targets
from tests.cluster import NOW, controller, node, pod, snapshot

CORES = 8.0
NODES, HOT = 24, 12
WINDOW = 300.0

EVEN = Utilization(
    name="even",
    nodes=NodeMatch(all=True),
    match=Match(all=True),
    targets=Targets(cpu=PressedTarget(high=0.7, low=0.6)),
)


def bound(policy: Policy, seen: Snapshot) -> Term:
    """The policy's term, where all that it needs is known."""
    term = policy.compile(seen)
    assert not isinstance(term, Problem), term
    return term


@dataclass
class Laboratory:
    """24 nodes, of which 12 are hot; on each hot one six pods, on each other one a single pod.

    web: whether there are 24 more, labelled `pool=web`, without pods, of the same mean load. use:
    cores of each pod by UID. base: cores that each node uses besides.
    sticks: the node that a pod has left stays as hot as it was. noise: by which share each
    measurement is off at most. silent: indices of nodes of which no reading of nodes has a value.
    earlier: what each node used before, the oldest first, where a policy asks for the past; empty:
    as much as now.
    """

    policies: list[Policy] = field(default_factory=lambda: [EVEN])
    limits: Limits = field(default_factory=Limits)
    noise: float = 0.0
    seed: int = 1
    sticks: bool = False
    web: bool = False
    scale: float = 1.0
    missing: tuple[str, ...] = ()
    silent: tuple[int, ...] = ()
    earlier: list[dict[str, float]] = field(default_factory=list)
    history: History = field(default_factory=History)
    pods: list[Pod] = field(default_factory=list)
    use: dict[str, float] = field(default_factory=dict)
    base: dict[str, float] = field(default_factory=dict)
    now: datetime = NOW
    made: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.nodes = [node(f"n{number}", labels={"pool": "gpu"}) for number in range(NODES)]
        self.base = {node.metadata.name: 1.2 for node in self.nodes}
        for number in range(NODES * self.web):
            self.nodes.append(node(f"web{number}", labels={"pool": "web"}))
            self.base[f"web{number}"] = 4.7
        self.controllers: list[Controller] = [
            controller("ReplicaSet", f"w{number}", replicas=6) for number in range(HOT)
        ]
        for number in range(NODES):
            for copy in range(6 if number < HOT else 1):
                owner = self.controllers[(number + copy) % HOT]
                made = pod(f"p{number}-{copy}", f"n{number}", owner=owner)
                self.pods.append(made)
                self.use[made.metadata.uid] = 1.0

    def loads(self, pods: list[Pod] | None = None) -> dict[str, float]:
        """The cores that each node really uses, with the pods where they are or as given."""
        loads = dict(self.base)
        for pod_object in self.pods if pods is None else pods:
            loads[pod_object.node] += self.use[pod_object.metadata.uid]
        return {name: load * self.scale for name, load in loads.items()}

    def snapshot(
        self, loads: dict[str, float] | None = None, noise: float | None = None
    ) -> Snapshot:
        """What is seen of it, with as much noise; `loads`: other ones than it really has."""
        level = self.noise if noise is None else noise
        real = self.loads() if loads is None else loads
        nodes = np.array([real[node.metadata.name] for node in self.nodes]) / CORES
        pods = np.array([self.use[pod.metadata.uid] * self.scale for pod in self.pods])
        seen = snapshot(self.nodes, self.pods, controllers=self.controllers)
        wanted = dict.fromkeys(r for policy in self.policies for r in policy.requests())
        entries = [self._reading(r, nodes if r.subject == "node" else pods, level) for r in wanted]
        return replace(seen, taken=self.now, readings=Readings(tuple(entries)))

    def _reading(self, request: ReadingRequest, values: np.ndarray, noise: float) -> Reading:
        values = values * (1.0 + noise * self.rng.uniform(-1.0, 1.0, len(values)))
        if request.name in self.missing:
            values = np.full(len(values), np.nan)
        on_nodes = request.subject == "node"
        if on_nodes:
            values[list(self.silent)] = np.nan
        return Reading(
            request=request,
            unit="ratio" if on_nodes else "cores",
            values=values,
            ages=np.where(np.isnan(values), np.nan, 10.0),
            expected=np.ones(len(values), dtype=np.bool_),
            capacity=np.full(len(values), CORES) if on_nodes else None,
            range_samples=self._past(request, values) if request.span else None,
        )

    def _past(self, request: ReadingRequest, values: np.ndarray) -> np.ndarray:
        """The values at the instants of the past, of which the last are those of now."""
        count = len(instants(request.span))
        samples = np.tile(values, (count, 1))
        for number in range(count - 1 if self.earlier else 0):
            loads = self.earlier[number * len(self.earlier) // (count - 1)]
            samples[number] = [loads[node.metadata.name] / CORES for node in self.nodes]
        return samples

    def move(self, uid: str, to: str, *, expected: dict[str, float] | None = None) -> PastMove:
        """Evict a pod in a batch of its own; its replacement runs on that node at once."""
        return self.move_together([(uid, to)], expected=expected)[0]

    def move_together(
        self, pairs: list[tuple[str, str]], *, expected: dict[str, float] | None = None
    ) -> list[PastMove]:
        """Evict some pods in one batch. expected: where they were to land, if not there."""
        self.made += 1
        seen = self.snapshot()
        planned = [self._planned(uid, to, expected or {to: 1.0}, seen) for uid, to in pairs]
        self.history.begin(baseline_of(seen, self.history, planned, "plan", self.policies))
        return [
            self._carry_out(move, to, seen) for move, (_, to) in zip(planned, pairs, strict=True)
        ]

    def _planned(
        self, uid: str, to: str, expected: dict[str, float], seen: Snapshot
    ) -> PlannedMove:
        index = seen.pod_index[uid]
        found, gains = seen.pods[index], {}
        for policy in self.policies:
            term = bound(policy, seen)
            there = np.array([seen.node_index[name] for name in expected], dtype=np.int32)
            change = np.average(term.deltas(index, there), weights=list(expected.values()))
            gains[policy.name] = -float(change)
        (owner,) = found.metadata.ownerReferences or []
        return PlannedMove(
            pod=PodRef(namespace="default", name=found.metadata.name, uid=uid),
            owner=OwnerRef(kind="ReplicaSet", name=owner.name, uid=owner.uid),
            source=found.node,
            landing=[LandingShare(node=name, probability=p) for name, p in expected.items()],
            returns=0.0,
            unschedulable=0.0,
            gain=sum(gains.values()),
            disruption=1.0,
            batch=self.made,
            gains=gains,
        )

    def _carry_out(self, move: PlannedMove, to: str, seen: Snapshot) -> PastMove:
        index = next(n for n, pod in enumerate(self.pods) if pod.metadata.uid == move.pod.uid)
        old = self.pods[index]
        metadata = structs.replace(
            old.metadata,
            name=f"{old.metadata.name}-r",
            uid=f"{old.metadata.uid}-r",
            creationTimestamp=self.now,
        )
        status = structs.replace(old.status, startTime=self.now)
        self.pods[index] = structs.replace(old, metadata=metadata, status=status, node=to)
        self.use[metadata.uid] = self.use[old.metadata.uid]
        if self.sticks:
            self.base[move.source] += self.use[old.metadata.uid]
        past = PastMove(
            plan="plan",
            batch=move.batch,
            podUid=move.pod.uid,
            namespace="default",
            pod=move.pod.name,
            workload=move.owner.uid,
            source=move.source,
            at=self.now,
            state="ready",
            policies=sorted(move.gains),
            gains={name: gain for name, gain in move.gains.items() if gain > 0},
            landing={share.node: share.probability for share in move.landing},
            usage={"pod.cpu": self.use[old.metadata.uid] * self.scale},
            replacement=metadata.uid,
            landedOn=to,
            settled=self.now,
        )
        self.history.moves.append(past)
        return past

    def truth(self, moves: list[PastMove], policy: Policy = EVEN) -> float:
        """What these moves have really brought: the cost without them, less that with them."""
        sources = {move.replacement: move.source for move in moves}
        undone = [
            structs.replace(pod, node=sources.get(pod.metadata.uid, pod.node)) for pod in self.pods
        ]
        loads = self.loads(undone)
        if self.sticks:
            for move in moves:
                loads[move.source] -= self.use[move.replacement] * self.scale
        with_moves = bound(policy, self.snapshot(noise=0.0)).cost()
        seen = replace(self.snapshot(loads, noise=0.0), pods=undone)
        return bound(policy, seen).cost() - with_moves

    def wait(self, minutes: float = 30) -> None:
        """Let time pass."""
        self.now += timedelta(minutes=minutes)

    def measure(self) -> MeasureResult:
        """What a cycle does now."""
        return measure(self.snapshot(), policy_set(self.policies, self.limits), self.history)

    def rounds(
        self, count: int, then: Callable[[int], None] = lambda _: None
    ) -> list[MeasureResult]:
        """So many rounds: a pod of another hot node moves to a cold one, settles, is measured."""
        found = []
        for number in range(count):
            source = number % HOT
            self.move(f"pod-default-p{source}-{number // HOT}", f"n{HOT + source}")
            then(number)
            self.wait()
            found.append(self.measure())
        return found
