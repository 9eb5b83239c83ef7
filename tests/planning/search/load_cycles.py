"""Clusters under constant load, that a Utilization policy is let loose on again and again."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
from hypothesis import strategies as st

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.guards import active_guards
from rescheduler.planning.search.search import search
from rescheduler.policies.limits import Limits
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.scheduler.config.scheduler import Scheduler
from tests.cluster import budget, deployment, node, pod, reading, snapshot

POOL = "pool"


@dataclass(frozen=True)
class Machine:
    """A node. cores: what it has. idle: cores that it uses itself. pool: its label."""

    cores: int
    idle: float
    pool: str
    tainted: bool = False


@dataclass(frozen=True)
class App:
    """A Deployment. used, asked: cores of each pod. bound_to: the pool that it selects, or ""."""

    used: float
    asked: float
    places: tuple[int, ...]
    bound_to: str = ""
    disruptions: int | None = None


@dataclass(frozen=True)
class Cycle:
    """One cycle. before, after: the policy's cost. kept: of it, the pods that keep nodes from being
    free, by node. moves: all of them. loads: (nodes,) after it.
    """

    before: float
    after: float
    kept: dict[str, float]
    moves: tuple[Evaluation, ...]
    loads: np.ndarray


@dataclass
class LoadedCluster:
    """A cluster in which a pod uses the same wherever it runs. places: (pods,) where they are."""

    machines: list[Machine]
    apps: list[App]
    policy: Utilization
    limits: Limits
    full_first: bool = False
    remembers: bool = False
    places: list[int] = field(default_factory=list)
    history: History = field(default_factory=History)

    def __post_init__(self) -> None:
        self.places = [place for app in self.apps for place in app.places]

    def snapshot(self) -> Snapshot:
        """The cluster with the pods where they are now."""
        nodes = [
            node(
                f"n{number}",
                allocatable={"cpu": str(machine.cores)},
                labels={POOL: machine.pool},
                taints=[{"key": "kept", "effect": "NoSchedule"}] if machine.tainted else (),
            )
            for number, machine in enumerate(self.machines)
        ]
        pods, controllers, budgets = [], [], []
        where = iter(self.places)
        for number, app in enumerate(self.apps):
            name, size = f"app{number}", len(app.places)
            top, owner = deployment(name, replicas=size)
            controllers += [top, owner]
            more: dict[str, Any] = {"nodeSelector": {POOL: app.bound_to}} if app.bound_to else {}
            for replica in range(size):
                place = f"n{next(where)}"
                labels, requests = {"app": name}, {"cpu": f"{app.asked * 1000:.0f}m"}
                pods.append(
                    pod(
                        f"{name}-{replica}",
                        place,
                        owner=owner,
                        labels=labels,
                        requests=requests,
                        **more,
                    )
                )
            if app.disruptions is not None:
                budgets.append(budget(name, name, allowed=app.disruptions, healthy=size))
        cores = [float(machine.cores) for machine in self.machines]
        readings = [
            reading("node.cpu", self.loads(), capacity=cores, min_coverage=0.0),
            reading("pod.cpu", self._used(), min_coverage=0.0),
        ]
        return snapshot(nodes, pods, controllers=controllers, budgets=budgets, readings=readings)

    def _used(self) -> list[float]:
        return [app.used for app in self.apps for _ in app.places]

    def loads(self) -> np.ndarray:
        """(nodes,) the load of each node, as a share of it."""
        sums = np.bincount(self.places, weights=self._used(), minlength=len(self.machines))
        cores = np.array([machine.cores for machine in self.machines])
        return np.asarray((sums + [machine.idle for machine in self.machines]) / cores)

    def full(self, place: int) -> float:
        """The share up to which the policy may fill the node with pods."""
        high = self.policy.targets.cpu
        assert high is not None
        selected = self.policy.nodes.all or self.machines[place].pool == "a"
        return high.high if selected or self.policy.strategy != "Balance" else 0.0

    def cycle(self) -> Cycle:
        """Plan, knowing of earlier moves where it `remembers`, and move the pods as planned."""
        arguments = {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}}}
        full_first = Scheduler.model_validate(
            {
                "name": "default-scheduler",
                "disabledScores": ["NodeResourcesBalancedAllocation"],
                "arguments": arguments,
            }
        )
        before_moves = self.snapshot()
        copy = WorkingCopy(
            before_moves,
            [self.policy],
            self.limits,
            self.history,
            schedulers=[full_first] if self.full_first else [],
        )
        assert not active_guards(
            copy.snapshot,
            copy.bindings,
            copy.limits,
            copy.holds,
            copy.schedulers,
        )
        [binding] = copy.bindings
        assert binding.term is not None, binding.problem
        before = binding.term.cost()
        kept = {
            finding.subject: finding.cost
            for finding in binding.findings
            if finding.code == "UTL002"
        }
        moves = search(Evaluator(copy)).moves
        for move in moves:
            self.places[move.pod] = move.destination
            if self.remembers:
                self.history.moves.append(_moved(before_moves, move))
        return Cycle(before, binding.term.cost(), kept, tuple(moves), self.loads())


def _moved(before: Snapshot, move: Evaluation) -> PastMove:
    """The move as the ledger has it two hours later; the replacement has the pod's name and UID."""
    pod, then = before.pods[move.pod], before.taken - timedelta(hours=2)
    workload = before.workloads[int(before.pod_workload[move.pod])]
    return PastMove(
        plan="earlier",
        podUid=f"{pod.metadata.uid}-before",
        namespace=pod.metadata.namespace,
        pod=pod.metadata.name,
        workload=workload.uid,
        source=pod.node,
        at=then,
        settled=then,
        state="ready",
        replacement=pod.metadata.uid,
        landedOn=before.nodes[move.destination].metadata.name,
    )


