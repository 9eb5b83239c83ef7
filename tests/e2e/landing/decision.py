"""One decision of the real scheduler beside what was predicted, as a line of JSON."""

from dataclasses import asdict, dataclass, field
from typing import Any

BEST = "best"
UNSCHEDULABLE = "unschedulable"
REFUSED = "refused"
"""We gave no prediction, and said why."""
WRONG = {
    "elsewhere": "bound to a feasible node that was not predicted",
    "infeasible": "bound to a node that was called infeasible",
    "bound": "called unschedulable, and bound",
    "waits": "called schedulable, and refused",
    "beside": "bound beside its terminating predecessor, though called infeasible there",
    "after": "refused beside its terminating predecessor, though called feasible there",
}
"""Verdicts that are disagreements."""


@dataclass
class Decision:
    """What happened to one pod.

    kind: `evict` or `create`. owner: the kind of its controller. nodes: of the cluster.
    state: whether the old pod was still there, as predicted. feasible: how many nodes.
    predicted: node -> probability. observed: the node, or "". message: the scheduler's, where it
    refused, of its first refusal. differences: in scores, feasible nodes and reasons, in words.
    scores: how many scores (plugin and node) were compared; reasons: how many plugins' rejections.
    terminating: how many pods of the snapshot were. batch: how many moves were predicted on the
    same snapshot before. lingering: whether the old pod went on terminating.
    snapshot, index: the recording, and the pod in it. successor: the pod that was decided about.
    points: plugin -> node -> weighted score in the scheduler's log; scored: the nodes in its order.
    steered: the nodes that it was steered to; require: whether it had no other choice.
    kept: the folder with all that explains a disagreement.
    """

    seed: int
    step: int
    kind: str
    owner: str
    pod: str
    nodes: int
    left: str = ""
    state: str = ""
    feasible: int = 0
    predicted: dict[str, float] = field(default_factory=dict)
    unschedulable: float = 0.0
    refusal: str = ""
    observed: str = ""
    message: str = ""
    event: str = ""
    verdict: str = ""
    differences: list[str] = field(default_factory=list)
    scores: int = 0
    reasons: int = 0
    terminating: int = 0
    batch: int = 0
    lingering: bool = False
    snapshot: str = ""
    index: int = 0
    successor: str = ""
    points: dict[str, dict[str, int]] = field(default_factory=dict)
    scored: list[str] = field(default_factory=list)
    steered: list[str] = field(default_factory=list)
    require: bool = False
    kept: str = ""

    def line(self) -> dict[str, Any]:
        """As it is written."""
        return asdict(self)

    @property
    def sampled(self) -> bool:
        """Whether the scheduler samples a part of the nodes only."""
        return self.nodes >= 100

    @property
    def returned(self) -> bool:
        """Whether the replacement came back to the node that the pod had left."""
        return bool(self.left) and self.observed == self.left


def disagrees(decision: Decision) -> bool:
    """Whether anything came otherwise than predicted."""
    return decision.verdict in WRONG or bool(decision.differences)
