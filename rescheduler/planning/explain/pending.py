"""Pending pods explained: why no node takes them, and which single move would make room."""

import msgspec

from rescheduler.kube.pod_state import pod_priority, waits_for_a_node
from rescheduler.model.explanation import Header, PendingExplanation, PendingPod
from rescheduler.model.problem import Problem
from rescheduler.planning.explain.making_room import RoomResult, make_room, nothing
from rescheduler.planning.explain.place import place
from rescheduler.planning.references import owner_ref, pod_ref
from rescheduler.planning.search.working_copy import WorkingCopy


def explain_pending(
    copy: WorkingCopy, header: Header, pod: int | None = None
) -> PendingExplanation:
    """Every Pending pod, one for all that are alike, by priority; or only the one asked for."""
    pods = copy.snapshot.pods
    groups: dict[tuple[str, bytes], list[int]] = {}
    for index, each in enumerate(pods):
        if waits_for_a_node(each) and pod in (None, index):
            owner = each.controller
            spec = msgspec.msgpack.encode(each.spec)
            key = (owner.uid if owner else each.metadata.uid, spec)
            groups.setdefault(key, []).append(index)
    first = [min(alike, key=lambda index: pods[index].key) for alike in groups.values()]
    counts = dict(zip(first, (len(alike) for alike in groups.values()), strict=True))
    ordered = sorted(first, key=lambda index: (-pod_priority(pods[index].spec), pods[index].key))
    return PendingExplanation(
        header=header, pods=[_explained(copy, index, counts[index]) for index in ordered]
    )


def _explained(copy: WorkingCopy, pod: int, alike: int) -> PendingPod:
    snapshot = copy.snapshot
    each = snapshot.pods[pod]
    seen = place(copy, pod)
    found = RoomResult()
    none: Problem | None = None
    if seen.refusal is None and not seen.feasible:
        found = make_room(copy, pod)
        none = nothing(found)
    return PendingPod(
        pod=pod_ref(snapshot, pod),
        owner=owner_ref(snapshot, pod),
        priority=pod_priority(each.spec),
        scheduler=each.spec.schedulerName,
        alike=alike,
        feasible=seen.feasible,
        nodes=len(snapshot.nodes),
        event=seen.event,
        reasons=seen.reasons,
        landing=seen.landing,
        returns=seen.returns,
        unschedulable=seen.unschedulable,
        refusal=seen.refusal,
        moves=found.moves,
        tried=found.tried,
        none=none,
    )
