"""Pending pods explained: why no node takes them, and which single move would make room."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np

from rescheduler.kube.pods.pod_state import pod_priority, waits_for_a_node
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.model.explanation import Header, PendingExplanation, PendingPod, RoomMove
from rescheduler.model.moves.move import Landing, Shift
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.planning.evaluation.destinations import refuse_landing
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.explain.pod_prediction import place
from rescheduler.planning.references import landing_shares, owner_ref, pod_ref
from rescheduler.scheduler.plugins.default_plugins import STATIC

SHOWN = 3
TRIED = 3000
"""Moves that are tried at most for one Pending pod: a few seconds at full size."""


@dataclass(slots=True)
class RoomResult:
    """moves: the least disruptive first. tried: how many were. skipped: why others were not.

    reachable: whether other pods are all that keeps it off some node.
    complete: whether all that could help were tried, or enough was found before.
    """

    moves: list[RoomMove] = field(default_factory=list)
    tried: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    reachable: bool = True
    complete: bool = True


def make_room(copy: WorkingCopy, pending: int) -> RoomResult:
    """The least disruptive moves, each enough by itself to make room for the Pending pod.

    A move is of an eligible pod, within its PodDisruptionBudget, that the scheduler would put on
    another node. The working copy is as before at the end.
    """
    result = RoomResult()
    reachable = _reachable(copy, pending)
    result.reachable = bool(reachable.any())
    for pod in _rank_pods(copy, reachable, pending, result):
        if result.tried >= TRIED:
            result.complete = False
            break
        landing = copy.scheduler.landing(pod)
        source = int(copy.snapshot.pod_node[pod])
        refusal = refuse_landing(copy.snapshot, landing, source, copy.limits)
        refusal = refusal or copy.admission.refusal(pod, source, landing)
        target = _target(landing, source)
        if refusal is not None or target < 0:
            result.skipped["FEA002" if refusal is None else refusal.code] += 1
            continue
        result.tried += 1
        feasible = _nodes_after(copy, Shift(pod, source, target), pending)
        if feasible.any():
            result.moves.append(_room_move(copy, pod, source, landing, feasible))
            if len(result.moves) == SHOWN:
                break
    return result


def no_move_reason(result: RoomResult) -> Problem | None:
    """Why no single move makes room, or None where one does."""
    if result.moves:
        return None
    if not result.reachable:
        text = "its own constraints, or the state of the nodes, keep it off every node"
        return Problem(code="FEA001", message=f"{text}, whatever is moved")
    skipped = ", ".join(f"{count} {code}" for code, count in result.skipped.most_common(4))
    if result.tried:
        text = f"it was tried with {count_text(result.tried, 'move')}, and would fit after none"
    elif skipped:
        text = "no pod that would free enough may be moved"
    else:
        text = "no single pod would free enough"
    text += (
        f"; {sum(result.skipped.values())} may not, or cannot, move ({skipped})" if skipped else ""
    )
    text += "" if result.complete else f"; only the first {TRIED} were tried"
    return Problem(code="FEA001", message=text)


def _reachable(copy: WorkingCopy, pending: int) -> BoolArray:
    """(nodes,) where nothing but other pods keeps the Pending pod away, and that are stable."""
    verdicts = copy.scheduler.verdicts(pending)
    answer = ~copy.eligibility.places.avoided
    for verdict in verdicts.filters:
        if verdict.name in STATIC:
            answer = answer & ~verdict.rejects
    return answer


def _rank_pods(
    copy: WorkingCopy, reachable: BoolArray, pending: int, result: RoomResult
) -> Iterator[int]:
    """The pods that may move and leave enough, those with the least disruption first."""
    snapshot = copy.snapshot
    bound = np.flatnonzero(snapshot.pod_node >= 0).astype(np.int32)
    bound = bound[reachable[snapshot.pod_node[bound]]]
    chosen = []
    for pod in bound[_frees_enough(copy, bound, pending)].tolist():
        refusal = copy.eligibility.refusal(pod) or copy.budgets.refusal(pod)
        if refusal is None:
            chosen.append(pod)
        else:
            result.skipped[refusal.code] += 1
    key = {pod: (round(copy.disruption(pod), 9), snapshot.pods[pod].key) for pod in chosen}
    return iter(sorted(chosen, key=key.__getitem__))


def _frees_enough(copy: WorkingCopy, pods: IntArray, pending: int) -> BoolArray:
    """(pods,) whether the node would have what the Pending pod asks for, were this pod gone.

    A filter that is no resource may need more than this pod to go; that is tried afterwards.
    """
    state = copy.scheduler.occupancy
    nodes = copy.snapshot.pod_node[pods]
    answer = state.pods[nodes] - 1 < state.slots[nodes]
    requests = state.replacement_requests(copy.snapshot.pods[pending])
    for name, amount in requests.plain.items():
        row = state.index.get(name)
        if row is None:
            return np.zeros(len(pods), dtype=np.bool_)
        free = state.allocatable[row, nodes] - state.requested[row, nodes]
        answer &= free + state.taken_amounts(row, pods) >= amount
    return answer


def _target(landing: Landing, source: int) -> int:
    """The likeliest node that is another one, or -1."""
    elsewhere = landing.nodes[landing.nodes != source]
    return int(elsewhere[0]) if len(elsewhere) else -1


def _nodes_after(copy: WorkingCopy, shift: Shift, pending: int) -> BoolArray:
    """(nodes,) where the Pending pod fits once the move was made; the move is undone again."""
    copy.scheduler.commit(shift)
    try:
        return copy.scheduler.feasible(pending)
    finally:
        copy.scheduler.commit(shift.shift_back())


def _room_move(
    copy: WorkingCopy, pod: int, source: int, landing: Landing, feasible: BoolArray
) -> RoomMove:
    snapshot = copy.snapshot
    fits = source if feasible[source] else int(feasible.argmax())
    return RoomMove(
        pod=pod_ref(snapshot, pod),
        owner=owner_ref(snapshot, pod),
        node=snapshot.nodes[source].metadata.name,
        fits=snapshot.nodes[fits].metadata.name,
        landing=landing_shares(snapshot, landing),
        returns=landing.returns,
        disruption=copy.disruption(pod),
    )


def explain_pending(
    copy: WorkingCopy, header: Header, pod: int | None = None
) -> PendingExplanation:
    """Every Pending pod, one for all that are alike, by priority; or only the named one."""
    pods = copy.snapshot.pods
    groups: dict[tuple[str, bytes], list[int]] = {}
    for index, pod_object in enumerate(pods):
        if waits_for_a_node(pod_object) and pod in (None, index):
            owner = pod_object.controller
            spec = msgspec.msgpack.encode(pod_object.spec)
            key = (owner.uid if owner else pod_object.metadata.uid, spec)
            groups.setdefault(key, []).append(index)
    first = [min(alike, key=lambda index: pods[index].key) for alike in groups.values()]
    counts = dict(zip(first, (len(alike) for alike in groups.values()), strict=True))
    ordered = sorted(first, key=lambda index: (-pod_priority(pods[index].spec), pods[index].key))
    return PendingExplanation(
        header=header, pods=[_explain_pod(copy, index, counts[index]) for index in ordered]
    )


def _explain_pod(copy: WorkingCopy, pod: int, alike: int) -> PendingPod:
    snapshot = copy.snapshot
    pod_object = snapshot.pods[pod]
    seen = place(copy, pod)
    result = RoomResult()
    none: Problem | None = None
    if seen.refusal is None and not seen.feasible:
        result = make_room(copy, pod)
        none = no_move_reason(result)
    return PendingPod(
        pod=pod_ref(snapshot, pod),
        owner=owner_ref(snapshot, pod),
        priority=pod_priority(pod_object.spec),
        scheduler=pod_object.spec.schedulerName,
        alike=alike,
        feasible=seen.feasible,
        nodes=len(snapshot.nodes),
        event=seen.event,
        reasons=seen.reasons,
        landing=seen.landing,
        returns=seen.returns,
        unschedulable=seen.unschedulable,
        refusal=seen.refusal,
        moves=result.moves,
        tried=result.tried,
        none=none,
    )
