"""Findings: why a policy is not content, in pieces that sum to its cost."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """One justified piece of a policy's cost.

    code: a reason code of the policy's family, such as SPR001.
    subject: what it is about, as people write it: `node n7`, `Deployment ml/bert in zone a`.
    cost: this finding's share of the policy's cost, never negative.
    message: a sentence with the numbers.
    pods: indices of the pods whose moves may lower this cost.
    aspect: what distinguishes it from another finding with the same code and subject, in any cycle.
    counted_as: the object that people count, such as a hot node's name, or "". Several findings may
    show the same one.
    tolerable: whether it costs and yet nothing is wrong, such as a load between `low` and `high`.
    """

    code: str
    subject: str
    cost: float
    message: str
    pods: tuple[int, ...] = field(default=())
    aspect: str = ""
    counted_as: str = ""
    tolerable: bool = False
