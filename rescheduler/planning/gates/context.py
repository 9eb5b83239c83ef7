"""What the gates look at: one move, our own state, and what was read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.gates import Purpose
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits

Refusals = Mapping[tuple[str, str], Problem]
"""Namespace and PodDisruptionBudget ("": all of the namespace) to what the API server refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContext:
    """A move, and what its gates look at.

    before: the snapshot of the batch. read_result: what was read right before the request: the
    pods of the pod's controller, its node, owners, namespace, and the budgets and autoscalers
    there,
    and no more; where Kueue is to stop its gang also all Workloads, and their queues. Or why it
    cannot be read; None: not yet. began: when reading it began, in seconds on the steady clock.
    namespace_pods: all pods of its namespace; None where they were not read.
    plan: the id of the plan that is carried out; its own moves start no cool-down.
    at: the API server's time.
    made: the moves of this batch that were made already.
    earlier: moves that it is requested with, or that it depends on, and that come before it; none
    of them is charged yet.
    group: UIDs of the pods of the gang that is moved with it as a whole.
    broken: whether one of them went already. What follows from that is no reason to stop: the
    others are as good as gone, and their budgets are the API server's to hold.
    releases: the move whose Pending replacement this pod is; None: the pod runs.
    purpose: what its eviction is for.
    schedulers: the names of those that the plan knew. refusals: pods that were refused in this run.
    """

    move: PlannedMove
    before: Snapshot
    limits: Limits
    history: History
    plan: str
    at: datetime
    read_result: Snapshot | Problem | None = None
    began: float = 0.0
    namespace_pods: Sequence[Pod] | None = None
    made: Sequence[PastMove] = ()
    earlier: Sequence[PlannedMove] = ()
    group: frozenset[str] = frozenset()
    broken: bool = False
    releases: PastMove | None = None
    purpose: Purpose = "move"
    schedulers: Collection[str] = ()
    refusals: Refusals = field(default_factory=dict)

    @property
    def now(self) -> Snapshot:
        """What was read right before the request; raises ValueError where nothing was."""
        if not isinstance(self.read_result, Snapshot):
            raise ValueError("nothing was read")  # noqa: TRY004
        return self.read_result

    @property
    def pod(self) -> Pod | None:
        """The pod of this name as it was read."""
        named = (pod for pod in self.now.pods if pod.metadata.name == self.move.pod.name)
        return next(named, None)
