"""Whether what a pod hangs on still allows its eviction, read again right before the request.

The rules are those of planning, asked on fresh objects; what only a comparison with the batch's
snapshot shows is asked here.
"""

from dataclasses import dataclass, replace

from rescheduler.model.history import History
from rescheduler.model.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.readings import Readings
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.policies.limits import Limits


@dataclass(frozen=True, slots=True)
class Around:
    """A pod's surroundings before and now.

    before: the snapshot of the batch. now: what was read right before the request: the pods of the
    pod's controller, its node, owners, namespace, and the budgets and autoscalers there, and no
    more. plan: the id of the plan that is carried out; its own moves start no cool-down.
    """

    before: Snapshot
    now: Snapshot
    limits: Limits
    history: History
    plan: str


def refuse_changed(move: PlannedMove, around: Around) -> Problem | None:
    """Why the pod, which is there as planned, must not be evicted now: DRF005-DRF007 or ELG."""
    now = around.now
    pod = now.pod_index[move.pod.uid]
    fresh = {node.metadata.name: node for node in now.nodes}
    # What is not read again (other nodes, volumes, quotas, ...) is that of the batch.
    nodes = [
        fresh.get(node.metadata.name, node)
        for node in around.before.nodes
        if node.metadata.name != move.source or move.source in fresh
    ]
    merged = replace(
        around.before,
        taken=now.taken,
        pods=now.pods,
        nodes=nodes,
        controllers=now.controllers,
        namespaces=now.namespaces,
        budgets=now.budgets,
        autoscalers=now.autoscalers,
        undecodable=now.undecodable,
        readings=Readings(),
        failed=None,
    )
    refusal = _refuse_owners(move, around) or _refuse_namespace(move, around)
    if refusal is not None:
        return refusal
    refusal = Eligibility(merged, around.limits, around.history, plan=around.plan).refusal(pod)
    if refusal is not None:
        return Problem("DRF005", refusal.message) if refusal.code == "ELG020" else refusal
    exhausted = Budgets(merged, around.limits, around.history).exhausted(pod)
    if exhausted is not None:
        return Problem("DRF007", f"{exhausted.code}: {exhausted.message}")
    return None


def _refuse_owners(move: PlannedMove, around: Around) -> Problem | None:
    """DRF006: whether the owners are the same, as they were, and not paused."""
    now = around.now
    workload = now.workloads[int(now.pod_workload[now.pod_index[move.pod.uid]])]
    if (workload.controller_uid, workload.uid) != (move.owner.controllerUid, move.owner.uid):
        return Problem("DRF006", f"its owner is another {workload.kind} {workload.name} now")
    before = {each.metadata.uid: each.metadata.generation for each in around.before.controllers}
    for each in now.controllers:
        name = f"{each.kind} {each.metadata.name}"
        if before.get(each.metadata.uid) != each.metadata.generation:
            return Problem("DRF006", f"{name} was changed since the cluster was read")
        if each.spec.paused:
            return Problem("DRF006", f"the rollout of {name} is paused")
    return None


def _refuse_namespace(move: PlannedMove, around: Around) -> Problem | None:
    """DRF007: whether the namespace stands and is not being deleted."""
    name = move.pod.namespace
    for each in around.now.namespaces:
        if each.metadata.name == name:
            if each.metadata.deletionTimestamp is None:
                return None
            return Problem("DRF007", f"namespace {name} is being deleted")
    return Problem("DRF007", f"namespace {name} is gone")
