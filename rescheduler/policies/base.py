"""The model that all policy kinds share: name, mode, weight, and the nodes and pods it selects."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic import Field, model_validator

from rescheduler.documents.envelope import Document
from rescheduler.documents.field_problems import FieldPath
from rescheduler.documents.fields import PositiveDuration, Strict, Yes, all_or
from rescheduler.documents.label_selector import Selector
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Mode, Subject
from rescheduler.model.problem import Problem
from rescheduler.policies.own_readings.pair_reading import PairReading
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.policies.terms import Term
from rescheduler.policies.worked_example import Worked

_MEANINGLESS = {"kind", "mode", "weight", "maxPriority", "stableFor", "steering", "onlyIfSteered"}
"""Fields that may change without changing what a policy finds."""


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
    def _selects_one_way(self) -> "NodeMatch":
        if (self.all is None) == (self.labels is None):
            raise ValueError("write either `all: true` or `labels`, to select nodes")
        return self


class Policy(Document):
    """What operators write. `kind` and `name` come from the envelope, the rest from `spec`."""

    summary: ClassVar[str] = ""
    """One sentence for the generated documentation."""
    codes: ClassVar[tuple[str, ...]] = ()
    """The reason codes that it can give, or whole families of them, for the documentation."""
    finding_nouns: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Singular and plural names of what findings count (`Finding.counted_as`), by their reason
    code.
    """
    examples: ClassVar[tuple[Worked, ...]] = ()
    """What it charges in small clusters, for the documentation."""
    subject: ClassVar[Subject] = "pods"
    """What it evaluates, which is what its term's `scope` counts."""
    moves_pods: ClassVar[bool] = True
    """Whether pods are moved for its sake, and it does not only report."""
    keeps_charges: ClassVar[bool] = False
    """Whether its term is `KeepsCharges`."""
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
        "`rescheduler-finding-history`: its time starts again when one cycle does not find it, and "
        "when no cycle ran for this long or for 3 hours, whichever is longer.",
    )

    steering: SteeringFields | None = Field(
        None,
        description="Whether the replacements of pods that are moved for this policy's sake are "
        "steered. As the Limits say, unless given.",
    )
    onlyIfSteered: bool = Field(
        False,
        description="Whether pods are moved for this policy's sake only where their replacements "
        "can be steered.",
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

    @property
    def frees_nodes(self) -> bool:
        """Whether its term is `Freeing`."""
        return False

    def requests(self) -> list[ReadingRequest]:
        """The readings without which the policy is not evaluated."""
        return []

    def resolve_readings(self, traffic: Mapping[str, PairReading]) -> "Policy":  # noqa: ARG002 - of some
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
        yield from self.unreachable()

    def unreachable(self) -> Iterator[str]:
        """The rules that can never act, whatever the cluster, by their fields, and why."""
        yield from ()

    def absent(self, snapshot: Snapshot) -> Iterator[str]:  # noqa: ARG002 - of some
        """The rules that can never act on this cluster, beside matches that select nothing."""
        yield from ()

    def wider(self) -> Iterator[tuple[str, str]]:
        """Fields, each with another value by which the policy judges more of what it selects."""
        yield from ()

    def conflicts(self, other: Strict) -> Iterator[str]:
        """What has no effect, counts twice or conflicts because of another document.

        Asked of each policy with the limits, and of each two policies once, in either order.
        """
        other_kind = getattr(other, "kind", "")
        both = {getattr(document, "strategy", "") for document in (self, other)}
        nodes = [getattr(document, "nodes", None) for document in (self, other)]
        if both == {"Pack", "Balance"} and nodes[0] == nodes[1]:
            yield "one packs the nodes that the other balances"
        bound = getattr(other, "maxPriority", None) if other_kind == "Limits" else None
        if self.maxPriority is not None and bound is not None and self.maxPriority >= bound:
            yield f"maxPriority has no effect: the Limits move no pod above {bound}"
        own = {"name", "weight"}
        if self.model_dump(exclude=own) == other.model_dump(exclude=own):
            yield "they want the same, so it counts twice"

    def compile(self, snapshot: Snapshot) -> Term | Problem:
        """The term for this snapshot, or the problem for which the policy is not evaluated."""
        raise NotImplementedError
