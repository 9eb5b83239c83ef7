"""Makes the arrays of a placement from a working copy of planning."""

from collections.abc import Iterable, Sequence

import numpy as np

from rescheduler.kube.objects import PodSpec
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.destination_choice import Chooser
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.affinities import affinities
from rescheduler.planning.improve.colocation_rule import Beside
from rescheduler.planning.improve.placement import Placement, Priced
from rescheduler.planning.improve.placement_rules import (
    Accepted,
    Apart,
    PlacementRule,
    ResourceRule,
)
from rescheduler.policies.shared.acceptance import Acceptance
from rescheduler.policies.shared.separable_terms import Estimating, Kernel, Roomed, Separable


def compile_placement(
    copy: WorkingCopy,
    chooser: Chooser | None = None,
    *,
    rules: Sequence[PlacementRule] = (),
    moved: Sequence[Shift] = (),
    only: BoolArray | None = None,
) -> Placement | Problem:
    """The placement of those policies that decide now and can be had as sums, or why none can.

    chooser: says which pods can be steered; None: all. rules: what else holds.
    moved: of what the working copy has moved, what may yet be moved otherwise or not at all; with
    any, the order of the input changes nothing. only: (pods,) which may move at most, of those that
    the cluster lets move; None: those that it does are worked out.
    """
    priced, filled, movable = _priced_terms(copy)
    if not priced:
        return Problem("FEA003", "no policy is a sum over nodes, or nearly one")
    pod_affinities = affinities(copy.snapshot)
    movable &= pod_affinities.complete
    if only is not None:
        movable &= only
    movable[list(copy.eligibility.refusals(np.flatnonzero(movable).astype(np.int32)))] = False
    if chooser is not None:
        candidates = np.flatnonzero(movable).tolist()
        movable[[pod for pod in candidates if chooser.problem(pod, whole=False)]] = False
    movable[list(copy.moved - {shift.pod for shift in moved})] = False
    where = copy.scheduler.occupancy.where
    home = where.astype(np.int32, copy=True)
    for shift in moved:
        if movable[shift.pod]:
            home[shift.pod] = shift.source
    nodes = len(copy.snapshot.nodes)
    every: list[PlacementRule] = [
        _room(copy, home, where, filled),
        Apart(pod_affinities.apart, nodes, where),
        *rules,
    ]
    if pod_affinities.key:
        domain = _domains(copy.snapshot, pod_affinities.key)
        every.append(Beside(pod_affinities.group, pod_affinities.needs, domain, where))
    accepted = _acceptance_rule(copy.snapshot)
    if accepted is not None:
        every.append(accepted)
    prices = np.full(len(movable), copy.limits.margin)
    order = _order(copy, movable) if moved else None
    return Placement(home, movable, nodes, priced, every, prices, where=where, order=order)


def _priced_terms(
    copy: WorkingCopy,
) -> tuple[list[Priced], list[tuple[FloatArray, FloatArray]], BoolArray]:
    """What the policies charge, what they let nodes fill to, and (pods,) which one may move."""
    priced: list[Priced] = []
    filled: list[tuple[FloatArray, FloatArray]] = []
    movable = np.zeros(len(copy.snapshot.pods), dtype=np.bool_)
    for binding in copy.active:
        term: object = binding.term
        if isinstance(term, Roomed):
            filled.append(term.room())
        kernel = _kernel(term)
        if kernel is not None:
            priced.append(Priced(kernel, binding.policy.weight))
            movable |= kernel.movable if binding.below is None else kernel.movable & binding.below
    return priced, filled, movable


def _kernel(term: object) -> Kernel | None:
    kernel = term.kernel() if isinstance(term, Separable) else None
    return term.estimate() if kernel is None and isinstance(term, Estimating) else kernel


def _order(copy: WorkingCopy, movable: BoolArray) -> tuple[IntArray, IntArray]:
    """The order of pods by their UIDs, of those that may move, and that of nodes by the seed."""
    pods = copy.snapshot.pods
    order = sorted(np.flatnonzero(movable).tolist(), key=lambda pod: pods[pod].metadata.uid)
    ranks = np.zeros(len(pods), dtype=np.int32)
    ranks[order] = np.arange(len(order))
    return ranks, copy.precedence


def _room(
    copy: WorkingCopy,
    home: IntArray,
    where: IntArray,
    filled: Iterable[tuple[FloatArray, FloatArray]],
) -> ResourceRule:
    """Requests and free slots, as kube-scheduler counts them, and what policies let nodes fill to.

    filled: as `Roomed` tells them.
    """
    state = copy.scheduler.occupancy
    everybody = np.arange(len(where), dtype=np.int32)
    rows: list[FloatArray] = [np.ones(len(where))]
    free: list[FloatArray] = [(state.slots - state.pods).astype(np.float64)]
    names = ["pods"]
    for row, name in enumerate(state.resources):
        taken = state.replacement_amounts(row, everybody)
        if taken.any():
            rows.append(taken.astype(np.float64))
            free.append((state.allocatable[row] - state.requested[row]).astype(np.float64))
            names.append(name)
    for taken_each, remaining in filled:
        rows += [*taken_each.T]
        free += [*remaining.T]
        names += [""] * remaining.shape[1]
    return ResourceRule(
        np.stack(rows, axis=1),
        np.stack(free, axis=1),
        home,
        where,
        np.array([not name for name in names]),
    )


def _domains(snapshot: Snapshot, key: str) -> IntArray:
    """(nodes,) the domain of each by that label; each node without it is one of its own."""
    numbers: dict[str, int] = {}
    values = [
        (node.metadata.labels or {}).get(key, f"/{node.metadata.name}") for node in snapshot.nodes
    ]
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int32)


def _acceptance_rule(snapshot: Snapshot) -> Accepted | None:
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

    of_spec = np.array([number(spec) for spec in snapshot.specs], dtype=np.int32)
    if all(mask.all() for mask in masks):
        return None
    return Accepted(np.stack(masks), of_spec[snapshot.pod_spec])
