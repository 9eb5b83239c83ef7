"""The term of Health: the pods on nodes whose readings say that something is broken."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.finding import Finding
from rescheduler.model.move import Shift
from rescheduler.model.objects import PodSpec
from rescheduler.model.readings import BoolArray, FloatArray, IntArray, Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.node_signal import Signal

_GPUS = ("nvidia.com/gpu", "nvidia.com/mig-")


@dataclass(frozen=True, slots=True)
class Sign:
    """A signal with the value above which a node is broken.

    gpus: whether only pods with GPUs suffer. says: what it means, with a place for the value.
    """

    signal: Signal
    above: float
    gpus: bool
    says: str


class HealthTerm:
    """Health on one snapshot: the number of pods that suffer from their node.

    A pod suffers where a sign of its node is above its limit, from GPUs' signs only if it has
    some. With `drain`, cost = pods that suffer where they are. Without, those that suffer in the
    snapshot are charged wherever they go, so that no move is made for their sake; what lands on a
    broken node is charged all the same.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        signs: Sequence[Sign],
        looked_at: BoolArray,
        matched: BoolArray,
        *,
        drain: bool,
    ) -> None:
        self._signs = list(signs)
        self._drain = drain
        self._looked_at = looked_at
        self._names = [node.metadata.name for node in snapshot.nodes]
        self._home = snapshot.pod_node
        self._node = snapshot.pod_node.copy()
        self._counted = matched & ~snapshot.on_own_node
        wants = np.array([_wants_gpus(spec) for spec in snapshot.specs], dtype=np.bool_)
        self._with_gpus: BoolArray = wants[snapshot.pod_spec]
        broken = np.zeros((2, len(self._names)), dtype=np.bool_)
        for sign in self._signs:
            broken[int(sign.gpus)] |= looked_at & (np.nan_to_num(sign.signal.values) > sign.above)
        self._broken = broken
        self._felt = np.append(broken, np.zeros((2, 1), dtype=np.bool_), axis=1)
        self._fixed = np.zeros(len(self._home)) if drain else self._suffers(self._home)

    def cost(self) -> float:
        """Pods that suffer."""
        return float(self._charges().sum())

    def worst(self) -> float:
        """The cost if every node were broken."""
        return float((self._counted & (self._home >= 0)).sum())

    def scope(self) -> int:
        """How many nodes are looked at."""
        return int(self._looked_at.sum())

    def candidates(self) -> IntArray:
        """The pods that suffer where they are, where that is to be ended."""
        return np.flatnonzero(self._movable() > 0).astype(np.int32)

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) what each pod would no longer suffer elsewhere."""
        return np.asarray(self._movable()[pods])

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        there, itself = np.full(len(nodes), pod, dtype=np.int32), np.array([pod], dtype=np.int32)
        fixed = not self._drain and self._node[pod] == self._home[pod]
        here = 0.0 if fixed else float(self._suffers(self._node[itself], itself)[0])
        change = self._suffers(nodes, there)
        if not self._drain:
            change = np.where(nodes == self._home[pod], 0.0, change)
        return np.where(nodes == self._node[pod], 0.0, change - here)

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination

    def findings(self) -> Iterator[Finding]:
        """One finding for each broken node with pods that suffer."""
        moving = self._movable()
        suffering = np.flatnonzero(moving > 0)
        bound = self._home >= 0
        charged = np.bincount(
            self._home[bound], weights=self._fixed[bound], minlength=len(self._names)
        )
        for node in np.flatnonzero(self._broken.any(axis=0)).tolist():
            fixed = float(charged[node])
            now = suffering[self._node[suffering] == node]
            cost = fixed + float(moving[now].sum())
            if cost <= 0:
                continue
            told = "; ".join(self._told(node))
            pods = tuple(now.tolist())
            text = f"{told}; {cost:g} pods suffer"
            text += "" if self._drain else ", and are left there (action: Report)"
            yield Finding("HLT001", f"node {self._names[node]}", cost, text, pods)

    def hot_nodes(self) -> IntArray:
        """The broken nodes, where they are to be drained: too many at once are a wrong query."""
        nodes = np.flatnonzero(self._broken.any(axis=0)).astype(np.int32)
        return nodes if self._drain else nodes[:0]

    def unknown(self) -> BoolArray:
        """(nodes,) whether a sign that ought to be known is not."""
        answer = np.zeros(len(self._names), dtype=np.bool_)
        for sign in self._signs:
            answer |= sign.signal.blind
        return answer

    def load_after(self) -> dict[str, FloatArray]:
        """Nothing that moves with pods is measured."""
        return {}

    def usage(self, pod: int) -> dict[str, float]:  # noqa: ARG002 - the protocol gives it
        """Nothing that moves with pods is measured."""
        return {}

    def remarks(self) -> tuple[Problem, ...]:
        """The nodes of which a sign is not known."""
        answer = []
        for sign in self._signs:
            nodes = [self._names[node] for node in np.flatnonzero(sign.signal.blind)]
            if nodes:
                more = f" and {len(nodes) - 5} more" if len(nodes) > 5 else ""
                text = f"{sign.signal.name} is not known of {', '.join(nodes[:5])}{more}"
                answer.append(Problem("RDG003", f"{text}; whether they are broken is open"))
        return tuple(answer)

    def _told(self, node: int) -> Iterator[str]:
        for sign in self._signs:
            value = float(np.nan_to_num(sign.signal.values[node]))
            if value > sign.above:
                yield sign.says.format(value=value)

    def _suffers(self, nodes: IntArray, pods: IntArray | None = None) -> FloatArray:
        """(k,) 1 where the pod suffers on the node; pods None: all of them, in their order."""
        with_gpus = self._with_gpus if pods is None else self._with_gpus[pods]
        counted = self._counted if pods is None else self._counted[pods]
        suffers = counted & (self._felt[0, nodes] | (self._felt[1, nodes] & with_gpus))
        return np.asarray(suffers, dtype=np.float64)

    def _movable(self) -> FloatArray:
        """(pods,) what each suffers that a move would end."""
        suffers = self._suffers(self._node)
        return suffers if self._drain else np.where(self._node == self._home, 0.0, suffers)

    def _charges(self) -> FloatArray:
        return self._fixed + self._movable()


def _wants_gpus(spec: PodSpec) -> bool:
    given = [container.resources for container in spec.containers if container.resources]
    return any(
        name.startswith(_GPUS)
        for each in given
        for side in (each.requests, each.limits)
        for name in side or ()
    )
