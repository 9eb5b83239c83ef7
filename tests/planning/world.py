"""A small world in memory: load follows the pods, which land as the scheduler model says."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import msgspec
import numpy as np

from rescheduler.model.cluster.readings import Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan, PlannedMove
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugin import Steer

GPUS = 8.0


@dataclass
class World:
    """A snapshot that moves on. use: GPUs that each pod of a workload (label `app`) uses."""

    snapshot: Snapshot
    policies: list[Policy]
    limits: Limits
    use: Mapping[str, float]
    history: History = field(default_factory=History)
    seed: int = 0
    made: int = 0

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Read the load that the pods make now."""
        used = np.array(
            [self.use.get((p.metadata.labels or {})["app"], 0.0) for p in self.snapshot.pods]
        )
        where = self.snapshot.pod_node
        nodes = np.bincount(
            where[where >= 0], weights=used[where >= 0], minlength=len(self.snapshot.nodes)
        )
        wanted = dict.fromkeys(r for policy in self.policies for r in policy.requests())
        entries = tuple(self._reading(request, nodes, used) for request in wanted)
        self.snapshot = replace(self.snapshot, readings=Readings(entries))

    def _reading(self, request: ReadingRequest, nodes: np.ndarray, used: np.ndarray) -> Reading:
        node = request.subject == "node"
        values = nodes / GPUS if node else used
        return Reading(
            request=request,
            unit="ratio" if node else "GPUs",
            values=values,
            ages=np.full(len(values), 10.0),
            expected=np.ones(len(values), dtype=np.bool_),
            capacity=np.full(len(values), GPUS) if node else None,
        )

    def loads(self) -> dict[str, float]:
        """The load of every node by name."""
        reading = next(r for r in self.snapshot.readings.entries if r.name == "node.gpu")
        return {
            node.metadata.name: float(load)
            for node, load in zip(self.snapshot.nodes, reading.values, strict=True)
        }

    def plan(self) -> Plan:
        """What the planner proposes now."""
        return plan(
            self.snapshot,
            policy_set(self.policies, self.limits),
            self.history,
            mode="Enforce",
            seed=self.seed,
        )

    def apply(self, made: Plan) -> list[tuple[PlannedMove, str]]:
        """Carry the plan out; answers where each replacement came to run."""
        landed = [(move, self._land(move)) for move in made.moves if move.mode == "Enforce"]
        self.measure()
        self.snapshot = replace(self.snapshot, taken=self.snapshot.taken + timedelta(hours=1))
        return landed

    def _steer(self, move: PlannedMove) -> Steer | None:
        """What the replacement is told, as the plan says it."""
        if move.steered is None:
            return None
        names = [node.metadata.name for node in self.snapshot.nodes]
        if move.steered.by == "SoftTaint":
            return Steer(tainted=np.isin(names, move.steered.shunned))
        told, require = map(names.index, move.steered.nodes), move.steered.strength == "Require"
        return Steer.to_nodes(told, len(names), require=require)

    def _land(self, move: PlannedMove) -> str:
        """Evict and replace one pod; a draw among the landings that the model gives now."""
        self.made += 1
        rng = np.random.default_rng([self.seed, self.made])
        index = self.snapshot.pod_index[move.pod.uid]
        landing = SchedulerModel(self.snapshot).landing(index, self._steer(move))
        assert landing.refusal is None
        assert landing.unschedulable == 0.0
        node = rng.choice(landing.nodes, p=landing.probabilities / landing.probabilities.sum())
        name = self.snapshot.nodes[int(node)].metadata.name
        old = self.snapshot.pods[index]
        metadata = msgspec.structs.replace(
            old.metadata, name=f"{old.metadata.name}-r", uid=f"{old.metadata.uid}-r{self.made}"
        )
        pods = list(self.snapshot.pods)
        pods[index] = msgspec.structs.replace(old, metadata=metadata, node=name)
        self.snapshot = replace(self.snapshot, pods=pods)
        self.history.moves.append(
            PastMove(
                plan="p",
                podUid=old.metadata.uid,
                namespace=old.metadata.namespace,
                pod=old.metadata.name,
                workload=move.owner.uid,
                source=move.source,
                at=self.snapshot.taken,
                state="ready",
                usage=move.usage,
                hot=move.hot,
                replacement=metadata.uid,
                landedOn=name,
                settled=self.snapshot.taken,
            )
        )
        return name
