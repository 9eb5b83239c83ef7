"""A working copy of planning as arrays: what an improvement needs of it, and no more."""

from collections.abc import Iterable, Sequence

import numpy as np

from rescheduler.kube.objects import PodSpec
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.affinities import affinities
from rescheduler.planning.improve.beside import Beside
from rescheduler.planning.improve.placement import Placement, Priced
from rescheduler.planning.improve.rules import Accepted, Apart, Room, Rule
from rescheduler.policies.shared.acceptance import Acceptance
from rescheduler.policies.shared.separable import Separable


def compiled(
    copy: WorkingCopy,
    *,
    held: Iterable[str] = (),
    rules: Sequence[Rule] = (),
    price: FloatArray | float = 0.0,
    moved: Sequence[Shift] = (),
    only: BoolArray | None = None,
) -> Placement | Problem:
    """The placement of the policies that decide now, or why they cannot be had as sums.

    held: resources that a pod keeps on its node until its replacement runs elsewhere.
    rules: what else holds. price: (pods,) what moving each costs, beside the margin.
    moved: of what the working copy has moved, what may yet be moved otherwise or not at all; with
    any, the order of the input changes nothing. only: (pods,) which may move at most, of those that
    the cluster lets move; None: those that it does are worked out.
    """
    priced: list[Priced] = []
    movable = np.zeros(len(copy.snapshot.pods), dtype=np.bool_)
    for binding in copy.active:
        term: object = binding.term
        kernel = term.kernel() if isinstance(term, Separable) else None
        if kernel is None:
            text = f"{binding.policy.kind} {binding.policy.name} is no sum over nodes"
            return Problem("FEA003", text)
        priced.append(Priced(kernel, binding.policy.weight))
        movable |= kernel.movable if binding.below is None else kernel.movable & binding.below
    found = affinities(copy.snapshot)
    movable &= found.known
    if only is None:
        movable[list(copy.eligibility.refusals(np.flatnonzero(movable).astype(np.int32)))] = False
    else:
        movable &= only
    movable[list(copy.moved - {shift.pod for shift in moved})] = False
    where = copy.scheduler.occupancy.where
    home = where.astype(np.int32, copy=True)
    for shift in moved:
        if movable[shift.pod]:
            home[shift.pod] = shift.source
    nodes = len(copy.snapshot.nodes)
    every: list[Rule] = [_room(copy, held, where), Apart(found.apart, nodes, where), *rules]
    if found.key:
        domain = _domains(copy.snapshot, found.key)
        every.append(Beside(found.group, found.needs, domain, where))
    accepted = _accepted(copy.snapshot)
    if accepted is not None:
        every.append(accepted)
    prices = np.full(len(movable), copy.limits.margin) + price
    order = _order(copy, movable) if moved else None
    return Placement(home, movable, nodes, priced, every, prices, where=where, order=order)


def _order(copy: WorkingCopy, movable: BoolArray) -> tuple[IntArray, IntArray]:
    """The order of pods by their UIDs, of those that may move, and that of nodes by the seed."""
    pods = copy.snapshot.pods
    order = sorted(np.flatnonzero(movable).tolist(), key=lambda pod: pods[pod].metadata.uid)
    ranks = np.zeros(len(pods), dtype=np.int32)
    ranks[order] = np.arange(len(order))
    return ranks, copy.precedence


def _room(copy: WorkingCopy, held: Iterable[str], where: IntArray) -> Room:
    """Requests and free slots, as kube-scheduler counts them."""
    state = copy.scheduler.occupancy
    everybody = np.arange(len(where), dtype=np.int32)
    rows: list[FloatArray] = [np.ones(len(where))]
    free: list[FloatArray] = [(state.slots - state.pods).astype(np.float64)]
    names = ["pods"]
    for row, name in enumerate(state.resources):
        taken = state.taken(row, everybody)
        if taken.any():
            rows.append(taken.astype(np.float64))
            free.append((state.allocatable[row] - state.requested[row]).astype(np.float64))
            names.append(name)
    kept = set(held)
    return Room(
        np.stack(rows, axis=1),
        np.stack(free, axis=1),
        np.array([each in kept for each in names]),
        where.copy(),
    )


def _domains(snapshot: Snapshot, key: str) -> IntArray:
    """(nodes,) the domain of each by that label; each node without it is one of its own."""
    numbers: dict[str, int] = {}
    values = [
        (each.metadata.labels or {}).get(key, f"/{each.metadata.name}") for each in snapshot.nodes
    ]
    return np.array([numbers.setdefault(each, len(numbers)) for each in values], dtype=np.int32)


def _accepted(snapshot: Snapshot) -> Accepted | None:
    """Which nodes accept pods by selector, affinity and taints; None where all accept all."""
    acceptance = Acceptance(snapshot)
    by_mask: dict[bytes, int] = {}
    masks: list[BoolArray] = []
    by_shape: dict[bytes, int] = {}

    def number(spec: PodSpec) -> int:
        shape = acceptance.shape(spec)
        if shape not in by_shape:
            mask = acceptance.nodes(spec)
            by_shape[shape] = by_mask.setdefault(mask.tobytes(), len(masks))
            if by_shape[shape] == len(masks):
                masks.append(mask)
        return by_shape[shape]

    of_spec = np.array([number(each) for each in snapshot.specs], dtype=np.int32)
    if all(mask.all() for mask in masks):
        return None
    return Accepted(np.stack(masks), of_spec[snapshot.pod_spec])
