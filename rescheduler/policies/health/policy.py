"""Health: report nodes whose readings show that they are broken; drain them if configured."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import (
    NO_OTHERS,
    RATIO_PATTERN,
    PositiveDuration,
    Ratio,
    Strict,
    Yes,
)
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Subject
from rescheduler.model.problem import Problem
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.health.device_faults import Sign
from rescheduler.policies.health.term import HealthTerm
from rescheduler.policies.match import Match
from rescheduler.policies.shared.matching import select_nodes, select_pods
from rescheduler.policies.shared.node_signal import read_signal

_SIGNS = {
    "xid": ("node.gpu.xid", 1e4, "a GPU reported XID {value:.0f} within the window"),
    "ecc": ("node.gpu.ecc", 1e9, "a GPU's memory had {value:.0f} uncorrectable errors"),
    "remap": ("node.gpu.remap", 1e9, "a GPU could not remap a row of its memory"),
    "drops": ("node.network.drops", 1.0, "its network drops {value:.2%} of the packets"),
    "retransmits": ("node.network.retransmits", 1.0, "it sends {value:.2%} of TCP segments again"),
}
"""Field to the catalogue's reading, its highest legal value, and what it means."""

_MOST = 1e18
"""The source has refused values that are not legal for a reading of an operator."""


def _sign(sign: str) -> tuple[str, float, str]:
    """As in _SIGNS, also for a sign that is the name of a reading."""
    return _SIGNS.get(sign) or (sign, _MOST, f"{sign} is {{value:.4g}}")


def _number(value: Any) -> Any:
    """`95%`, or a number in the unit of the reading."""
    if isinstance(value, str) and re.fullmatch(RATIO_PATTERN, value):
        return float(value[:-1]) / 100
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Above = Annotated[
    float,
    BeforeValidator(
        _number,
        json_schema_input_type=Annotated[float, Field(ge=0)]
        | Annotated[str, Field(pattern=RATIO_PATTERN)],
    ),
    Field(ge=0),
]
_NAME = r"node(\.[a-zA-Z][a-zA-Z0-9]*)+"


def _of_nodes(value: str) -> str:
    if not re.fullmatch(_NAME, value):
        raise FieldError("must be the name of a reading of nodes, such as node.disk.space")
    return value


_ReadingOfNodes = Annotated[
    str, AfterValidator(_of_nodes), WithJsonSchema({"type": "string", "pattern": f"^{_NAME}$"})
]


