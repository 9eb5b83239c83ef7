"""The two halves of a policy kind: the YAML model that operators write, and its term.

Unit of cost: 1.0 is one pod placed as badly as the policy can express, so that weights mean the
same in every kind.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Protocol, runtime_checkable

from pydantic import ConfigDict, Field, model_validator

from rescheduler.documents.envelope import Document
from rescheduler.documents.field_problems import FieldPath
from rescheduler.documents.fields import PositiveDuration, Strict, Yes, all_or, at_least_one_of
from rescheduler.documents.label_names import NamespaceName
from rescheduler.documents.label_selector import Selector
from rescheduler.model.finding import Finding
from rescheduler.model.idle import IdleHolder
from rescheduler.model.move import Shift
from rescheduler.model.plan import Mode, Subject
from rescheduler.model.problem import Problem
from rescheduler.model.readings import BoolArray, FloatArray, IntArray, ReadingRequest
from rescheduler.model.room import GangRoom
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.own_readings.pairs import PairReading
from rescheduler.policies.steering import Steering

_MEANINGLESS = {"kind", "mode", "weight", "maxPriority", "stableFor", "steering", "onlyIfSteered"}
"""Fields that may change without changing what a policy finds."""

_NARROWING = ("namespaces", "namespaceSelector", "labels")
_Namespaces = Annotated[list[NamespaceName], Field(min_length=1)]


class Exclude(Strict):
    """What a match leaves out: the objects for which all that is given holds.

    Of a namespace that cannot be read no label is known: `namespaceSelector` leaves it out.
    """

    model_config = ConfigDict(json_schema_extra=at_least_one_of(*_NARROWING))

    namespaces: _Namespaces | None = Field(None, description="Names of namespaces.")
    namespaceSelector: Selector | None = Field(None, description="Labels of the namespace.")
    labels: Selector | None = Field(None, description="Labels of the object itself.")

    @model_validator(mode="after")
    def _says_something(self) -> "Exclude":
        if all(getattr(self, each) is None for each in _NARROWING):
            raise ValueError("an empty exclude is refused; leave it out to exclude nothing")
        return self


class Match(Strict):
    """Which objects a policy selects. All fields given must hold; "everything" must be explicit."""

    model_config = all_or(*_NARROWING)

    all: Yes | None = Field(
        None, description="Every object; the fields up to `labels` are not given then."
    )
    namespaces: _Namespaces | None = Field(None, description="Names of namespaces.")
    namespaceSelector: Selector | None = Field(None, description="Labels of the namespace.")
    labels: Selector | None = Field(None, description="Labels of the object itself.")
    exclude: Exclude | None = Field(None, description="Of these objects, the ones to leave out.")

    @model_validator(mode="after")
    def _says_something(self) -> "Match":
        narrowed = [getattr(self, each) for each in _NARROWING]
        if self.all is None and all(each is None for each in narrowed):
            raise ValueError("an empty match is refused; write `all: true` to mean every object")
        if self.all and any(each is not None for each in narrowed):
            raise ValueError("`all: true` excludes the other fields")
        return self


class NodeExclude(Strict):
    """What a match of nodes leaves out."""

    labels: Selector = Field(description="Labels of the node.")


class NodeMatch(Strict):
    """Which nodes a policy selects. "Every node" must be explicit."""

    model_config = all_or("labels")

    all: Yes | None = Field(None, description="Every node; `labels` is not given then.")
    labels: Selector | None = Field(None, description="Labels of the node.")
    exclude: NodeExclude | None = Field(None, description="Of these nodes, the ones to leave out.")

    @model_validator(mode="after")
    def _says_one_thing(self) -> "NodeMatch":
        if (self.all is None) == (self.labels is None):
            raise ValueError("write either `all: true` or `labels`, to select nodes")
        return self


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
        """The pods of which a move could lower the cost of the working copy, in ascending order."""
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

    def unknown(self) -> BoolArray:
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

    def lasted(self) -> FloatArray:
        """(pods,) seconds for which what would make each pod move is known to hold without a break.

        NaN where it does not hold in the snapshot, or its past is not known.
        """
        ...

    def measured(self) -> frozenset[str] | None:
        """The finding codes whose past `lasted` knows, None: all; the history keeps the others."""
        ...


@runtime_checkable
class Bounding(Protocol):
    """A term that bounds cheaply how much moves could gain, for thousands of pods at once."""

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each pod to another node could lower the cost."""
        ...