ROOMY: dict[str, Any] = {"margin": 0.01, "gainShare": 0.0, "maxHotShare": 1.0, "movesPerHour": 99}


@st.composite
def loaded_clusters(draw: st.DrawFn, *strategies: str, remembers: bool = False) -> LoadedCluster:
    """Nodes of several sizes, some outside of what the policy selects; loads from idle to full."""
    machines = draw(
        st.lists(
            st.builds(
                Machine,
                cores=st.sampled_from([4, 8, 8, 16]),
                idle=st.sampled_from([0.1, 0.0, 0.8]),
                pool=st.sampled_from(["a", "a", "b"]),
                tainted=st.sampled_from([False, False, False, True]),
            ),
            min_size=4,
            max_size=6,
        )
    )
    crowded = draw(st.lists(st.integers(0, len(machines) - 1), min_size=1, max_size=2))
    apps = draw(
        st.lists(
            st.builds(
                App,
                used=st.sampled_from([0.2, 0.5, 1.0, 1.3, 2.0, 3.0]),
                asked=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
                places=st.lists(st.sampled_from(crowded), min_size=2, max_size=8).map(tuple),
                bound_to=st.sampled_from(["", "", "", "a"]),
                disruptions=st.sampled_from([2, None, None, 1, 0]),
            ),
            min_size=3,
            max_size=5,
        )
    )
    high = draw(st.sampled_from([0.4, 0.6, 0.8]))
    band = draw(st.sampled_from([1.0, 1.0, 0.9, 0.6]))
    spec: dict[str, Any] = {
        "name": "u",
        "nodes": draw(st.sampled_from([{"all": True}, {"labels": {"matchLabels": {POOL: "a"}}}])),
        "match": {"all": True},
        "targets": {"cpu": {"high": high, "low": high * band}},
        "strategy": draw(st.sampled_from(strategies)),
        "tolerance": draw(st.sampled_from([0.05, 0.1, 0.2])),
        "cold": draw(st.sampled_from([0.2, 0.4, 0.7])),
        "minCoverage": 0.0,
    }
    pace = {
        "movesPerCycle": draw(st.sampled_from([9, 3, 1])),
        "movesPerNode": draw(st.sampled_from([9, 1])),
        "movesPerNamespace": 9,
        "movesPerWorkload": draw(st.sampled_from([9, 1])),
        "minReplicas": 1,
    }
    return LoadedCluster(
        machines,
        apps,
        Utilization.model_validate(spec),
        Limits.model_validate(ROOMY | pace),
        full_first=draw(st.booleans()),
        remembers=remembers,
    )
