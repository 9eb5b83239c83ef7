"""Checks a pod once more on what was read right before its eviction.

The rules are those of planning, checked on fresh objects; what only a comparison with the batch's
snapshot shows is checked here.
"""

from dataclasses import replace

from msgspec import structs

from rescheduler.kube.controllers import Controller, Owner
from rescheduler.kube.gang_marks import KUEUE
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.eligibility.needed_pods import NeededPods
from rescheduler.planning.gates.context import PodContext
from rescheduler.planning.limits.budgets import Budgets
from rescheduler.planning.other_requests import changed_requests


def still_allowed(context: PodContext) -> Problem | None:
    """Why the pod, which is there as planned, must not be evicted now."""
    return refuse_changed(context) if context.releases is None else refuse_released(context)


def refuse_changed(context: PodContext) -> Problem | None:
    """Why the pod, which is there as planned, must not be evicted now: DRF005-DRF007 or ELG."""
    refusal = _refuse_owners(context) or _refuse_namespace(context)
    if refusal is not None:
        return refusal
    merged = _merge_snapshots(context)
    pod, history = merged.pod_index[context.move.pod.uid], context.history
    own = context.group | {context.move.pod.uid}
    others = [past for past in history.moves if past.brokeOff or past.podUid not in own]
    history = structs.replace(history, moves=others)
    whole = bool(context.group)
    eligibility = Eligibility(merged, context.limits, history, plan=context.plan)
    refusal = eligibility.refusal(pod, whole=whole) or _refuse_needed(merged.pods[pod], context)
    refusal = refusal or _refuse_other_requests(merged, context)
    if refusal is not None:
        return Problem("DRF005", refusal.message) if refusal.code == "ELG020" else refusal
    if context.broken:
        return None
    budgets = Budgets(merged, context.limits, history)
    for uid in sorted(context.group - {context.move.pod.uid}):
        budgets.spend(merged.pod_index[uid], whole=True)
    exhausted = budgets.cluster_refusal(pod, whole=whole)
    if exhausted is not None:
        return Problem("DRF007", f"{exhausted.code}: {exhausted.message}")
    return None


def refuse_released(context: PodContext) -> Problem | None:
    """Why this pod, which waits for a node and was read just now, must not be evicted: DRF or ELG.

    It is none of the Ready ones, so the surplus of those is not checked; nor does the API server
    check a disruption budget.

    Source: canIgnorePDB in pkg/registry/core/pod/storage/eviction.go.
    """
    merged = _merge_snapshots(context)
    pod = merged.pod_index[context.move.pod.uid]
    eligibility = Eligibility(merged, context.limits, context.history, plan=context.plan)
    return (
        _refuse_owners(context)
        or eligibility.protection(pod)
        or _refuse_needed(merged.pods[pod], context)
    )


def _refuse_needed(pod: Pod, context: PodContext) -> Problem | None:
    """ELG019 by all pods of the batch: what names a scheduler, or runs us, is not read again."""
    return NeededPods(context.before, context.schedulers).refusal(pod)


def _refuse_other_requests(merged: Snapshot, context: PodContext) -> Problem | None:
    """DRF004: whether its siblings show now that its replacement asks for something else.

    Of a gang that is broken up they are on their way out.
    """
    before, uid = context.before, context.move.pod.uid
    planned = before.next_pods.replacement(before.pod_index[uid]).spec
    now = merged.next_pods.replacement(merged.pod_index[uid]).spec
    changes = [] if context.broken else changed_requests(planned, now)
    for change in changes:
        text = f"its replacement would ask for {change.after} of {change.resource}; "
        text += f"{change.before} was planned with"
        return Problem("DRF004", text)
    return None


def _merge_snapshots(context: PodContext) -> Snapshot:
    """What was read, with what is not read again as it was in the batch: nodes, volumes, quotas."""
    before, now = context.before, context.now
    fresh = {node.metadata.name: node for node in now.nodes}
    nodes = [
        fresh.get(node.metadata.name, node)
        for node in before.nodes
        if node.metadata.name != context.move.source or context.move.source in fresh
    ]
    queues = now if now.gang_objects else before  # there is one Workload at least, or none is read
    groups = [gang_object for gang_object in before.gang_objects if gang_object.group != KUEUE]
    workloads = [gang_object for gang_object in queues.gang_objects if gang_object.group == KUEUE]
    return replace(
        before,
        taken=now.taken,
        pods=_pods(context),
        nodes=nodes,
        controllers=_controllers(context),
        owners=_owners(context),
        namespaces=now.namespaces,
        budgets=now.budgets,
        autoscalers=now.autoscalers,
        gang_objects=[*groups, *workloads],
        cluster_queues=queues.cluster_queues,
        local_queues=queues.local_queues,
        undecodable=now.undecodable,
        unread=sorted({*before.unread, *now.unread}),
        readings=Readings(),
        failed=None,
    )