@runtime_checkable
class Mutual(Protocol):
    """A term of which one move can make others worth more: its pods gain by being together."""

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
        """Whether the pod may be evicted, now or when our own pace allows it."""
        ...

    def landing(self, pod: int, barred: BoolArray) -> int:
        """The node outside of `barred` (nodes,) where its replacement most likely lands; -1: none.

        -1 too where a move there would be refused.
        """
        ...

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy; the reversed shift undoes it."""
        ...


@runtime_checkable
class Freeing(Protocol):
    """A term that frees whole nodes."""

    def leave(self, evacuation: Evacuation) -> None:
        """Leave the nodes alone that would not be free in the end; called before the first move."""
        ...

    def freed(self) -> BoolArray:
        """(nodes,) which it would free, if the others had room for their pods."""
        ...

    def free(self, nodes: BoolArray) -> None:
        """Charge what keeps these (nodes,) from being free: then costs of snapshots compare."""
        ...


ROOM = "FRG004"
"""Why a pod is moved that makes room for a gang."""
NO_ROOM = "FRG005"
"""Why it is not: the gang would not get its room as a whole."""
ROOM_TOO_LARGE = "FRG006"
"""The room of a gang takes more moves at once than the Limits ever allow."""


@runtime_checkable
class Roomy(Protocol):
    """A term that knows which gangs wait for room, and what to free for all pods of one at once."""

    def lacking(self) -> tuple[str, ...]:
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

    def rooms(self) -> list[GangRoom]:
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


class Policy(Document):
    """What operators write. `kind` and `name` come from the envelope, the rest from `spec`."""

    summary: ClassVar[str] = ""
    """One sentence for the generated documentation."""
    codes: ClassVar[tuple[str, ...]] = ()
    """The reason codes that it can give, or whole families of them, for the documentation."""
    things: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Codes of which each finding is one thing that people count: what one and several are called.
    """
    subject: ClassVar[Subject] = "pods"
    """What it evaluates, which is what its term's `scope` counts."""
    each_alone: ClassVar[bool] = False
    """Whether each pod of a finding has its own time since when the finding holds."""

    mode: Mode = Field(
        "Enforce",
        description="Audit: evaluated and shown, never acted on. Enforce: acted on when the run is "
        "in mode Enforce.",
    )
    weight: float = Field(1.0, ge=0, le=1000, description="What one unit of cost counts.")
    maxPriority: int | None = Field(
        None,
        description="Pods above this priority are not moved for this policy's sake. No bound of "
        "its own, unless given; that of the Limits holds in any case.",
    )

    stableFor: PositiveDuration | None = Field(
        None,
        description="Pods are moved for this policy's sake only where a finding has held for this "
        "long; until then it is shown, and its pods are refused (STB001, STB002). Absent: no wait. "
        "A load or a sign of a node must have held at every one of up to 30 evaluations in that "
        "time, a minute or more apart, which are queried from Prometheus again in each cycle: one "
        "range query, at the cost of the plain reading or a few times that, with an answer as many "
        "times larger. Any other finding is remembered from cycle to cycle in the ConfigMap "
        "`rescheduler-finding-history`: its time starts anew when one cycle does not find it, and "
        "when no cycle ran for this long or for 3 hours, whichever is longer.",
    )

    steering: Steering | None = Field(
        None,
        description="Whether the replacements of pods that are moved for this policy's sake are "
        "told where to go. As the Limits say, unless given.",
    )
    onlyIfSteered: bool = Field(
        False,
        description="Whether pods are moved for this policy's sake only where their replacements "
        "can be told where to go.",
    )

    @property
    def span(self) -> float:
        """Seconds for which a finding must have held; 0: no wait."""
        return 0.0 if self.stableFor is None else self.stableFor.total_seconds()

    @property
    def meaning(self) -> str:
        """Digest of what the policy finds; fields that a later version adds do not change it."""
        written = self.model_dump_json(exclude=_MEANINGLESS, exclude_defaults=True)
        return hashlib.blake2b(f"{self.kind} {written}".encode(), digest_size=8).hexdigest()

    def requests(self) -> list[ReadingRequest]:
        """The readings without which the policy is not evaluated."""
        return []

    def resolved(self, traffic: Mapping[str, PairReading]) -> "Policy":  # noqa: ARG002 - of some
        """The policy with what documents of kind Readings define for it by name.

        Raises:
            FieldError: it names what none of them defines.
        """
        return self

    def grouped_by_gang(self) -> Iterator[FieldPath]:
        """The fields that ask for gangs as groups, so that it says where gangs are never moved."""
        yield from ()

    def without_effect(self) -> Iterator[str]:
        """What has no effect in it, as can be seen from the policy alone."""
        if self.weight == 0:
            yield "weight is 0, so it has no effect"

    def conflicts(self, other: Strict) -> Iterator[str]:
        """What has no effect, counts twice or conflicts because of another document.

        Asked of each policy with the limits, and of each two policies once, in either order.
        """
        own = {"name", "weight"}
        if self.model_dump(exclude=own) == other.model_dump(exclude=own):
            yield "they want the same, so it counts twice"

    def compile(self, snapshot: Snapshot) -> Term | Problem:
        """The term for this snapshot, or the problem for which the policy is not evaluated."""
        raise NotImplementedError
