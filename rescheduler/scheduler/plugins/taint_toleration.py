"""Plugin TaintToleration: taints keep pods away, or make a node less liked."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Self

import msgspec
import numpy as np

from rescheduler.kube.objects import Node, Taint, Toleration
from rescheduler.model.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.normalizing import MAX_SCORE, ByMaximum, Relative
from rescheduler.scheduler.plugin import (
    Filter,
    Gate,
    Plugin,
    Replacement,
    Score,
    ScoreArray,
)
from rescheduler.scheduler.profile import Profile

_Signature = tuple[tuple[str, str, str], ...]


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration covers the taint. The operators Lt and Gt are off by default: False.

    Source: api core/v1/toleration.go, ToleratesTaint.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == (taint.value or "")
    return toleration.operator == "Exists"


class TaintToleration(Plugin):
    """Nodes with equal taints are judged together, once per list of tolerations."""

    name: ClassVar[str] = "TaintToleration"
    weight: ClassVar[int] = 3
    gates: ClassVar[tuple[Gate, ...]] = (Gate("TaintTolerationComparisonOperators", None),)
    rejection: ClassVar[str] = "node(s) had untolerated taint(s)"
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True
    needs_pre_filter: ClassVar[bool] = False

    def __init__(self, nodes: Sequence[Node]) -> None:
        signatures: dict[_Signature, int] = {}
        self._taints: list[list[Taint]] = []
        self._kind = np.zeros(len(nodes), dtype=np.int32)
        for number, node in enumerate(nodes):
            taints = node.spec.taints or []
            signature = tuple((each.key, each.value or "", each.effect) for each in taints)
            kind = signatures.setdefault(signature, len(signatures))
            if kind == len(self._taints):
                self._taints.append(taints)
            self._kind[number] = kind
        self._known: dict[bytes, tuple[BoolArray | None, ScoreArray | None]] = {}

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:  # noqa: ARG003
        """One for all profiles."""
        return handle.part(cls._of)

    @classmethod
    def _of(cls, handle: Handle) -> Self:
        return cls(handle.snapshot.nodes)

    def tolerated(self, tolerations: Sequence[Toleration] | None) -> BoolArray | None:
        """(nodes,) the nodes without an untolerated NoSchedule or NoExecute taint; None: all."""
        return self._judge(tolerations)[0]

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes whose taints the pod tolerates."""
        passing = self.tolerated(pod.spec.tolerations)
        return None if passing is None else lambda: passing

    def score(self, pod: Replacement) -> Score:
        """Fewer untolerated PreferNoSchedule taints are better."""
        return partial(self._score, self._judge(pod.spec.tolerations)[1])

    @staticmethod
    def _score(raw: ScoreArray | None, nodes: IntArray) -> ScoreArray | Relative:
        if raw is None:
            return np.full(len(nodes), MAX_SCORE, dtype=np.int64)
        return ByMaximum(raw[nodes], reverse=True)

    def _judge(
        self, tolerations: Sequence[Toleration] | None
    ) -> tuple[BoolArray | None, ScoreArray | None]:
        key = msgspec.msgpack.encode(tolerations or [])
        known = self._known.get(key)
        if known is None:
            passing, disliked = [], []
            for taints in self._taints:
                left = [
                    taint.effect
                    for taint in taints
                    if not any(tolerates(each, taint) for each in tolerations or ())
                ]
                passing.append("NoSchedule" not in left and "NoExecute" not in left)
                disliked.append(left.count("PreferNoSchedule"))
            mask = None if all(passing) else np.array(passing, dtype=np.bool_)[self._kind]
            raw = np.array(disliked, dtype=np.int64)[self._kind] if any(disliked) else None
            known = self._known[key] = (mask, raw)
        return known