def _pods(context: PodContext) -> list[Pod]:
    """The pods that were read, with the others of the pod's gang as they were in the batch.

    Of a gang that is broken up all pods count as they were then, and none that has come since; but
    what people have written into its pods meanwhile counts.
    """
    before, now = context.before, context.now
    fresh = {pod.metadata.uid: pod for pod in now.pods}
    gone = [
        before.pods[index]
        for index in _members(context)
        if before.pods[index].metadata.uid not in fresh
        and (context.group or not _of_controller(context.move, before.pods[index]))
    ]
    if not context.broken:
        return [*now.pods, *gone]
    kept = [
        _with_earlier_state(pod, before) for pod in now.pods if pod.metadata.uid in before.pod_index
    ]
    return [*kept, *gone]


def _members(context: PodContext) -> list[int]:
    """All pods of the pod's gang in the batch's snapshot, and those that are moved with it."""
    before = context.before
    members = {before.pod_index[uid] for uid in context.group if uid in before.pod_index}
    own = before.pod_index.get(context.move.pod.uid)
    gang = None if own is None else before.gangs.gang_of(own)
    if gang is not None:
        members.update(before.gangs.facts(gang).members.tolist())
    return sorted(members)


def _with_earlier_state(pod: Pod, before: Snapshot) -> Pod:
    """The pod with the state that it had in the batch."""
    earlier = before.pods[before.pod_index[pod.metadata.uid]]
    metadata = structs.replace(pod.metadata, deletionTimestamp=earlier.metadata.deletionTimestamp)
    return structs.replace(pod, metadata=metadata, status=earlier.status)


def _of_controller(move: PlannedMove, pod: Pod) -> bool:
    return pod.controller is not None and pod.controller.uid == move.owner.controllerUid


def _controllers(context: PodContext) -> list[Controller]:
    """The controllers that were read, and those of the other pods of its gang as they were.

    Of a gang that is broken up all have their earlier counts. That of the pod was read: where it is
    not there any more it is gone.
    """
    before = {controller.metadata.uid: controller for controller in context.before.controllers}
    fresh = {controller.metadata.uid: controller for controller in context.now.controllers}
    if context.broken:
        fresh = {
            uid: structs.replace(controller, status=before[uid].status)
            if uid in before
            else controller
            for uid, controller in fresh.items()
        }
    pods = (context.before.pods[index] for index in _members(context))
    makers = {owner.uid for pod in pods if (owner := pod.controller)} - {
        context.move.owner.controllerUid
    }
    others = [before[uid] for uid in sorted(makers - fresh.keys()) if uid in before]
    return [*fresh.values(), *others]


def _owners(context: PodContext) -> list[Owner]:
    """What was read above the controllers; of pods that were not read again as it was then.

    What is above those that were read, and is not there any more, is gone.
    """
    now = context.now
    fresh = {owner.metadata.uid for owner in now.owners}
    owner_uids = {
        controller.metadata.controller.uid
        for controller in (*now.controllers, *now.owners)
        if controller.metadata.controller is not None
    }
    others = [
        owner for owner in context.before.owners if owner.metadata.uid not in fresh | owner_uids
    ]
    return [*now.owners, *others]


def _refuse_owners(context: PodContext) -> Problem | None:
    """DRF006: whether the owners are the same, as they were, and not paused."""
    now = context.now
    index = int(now.pod_workload[now.pod_index[context.move.pod.uid]])
    if index < 0:
        return Problem("DRF006", "it has no owner any more")
    workload = now.workloads[index]
    if (workload.controller_uid, workload.uid) != (
        context.move.owner.controllerUid,
        context.move.owner.uid,
    ):
        return Problem("DRF006", f"its owner is another {workload.kind} {workload.name} now")
    owners: tuple[Owner, ...] = (*context.before.controllers, *context.before.owners)
    before = {owner.metadata.uid: owner.metadata.generation for owner in owners}
    # A pod above others has its state, and is no object that people change.
    above = [owner for owner in now.owners if owner.kind != "Pod"]
    for owner in (*now.controllers, *above):
        if before.get(owner.metadata.uid) != owner.metadata.generation:
            name = f"{owner.kind} {owner.metadata.name}"
            return Problem("DRF006", f"{name} was changed since the cluster was read")
    for controller in now.controllers:
        if controller.spec.paused:
            text = f"the rollout of {controller.kind} {controller.metadata.name} is paused"
            return Problem("DRF006", text)
    return None


def _refuse_namespace(context: PodContext) -> Problem | None:
    """DRF007: whether the namespace stands and is not being deleted."""
    name = context.move.pod.namespace
    for namespace in context.now.namespaces:
        if namespace.metadata.name == name:
            if namespace.metadata.deletionTimestamp is None:
                return None
            return Problem("DRF007", f"namespace {name} is being deleted")
    return Problem("DRF007", f"namespace {name} is gone")
