"""Protocols of terms: the cost that every term has, and what some offer planning besides.

Unit of cost: 1.0 is one pod placed as badly as the policy can express, so that weights mean the
same in every kind.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.finding import Finding
from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.gang_room import GangRoom
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem


class Term(Protocol):
    """A policy bound to one snapshot: answers for one pod against all candidate nodes at once.

    A term keeps its own working copy of the placement. The conformance kit checks that a delta is
    the difference of costs, that the reversed shift undoes, and that findings sum to the cost.
    """

    def cost(self) -> float:
        """The policy's cost of the working copy, unweighted, never negative, never NaN."""
        ...

    def worst(self) -> float:
        """The highest cost that the policy could have on this snapshot, for the score."""
        ...

    def scope(self) -> int:
        """How many pods or nodes the policy evaluates."""
        ...

    def candidates(self) -> IntArray:
        """The pods whose move could lower the cost of the working copy, in ascending order."""
        ...

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved from where it is to each of the k nodes."""
        ...

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        ...

    def findings(self) -> Iterator[Finding]:
        """Why the cost is what it is; the findings' costs sum to `cost()`."""
        ...


@runtime_checkable
class Loaded(Protocol):
    """What a term that follows measured load reports beside its cost."""

    def hot_nodes(self) -> IntArray:
        """The nodes above their target in the snapshot (not in the working copy), ascending."""
        ...

    def unknown_nodes(self) -> BoolArray:
        """(nodes,) whether the term ought to know the node's load and does not.

        Such a node is never a source, and never a landing to count on (FEA006).
        """
        ...

    def load_after(self) -> dict[str, FloatArray]:
        """Node reading name to the (nodes,) load of the working copy, 0 to 1; NaN is unknown."""
        ...

    def usage(self, pod: int) -> dict[str, float]:
        """Pod reading name to what the pod uses, in that reading's unit; unknown is left out."""
        ...


@runtime_checkable
class Lasting(Protocol):
    """A term that readings trigger, and that knows from their past for how long they have."""

    def finding_ages(self) -> FloatArray:
        """(pods,) seconds for which what would make each pod move is known to hold without a break.

        NaN where it does not hold in the snapshot, or its past is not known.
        """
        ...

    def measured_codes(self) -> frozenset[str] | None:
        """The finding codes whose past `finding_ages` knows (None: all); history has the rest."""
        ...


@runtime_checkable
class Bounding(Protocol):
    """A term that bounds cheaply how much moves could gain, for thousands of pods at once."""

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each pod to another node could lower the cost."""
        ...


@dataclass(frozen=True, slots=True)
class JointBound:
    """What any set of moves gains at most: the sum of its pods' values, by place up to its cap.

    values: (pods,) of each pod. place: (pods,) where several together gain no more than a cap, -1
    for none. caps: (places,).
    """

    values: FloatArray
    place: IntArray
    caps: FloatArray


@runtime_checkable
class JointlyBounding(Protocol):
    """A term that can prove how much many moves gain together at most."""

    def joint_bound(self) -> JointBound | None:
        """For the working copy as it is; None where there is no better proof than the cost."""
        ...


@runtime_checkable
class Mutual(Protocol):
    """A term where one move can make others worth more: its pods gain by being together."""

    def partners(self, pods: IntArray) -> IntArray:
        """The pods, these among them, that may gain more by moving once any of these has moved."""
        ...


@runtime_checkable
class Filling(Protocol):
    """A term that knows which nodes a pod would fill beyond what pods may fill them to."""

    def overfills(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether the pod would be too much for each of the k nodes, in the working copy.

        What a move gains there does not count, and a move that most likely ends there is refused.
        """
        ...


