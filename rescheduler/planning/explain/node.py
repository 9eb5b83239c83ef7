"""One node explained: its load, what policies find about it, and why each pod moves or stays."""

import numpy as np

from rescheduler.kube.objects import Node
from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.explanation import Header, Load, NodeExplanation, PodOnNode, Room
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.explain.pod_verdicts import PodVerdicts, view
from rescheduler.planning.plan.views import ZONE, number_or_none
from rescheduler.planning.references import owner_ref, pod_ref

_MILLI = 1000.0


def explain_node(copy: WorkingCopy, node: int, header: Header) -> NodeExplanation:
    """What is known of this node, its pods by what moving them could save, the most first.

    copy: as it is before anything moved; deciding moves it along.
    """
    snapshot = copy.snapshot
    node_object = snapshot.nodes[node]
    name = node_object.metadata.name
    pods = np.flatnonzero(snapshot.pod_node == node).tolist()
    views = [view(binding, set(pods), subject=f"node {name}") for binding in copy.bindings]
    savings = _savings(copy, pods)
    room = _room(copy, node)
    disruption = {pod: copy.disruption(pod) for pod in pods}
    verdicts = PodVerdicts(copy)
    listed = [
        PodOnNode(
            pod=pod_ref(snapshot, pod),
            owner=owner_ref(snapshot, pod),
            relief=savings[pod],
            disruption=disruption[pod],
            usage=_usage(copy, pod),
            verdict=verdicts.verdict_of(pod),
        )
        for pod in pods
    ]
    return NodeExplanation(
        header=header,
        node=name,
        zone=(node_object.metadata.labels or {}).get(ZONE, ""),
        ready=node_object.ready,
        taints=_taints(node_object),
        problem=copy.eligibility.places.destination(node),
        room=room,
        loads=_loads(copy, node),
        policies=views,
        pods=sorted(
            listed,
            key=lambda one: (one.verdict.outcome != "moves", -one.relief, snapshot_key(one)),
        ),
    )


def snapshot_key(one: PodOnNode) -> str:
    """`namespace/name`, which orders equals."""
    return f"{one.pod.namespace}/{one.pod.name}"


def _taints(node: Node) -> list[str]:
    return [
        f"{taint.key}={taint.value}:{taint.effect}"
        if taint.value
        else f"{taint.key}:{taint.effect}"
        for taint in node.spec.taints or ()
    ]


def _savings(copy: WorkingCopy, pods: list[int]) -> dict[int, float]:
    """Pod to the weighted cost that moving it could save at best, wherever it went; at least 0."""
    nodes: IntArray = np.flatnonzero(~copy.eligibility.places.avoided).astype(np.int32)
    answer = dict.fromkeys(pods, 0.0)
    if not len(nodes):
        return answer
    for pod in pods:
        change = np.zeros(len(nodes))
        for binding in copy.bindings:
            if binding.term is not None:
                change += binding.policy.weight * binding.term.deltas(pod, nodes)
        answer[pod] = max(-float(change.min()), 0.0)
    return answer


def _room(copy: WorkingCopy, node: int) -> list[Room]:
    """What its pods ask for of everything that the node has; cpu in cores, memory in bytes."""
    state = copy.scheduler.occupancy
    answer = []
    for row, resource in enumerate(state.resources):
        unit = _MILLI if resource == "cpu" else 1.0
        requested, there = int(state.requested[row, node]), int(state.allocatable[row, node])
        if requested or there:
            answer.append(
                Room(resource=resource, requested=requested / unit, allocatable=there / unit)
            )
    pods, slots = float(state.pods[node]), float(state.slots[node])
    return [*answer, Room(resource="pods", requested=pods, allocatable=slots)]


def _loads(copy: WorkingCopy, node: int) -> list[Load]:
    """Every reading of nodes that the snapshot holds."""
    answer = []
    for reading in copy.snapshot.readings.entries:
        if reading.request.subject != "node":
            continue
        problem = None if reading.low_coverage else reading.problem
        capacity = None if reading.capacity is None else number_or_none(reading.capacity[node])
        answer.append(
            Load(
                reading=reading.name,
                value=number_or_none(reading.values[node]),
                unit=reading.unit,
                ageSeconds=number_or_none(reading.ages[node]),
                windowSeconds=reading.request.window,
                capacity=capacity,
                problem=None if problem is None else problem,
            )
        )
    return answer


def _usage(copy: WorkingCopy, pod: int) -> dict[str, float]:
    """Reading name to what the pod uses, where that is known."""
    return {
        reading.name: float(reading.values[pod])
        for reading in copy.snapshot.readings.entries
        if reading.request.subject == "pod" and not np.isnan(reading.values[pod])
    }
