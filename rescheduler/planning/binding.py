"""Policies bound to one snapshot: each with its term, or why it is not evaluated."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any

import numpy as np

from rescheduler.kube.pods.pod_state import pod_priority
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.base import Policy
from rescheduler.policies.shared.separable_terms import Separable
from rescheduler.policies.terms import (
    Bounding,
    Evacuation,
    Filling,
    Freeing,
    Idling,
    Immovable,
    JointBound,
    JointlyBounding,
    Loaded,
    Mutual,
    PassingOver,
    Relieving,
    Roomy,
    Term,
    Warns,
)


@dataclass(frozen=True)
class Binding:
    """One policy and its term.

    unknown: (nodes,) whether the policy ought to know the node's load and does not.
    below: (pods,) which pods its own `maxPriority` lets it move; None: all.
    capacities: node reading name to how much 1.0 is on each node, in the pods' unit.
    """

    policy: Policy
    term: Term | None
    problem: Problem | None
    unknown: BoolArray
    capacities: dict[str, FloatArray]
    below: BoolArray | None = None

    @property
    def enforced(self) -> bool:
        """Whether the policy may cause an eviction."""
        return self.policy.mode == "Enforce"

    @cached_property
    def loaded(self) -> Loaded | None:
        """The term, where it follows measured load."""
        term: Loaded | None = _term_as(self.term, Loaded)
        return term

    @cached_property
    def bounding(self) -> Bounding | None:
        """The term, where it can bound gains cheaply."""
        term: Bounding | None = _term_as(self.term, Bounding)
        return term

    def joint_bound(self) -> JointBound | None:
        """What any moves gain at most for the policy; None where only its cost bounds that."""
        proving: JointlyBounding | None = _term_as(self.term, JointlyBounding)
        if proving is not None:
            return proving.joint_bound()
        separable: Separable | None = _term_as(self.term, Separable)
        kernel = None if separable is None else separable.kernel()
        if kernel is None:
            return None
        saved = kernel.savings()
        return JointBound(saved, np.full(len(saved), -1, dtype=np.int32), np.empty(0))

    @cached_property
    def _mutual(self) -> Mutual | None:
        term: Mutual | None = _term_as(self.term, Mutual)
        return term

    def partners(self, pods: IntArray) -> IntArray:
        """The pods that may gain more for the policy once any of these has moved.

        None where the term tells of no such pods.
        """
        if self._mutual is None:
            return np.zeros(0, dtype=np.int32)
        return np.intersect1d(self._mutual.partners(pods), self.candidates())

    @cached_property
    def _filling(self) -> Filling | None:
        term: Filling | None = _term_as(self.term, Filling)
        return term

    @property
    def fills(self) -> bool:
        """Whether the policy can tell which nodes a pod would overfill."""
        return self._filling is not None

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What the term finds in the working copy; kept until a move is made there."""
        return tuple(self.term.findings()) if self.term is not None else ()

    def moves(self, pod: int) -> bool:
        """Whether the pod may be moved for the policy's sake."""
        return self.below is None or bool(self.below[pod])

    def candidates(self) -> IntArray:
        """The pods that may be moved for the policy's sake, ascending."""
        if self.term is None:
            return np.zeros(0, dtype=np.int32)
        pods = self.term.candidates()
        return pods if self.below is None else pods[self.below[pods]]

    def leave(self, evacuation: Evacuation) -> None:
        """Pass the term what may leave its node and where it lands, where it frees whole nodes."""
        freeing: Freeing | None = _term_as(self.term, Freeing)
        if freeing is not None:
            freeing.leave(evacuation)

    def hot_on(self, node: int) -> tuple[str, ...]:
        """What is hot on the node and is relieved to less, where the policy follows that."""
        relieving: Relieving | None = _term_as(self.term, Relieving)
        return () if relieving is None else relieving.hot_on(node)

    def continue_relief(self, begun: Mapping[tuple[int, str], datetime]) -> None:
        """Let the term relieve what earlier moves have begun to relieve."""
        relieving: Relieving | None = _term_as(self.term, Relieving)
        if relieving is not None and begun:
            relieving.continue_relief(begun)

    def overfills(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether the pod would be too much for each of the nodes, as the policy sees it."""
        if self._filling is None:
            return np.zeros(len(nodes), dtype=np.bool_)
        return self._filling.overfills(pod, nodes)

    def commit(self, shift: Shift) -> None:
        """Make the move in the term's working copy."""
        if self.term is not None:
            self.term.commit(shift)
            self.__dict__.pop("findings", None)

    def warnings(self) -> tuple[Problem, ...]:
        """What the term finds odd about the data."""
        warns: Warns | None = _term_as(self.term, Warns)
        return () if warns is None else warns.warnings()

    def immovable(self) -> tuple[Finding, ...]:
        """What is wrong and no move may mend, where the term tells that apart from its cost."""
        standing: Immovable | None = _term_as(self.term, Immovable)
        return () if standing is None else standing.immovable()

    def unjudged_sentence(self) -> str:
        """What seems to be wrong with what the policy selects and does not judge; "": nothing."""
        passing: PassingOver | None = _term_as(self.term, PassingOver)
        return "" if passing is None else passing.unjudged_sentence()

    def idle(self) -> list[IdleHolder]:
        """Who holds GPUs without using them, where the term tells that."""
        idling: Idling | None = _term_as(self.term, Idling)
        return [] if idling is None else idling.idle()

    @cached_property
    def roomy(self) -> Roomy | None:
        """The term, where gangs wait for room that it knows of."""
        term: Roomy | None = _term_as(self.term, Roomy)
        return term

    def capacity(self, reading: str, node: int) -> float:
        """How much 1.0 of that node reading is on the node; 0 where it is not known."""
        capacity = self.capacities.get(reading)
        return 0.0 if capacity is None else float(np.nan_to_num(capacity[node]))


def _term_as(term: object, protocol: Any) -> Any:
    """The term, where it has every member of the protocol, else None.

    As `isinstance` tells it, which finds the members again each time and takes 20 times as long.
    """
    return term if all(hasattr(term, member) for member in _members(protocol)) else None


@cache
def _members(protocol: Any) -> tuple[str, ...]:
    return tuple(name for name in vars(protocol) if not name.startswith("_"))


def weighted_gain(bindings: Iterable[Binding], gains: Mapping[str, float]) -> float:
    """What these policies gain together, weighted. gains: policy name to its own."""
    return sum(binding.policy.weight * gains[binding.policy.name] for binding in bindings)


def bind(policies: Iterable[Policy], snapshot: Snapshot) -> tuple[Binding, ...]:
    """Compile every policy on this snapshot."""
    return tuple(_bind(policy, snapshot) for policy in policies)


def _bind(policy: Policy, snapshot: Snapshot) -> Binding:
    nowhere = np.zeros(len(snapshot.nodes), dtype=np.bool_)
    compiled = policy.compile(snapshot)
    if isinstance(compiled, Problem):
        return Binding(policy, None, compiled, nowhere, {})
    loaded: Loaded | None = _term_as(compiled, Loaded)
    unknown = nowhere if loaded is None else loaded.unknown_nodes()
    readings = [snapshot.readings.find(request) for request in policy.requests()]
    capacities = {
        reading.name: reading.capacity
        for reading in readings
        if reading is not None and reading.capacity is not None
    }
    return Binding(policy, compiled, None, unknown, capacities, _priority_mask(policy, snapshot))


def _priority_mask(policy: Policy, snapshot: Snapshot) -> BoolArray | None:
    if policy.maxPriority is None:
        return None
    priorities = np.array([pod_priority(spec) for spec in snapshot.specs], dtype=np.int64)
    below: BoolArray = (priorities <= policy.maxPriority)[snapshot.pod_spec]
    return below
