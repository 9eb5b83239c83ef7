"""Whether the owners above a pod can be followed, and let it move: ELG013, ELG015, ELG036."""

from collections import defaultdict
from functools import cached_property

from rescheduler.kube.controllers import (
    MOST_SELECTOR,
    READ_OWNERS,
    Owner,
    qualified_kind,
    selector_size,
)
from rescheduler.kube.objects import OwnerReference
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.cluster.workload import Workload
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits

_REPLACING_KINDS = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "Job"})
_ROLLED_KINDS = frozenset({"ReplicaSet", "ReplicationController"})
"""Of these a rollout makes a new one for each template."""


class OwnerChecks:
    """The controllers of one snapshot and what is above them, by workload."""

    def __init__(self, snapshot: Snapshot, limits: Limits) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._controllers = {
            controller.metadata.uid: controller for controller in snapshot.controllers
        }

    def refusal(self, workload: Workload) -> Problem | None:
        """ELG015, ELG036: whether the controller replaces pods, and every owner lets them move."""
        name = f"{workload.kind} {workload.name}"
        controller = self._controllers.get(workload.controller_uid)
        if not workload.chain_is_complete or controller is None:
            return Problem(code="ELG015", message=f"its owner {name} is not known")
        if workload.controller_kind not in _REPLACING_KINDS:
            return Problem(code="ELG015", message=f"its owner {name} is of a kind we cannot follow")
        if (size := selector_size(controller)) > MOST_SELECTOR:
            text = f"the selector of its {controller.kind} {controller.metadata.name} takes {size}"
            return Problem(
                code="ELG015", message=f"{text} bytes: above {MOST_SELECTOR} it is not followed"
            )
        top = self._controllers[workload.uid]
        for owner in (controller, top):
            for condition in owner.status.conditions or ():
                if condition.type == "ReplicaFailure" and condition.status == "True":
                    reason = condition.reason or "ReplicaFailure"
                    return Problem(code="ELG015", message=f"{name} cannot make pods: {reason}")
        above = top.metadata.controller
        runners = ("CronJob", "JobSet") if self._limits.gangs == "Whole" else ("CronJob",)
        if above is not None and top.kind == "Job" and above.kind not in runners:
            return Problem(code="ELG015", message=f"{name} is run by {above.kind} {above.name}")
        return self.refuse_above(workload)

    def refuse_above(self, workload: Workload) -> Problem | None:
        """ELG015, ELG036: whether an owner is being deleted, or is of a kind that is not read."""
        owners, unread = self._snapshot.owner_chain(_controller_of(workload))
        for owner in owners:
            if owner.metadata.deletionTimestamp is not None:
                text = f"its owner {owner.metadata.name} is being deleted"
                return Problem(code="ELG015", message=text)
        if unread is None:
            return None
        if unread.kind in READ_OWNERS:
            text = f"it is run by {unread.kind} {unread.name}, which is not known"
            return Problem(code="ELG015", message=f"{text}: that may have opted out")
        if self._limits.allows(unread):
            return None
        text = f"it is run by {qualified_kind(unread)} {unread.name}, a kind that is not read"
        return Problem(code="ELG036", message=f"{text}: that may have opted out")

    def refuse_rollout(self, workload: Workload) -> Problem | None:
        """ELG013: whether an owner that is not read seems to be between two templates."""
        _, unread = self._snapshot.owner_chain(_controller_of(workload))
        count = 0 if unread is None else len(self._rolled.get(unread.uid, ()))
        if unread is None or count < 2:
            return None
        text = f"{qualified_kind(unread)} {unread.name} has pods of {count} {workload.kind}s"
        return Problem(code="ELG013", message=f"{text}: it may be rolling out")

    def names(self, workload: Workload) -> list[tuple[str, str]]:
        """Kind and name of every owner that is known, also of the first one that is not read."""
        owners, unread = self._snapshot.owner_chain(_controller_of(workload))
        pairs = [(owner.kind, owner.metadata.name) for owner in owners if isinstance(owner, Owner)]
        return pairs if unread is None else [*pairs, (unread.kind, unread.name)]

    @cached_property
    def _rolled(self) -> dict[str, set[int]]:
        """UID of each owner that is not read to what it has directly below it with living pods."""
        above: dict[int, str] = {}
        for index, workload in enumerate(self._snapshot.workloads):
            if workload.chain_is_complete and workload.kind in _ROLLED_KINDS:
                _, unread = self._snapshot.owner_chain(_controller_of(workload))
                if unread is not None:
                    above[index] = unread.uid
        children = defaultdict[str, set[int]](set)
        pods = zip(self._snapshot.pods, self._snapshot.pod_workload.tolist(), strict=True)
        for pod, index in pods if above else ():
            if index in above and pod.status.phase not in ("Succeeded", "Failed"):
                children[above[index]].add(index)
        return children

    def unread_kind(self, workload: Workload) -> str:
        """The kind for which ELG036 refuses the workload; "" where nothing or another code does."""
        problem = self.refusal(workload)
        if problem is None or problem.code != "ELG036":
            return ""
        _, unread = self._snapshot.owner_chain(_controller_of(workload))
        return "" if unread is None else qualified_kind(unread)


def _controller_of(workload: Workload) -> OwnerReference:
    return OwnerReference(kind=workload.controller_kind, uid=workload.controller_uid)