class Signs(Strict):
    """What makes a node broken; at least one."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {signal: {"not": {"type": "null"}}}, "required": [signal]}
                for signal in (*_SIGNS, "own")
            ]
        }
    )

    xid: Yes | None = Field(
        None,
        description="A GPU reported an XID error within the window that is not the application's "
        "(13, 31, 43, 45, 68 and 109 are).",
    )
    ecc: Yes | None = Field(
        None,
        description="A GPU's memory had uncorrectable errors within the window. NVIDIA's need "
        "`DCGM_FI_DEV_ECC_DBE_VOL_TOTAL`, which dcgm-exporter collects only if configured.",
    )
    remap: Yes | None = Field(None, description="A GPU has no rows left to replace broken ones.")
    drops: Ratio | None = Field(
        None, description="Of a network interface's packets, a greater share is dropped."
    )
    retransmits: Ratio | None = Field(
        None, description="Of the TCP segments that it sends, a greater share is sent again."
    )
    own: (
        Annotated[dict[_ReadingOfNodes, _Above], Field(min_length=1, json_schema_extra=NO_OTHERS)]
        | None
    ) = Field(
        None,
        description="Any reading of nodes by its name, built in or defined in a document of kind "
        "Readings, and the value above which the node is broken, such as "
        "`{node.gpu.temperature: 90, node.disk.space: 95%}`. Of a reading with devices, only the "
        "device is. Readings whose name begins with `node.gpu.` concern pods with GPUs.",
    )

    @model_validator(mode="after")
    def _has_one(self) -> "Signs":
        if not dict(self.sign_limits()):
            raise ValueError(f"at least one of {', '.join(_SIGNS)}, own is required")
        return self

    @property
    def of_gpus(self) -> bool:
        """Whether one of them is of GPUs."""
        return any(_of_gpus(sign) for sign, _ in self.sign_limits())

    def sign_limits(self) -> Iterator[tuple[str, float]]:
        """The signs that are evaluated, each with the value above which it counts."""
        for sign in _SIGNS:
            value: float | bool | None = getattr(self, sign)
            if value is not None:
                yield sign, 0.0 if value is True else float(value)
        yield from (self.own or {}).items()


class Health(Policy):
    """Charge each pod that suffers from a broken node, or has a broken device, with 1.0.

    A node or device is broken while one of the signs holds. A GPU's sign concerns the pods that
    have that GPU, by dcgm-exporter's labels or an allocated ResourceClaim; partitions (MIG) of a
    broken GPU are broken, too. Where the GPU of a pod on the node is not known, the pod may have
    the broken one: `unattributed` decides whether it counts. An interface's drops concern the pods
    of the claim that has it, or else all pods of the node, and so do retransmits; where a reading
    names no devices, GPUs' signs concern all pods of the node that ask for GPUs. Pods of DaemonSets
    belong to their node and do not count. With `action: Report` nothing is moved because of it, and
    what would land on a node with something broken is charged, as it is not known which device it
    would get; with `action: Drain` pods gain by leaving, and nothing by a replacement that may come
    back. A node whose sign should be known and is not, counts as neither broken nor healthy: the
    report names it, and no pod is moved there for its health's sake. Sources: dcgm-exporter's and
    node_exporter's series; what XIDs mean, NVIDIA's device plugin.
    """

    summary: ClassVar[str] = "Report broken nodes and devices, and move pods away if configured."
    codes: ClassVar[tuple[str, ...]] = ("HLT", "RDG003")
    subject: ClassVar[Subject] = "nodes"

    kind: Literal["Health"] = "Health"
    nodes: NodeMatch = Field(description="The nodes to evaluate.")
    match: Match = Field(description="The pods that count and may be moved.")
    signs: Signs = Field(description="What makes a node or device broken; at least one.")
    action: Literal["Report", "Drain"] = Field(
        "Report", description="Report: findings only. Drain: pods are moved away."
    )
    unattributed: Literal["Report", "Drain"] = Field(
        "Report",
        description="With `action: Drain`, what becomes of pods that may have the broken device of "
        "their node, as nothing reports which device they have. Report: findings only. Drain: "
        "moved away too.",
    )
    window: PositiveDuration = Field(
        timedelta(minutes=10), description="How long an event counts, and rates are averaged."
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=3), description="An older value counts as absent."
    )
    minCoverage: Ratio = Field(
        0.9,
        description="The share of nodes that must have a value; with less, the policy is not "
        "evaluated.",
    )

    def requests(self) -> list[ReadingRequest]:
        """The reading of every sign that is evaluated."""
        return [self._request(sign) for sign, _ in self.signs.sign_limits()]

    def unreachable(self) -> Iterator[str]:
        """Signs that no node can have."""
        for sign in ("drops", "retransmits"):
            if (getattr(self.signs, sign) or 0) >= 1:
                yield f"signs.{sign}: no share of packets is above 100%, so no node ever has it"

    def without_effect(self) -> Iterator[str]:
        """Besides, settings of draining that have no effect."""
        yield from super().without_effect()
        if self.action == "Report":
            if self.unattributed == "Drain":
                yield "action is Report, so `unattributed: Drain` has no effect"
            if self.stableFor is not None:
                yield "action is Report, so stableFor has no effect"
        elif self.unattributed == "Drain" and not self.signs.of_gpus:
            yield "no sign is of GPUs, so unattributed has no effect"

    def compile(self, snapshot: Snapshot) -> HealthTerm | Problem:
        """The term, or the problem of the first reading that is not fit to act on."""
        selected = select_nodes(self.nodes, snapshot)
        signs = []
        for sign, above in self.signs.sign_limits():
            _, highest, meaning = _sign(sign)
            signal = read_signal(snapshot, self._request(sign), selected, highest)
            if isinstance(signal, Problem):
                return signal
            signs.append(Sign(signal, above, _of_gpus(sign), meaning))
        matched = select_pods(self.match, snapshot)
        return HealthTerm(
            snapshot,
            signs,
            selected,
            matched,
            drain=self.action == "Drain",
            drain_open=self.unattributed == "Drain",
            span=self.span,
        )

    def _request(self, sign: str) -> ReadingRequest:
        return ReadingRequest(
            _sign(sign)[0],
            window=self.window.total_seconds(),
            max_age=self.maxAge.total_seconds(),
            min_coverage=self.minCoverage,
            span=self.span,
        )


def _of_gpus(sign: str) -> bool:
    return _sign(sign)[0].startswith("node.gpu.")
