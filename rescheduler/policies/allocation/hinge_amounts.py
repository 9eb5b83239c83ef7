"""What pods request and nodes have, as hinges; an Allocation is the sum of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from rescheduler.kube.annotations import REQUEST_TARGETS
from rescheduler.kube.objects import Node, PodSpec
from rescheduler.kube.pods.pod_requests import pod_requests
from rescheduler.kube.quantity import NANO, nanos
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.model.wording import list_names

PODS = "pods"
"""Each pod takes one of this resource, as kube-scheduler counts them."""


@dataclass(frozen=True, slots=True)
class Hinge:
    """One thing that costs. needs: "" for a target, else what `resource` is in balance with.

    unit: how much of it is one average pod. than: what is exceeded where it costs, in words.
    """

    resource: str
    needs: str
    weight: float
    unit: float
    than: str = "the target"


@dataclass(frozen=True, slots=True)
class Amounts:
    """hinges; parts: (pods, hinges) and slack: (nodes, hinges), in cores, bytes and pieces.

    away: (pods, hinges) the parts of the pods' replacements, which they have on other nodes.
    full: (nodes, hinges) the most that each hinge could be above its slack. readable: (nodes,).
    """

    hinges: tuple[Hinge, ...]
    parts: FloatArray
    away: FloatArray
    slack: FloatArray
    full: FloatArray
    readable: BoolArray


def build_amounts(
    snapshot: Snapshot,
    targets: Sequence[tuple[str, float, float]],
    balances: Sequence[tuple[str, str, float, float]],
    above_mean: tuple[BoolArray, float] | None = None,
) -> Amounts:
    """The hinges of targets (resource, share, weight) and of balances (one, other, ratio, weight).

    A balance ratio * free(one) - free(other) is linear in what is requested, so it is a hinge.
    above_mean: (nodes,) that the mean is taken over, and by how much a node may be above it; a
    higher target does not count then.
    """
    names = [target[0] for target in targets]
    wanted = [*names, *(name for balance in balances for name in balance[:2])]
    requests, room = requests_and_room(snapshot, wanted)
    then = next_requested(snapshot, wanted)
    readable, annotated = annotated_targets(snapshot.nodes)
    hinges, parts, away, slack, full = [], [], [], [], []
    bound = snapshot.pod_node >= 0
    for name, share, weight in targets:
        own = np.array([annotation.get(name, np.nan) for annotation in annotated], dtype=np.float64)
        most, than = np.where(np.isnan(own), share * room[name], own), "the target"
        if above_mean is not None:
            selected, tolerance = above_mean
            mean = mean_requested(snapshot, requests[name], room[name], selected & readable)
            if np.isfinite(mean):
                most = np.minimum(most, (mean + tolerance) * room[name])
            if mean + tolerance < share:
                than = f"the mean of {mean:.0%} and the tolerance of {tolerance:.0%}"
        hinges.append(Hinge(name, "", weight, _average(requests[name][bound]), than))
        parts.append(requests[name])
        away.append(then[name])
        slack.append(most)
        full.append(np.maximum(room[name] - slack[-1], 0.0))
    for name, other, ratio, weight in balances:
        hinges.append(Hinge(name, other, weight, _average(requests[other][bound])))
        parts.append(requests[other] - ratio * requests[name])
        away.append(then[other] - ratio * then[name])
        slack.append(room[other] - ratio * room[name])
        full.append(ratio * room[name])
    return Amounts(
        tuple(hinges),
        np.stack(parts, axis=1),
        np.stack(away, axis=1),
        np.stack(slack, axis=1),
        np.stack(full, axis=1),
        readable,
    )


def requests_and_room(
    snapshot: Snapshot, names: Sequence[str]
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """By resource, (pods,) what each requests, and (nodes,) what is allocatable."""
    room = {name: np.array([_allocatable(node, name) for node in snapshot.nodes]) for name in names}
    return _requests(snapshot.pod_asking, names), room


def next_requested(snapshot: Snapshot, names: Sequence[str]) -> dict[str, FloatArray]:
    """By resource, (pods,) what the replacement of each requests."""
    return _requests(snapshot.next_pods.replacement_requests(snapshot.pod_asking), names)


def _requests(
    asking: tuple[Sequence[PodSpec], IntArray], names: Sequence[str]
) -> dict[str, FloatArray]:
    """asking: different specs, and (pods,) the place of each pod's."""
    spec_requests = [pod_requests(pod_spec) for pod_spec in asking[0]]
    requests: dict[str, FloatArray] = {}
    for name in dict.fromkeys(names):
        of_spec = np.array(
            [_requested_amount(amount, name) for amount in spec_requests], dtype=np.float64
        )
        requests[name] = of_spec[asking[1]]
    return requests


def mean_requested(
    snapshot: Snapshot, requests: FloatArray, room: FloatArray, selected: BoolArray
) -> float:
    """The share that is requested of all that these nodes have; infinite where they have none.

    No move among them changes it, as each node weighs as much as it has.
    """
    there = np.append(selected & (room > 0), False)
    total = float(room[there[:-1]].sum())
    return float(requests[there[snapshot.pod_node]].sum()) / total if total > 0 else np.inf


def _requested_amount(requests: Mapping[str, int], name: str) -> float:
    """How much a pod takes of a resource; of `pods`, which none requests, it takes one."""
    return 1.0 if name == PODS else requests.get(name, 0) / NANO


def _average(requests: FloatArray) -> float:
    some = requests[requests > 0]
    return float(some.mean()) if len(some) else 1.0


def _allocatable(node: Node, name: str) -> float:
    quantity = (node.status.allocatable or {}).get(name)
    return 0.0 if quantity is None else nanos(quantity) / NANO


def annotated_targets(nodes: Sequence[Node]) -> tuple[BoolArray, list[dict[str, float]]]:
    """(nodes,) whether the annotation of each can be read, and what it says."""
    readable, targets = np.ones(len(nodes), dtype=np.bool_), []
    for number, node in enumerate(nodes):
        text = (node.metadata.annotations or {}).get(REQUEST_TARGETS)
        own: dict[str, float] = {}
        if text is not None:
            try:
                own = _targets(text)
            except ValueError:
                readable[number] = False
        targets.append(own)
    return readable, targets


def unreadable(snapshot: Snapshot, nodes: BoolArray) -> tuple[Problem, ...]:
    """ALC003 for these nodes, whose annotation cannot be read."""
    if not nodes.any():
        return ()
    names = [snapshot.nodes[node].metadata.name for node in np.flatnonzero(nodes)]
    text = f"{REQUEST_TARGETS} of {list_names(names, 'node')} is not JSON of quantities"
    return (Problem("ALC003", f"{text}; they are left out"),)


def _targets(text: str) -> dict[str, float]:
    """The annotation.

    Raises:
        ValueError: it is no JSON object of quantities that are not negative.
    """
    read = msgspec.json.decode(text, type=dict[str, str])
    targets = {name: nanos(quantity) / NANO for name, quantity in read.items()}
    if any(amount < 0 for amount in targets.values()):
        raise ValueError(text)
    return targets