class Evacuation(Protocol):
    """What planning answers a term that frees whole nodes; it has a working copy of its own."""

    def leaves(self, pod: int) -> bool:
        """Whether the pod may be evicted, now or when our own limits allow it."""
        ...

    def has_begun(self, node: int) -> bool:
        """Whether pods have left the node by our own recent moves."""
        ...

    def landing(self, pod: int, blocked: BoolArray) -> int:
        """The node outside of `blocked` (nodes,) where its replacement most likely lands; -1: none.

        -1 too where a move there would be refused.
        """
        ...

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy; the reversed shift undoes it."""
        ...


@runtime_checkable
class KeepsCharges(Protocol):
    """A term whose charge for a pod does not change while the pod runs."""

    def charge(self, pod: int) -> float:
        """The pod's own charge where the snapshot has it, or the least that it can be."""
        ...

    def doubt(self, pod: int) -> str:
        """Why it is not known what the pod is charged where the snapshot has it, or ""."""
        ...

    def charge_on(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) what the pod would be charged on each of the k nodes."""
        ...

    def keep(self, pod: int, before: float, after: float) -> None:
        """Charge the pod as before it moved, where the working copy has it.

        after: what it was expected to be charged where it would go, which deltas answer with.
        """
        ...


@runtime_checkable
class Freeing(Protocol):
    """A term that frees whole nodes."""

    def leave(self, evacuation: Evacuation) -> None:
        """Ignore nodes that the plan could not empty; called before the first move."""
        ...

    def freeable_nodes(self) -> BoolArray:
        """(nodes,) which it would free, if the others had room for their pods."""
        ...

    def free(self, nodes: BoolArray) -> None:
        """Charge what keeps these (nodes,) from being free: then costs of snapshots compare."""
        ...


@runtime_checkable
class Immovable(Protocol):
    """A term whose cost leaves out what is wrong and no move may mend."""

    def immovable(self) -> tuple[Finding, ...]:
        """That, in the snapshot; none of these findings is part of `cost`."""
        ...


@runtime_checkable
class PassingOver(Protocol):
    """A term that does not judge all that its policy selects."""

    def unjudged_sentence(self) -> str:
        """What seems to be wrong with what it passes over; "": nothing."""
        ...


@runtime_checkable
class Relieving(Protocol):
    """A term that relieves what is hot to less than where it counts as hot."""

    def hot_on(self, node: int) -> tuple[str, ...]:
        """What is hot on the node in the snapshot, by names that are the same in every cycle."""
        ...

    def continue_relief(self, begun: Mapping[tuple[int, str], datetime]) -> None:
        """Relieve these too, which earlier moves have begun; called before the first move.

        begun: node and what was hot on it, to when that was seen last.
        """
        ...


INCOMPLETE_READINGS = ("RDG012", "RDG010", "HLT003", "NUM003")
"""Warnings about readings that say too little of some nodes or pods."""
ROOM = "FRG004"
"""Why a pod is moved that makes room for a gang."""
NO_ROOM = "FRG005"
"""Why it is not: the gang would not get its room as a whole."""
ROOM_TOO_LARGE = "FRG006"
"""The room of a gang takes more moves at once than the Limits ever allow."""


@runtime_checkable
class Roomy(Protocol):
    """A term that knows which gangs wait for room, and what to free for all pods of one at once."""

    def gangs_without_room(self) -> tuple[str, ...]:
        """The gangs that have no room in the working copy and could have it, urgent ones first."""
        ...

    def short(self, gang: str) -> int:
        """Of how many places a gang without room has too few; 0 with room."""
        ...

    def open_for(self, gang: str) -> list[tuple[int, int]]:
        """Shape and node of what could be freed for one more pod, nearly free places first."""
        ...

    def relief(self, shape: int, node: int) -> tuple[IntArray, FloatArray]:
        """The pods whose leaving brings the node nearer to one more of the shape, and how much."""
        ...

    def gang_placements(self) -> list[GangRoom]:
        """Every gang that waits: whether it has room in the snapshot, and in the working copy."""
        ...


@runtime_checkable
class Idling(Protocol):
    """A term that knows who holds GPUs without using them."""

    def idle(self) -> list[IdleHolder]:
        """By owner, who wastes most first."""
        ...


@runtime_checkable
class Warns(Protocol):
    """A term that reports problems of the data that it was given."""

    def warnings(self) -> tuple[Problem, ...]:
        """What was odd about the snapshot, and what the term leaves alone because of it."""
        ...
