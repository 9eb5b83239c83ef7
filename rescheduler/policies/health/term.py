"""The term of Health: the pods on nodes whose readings show that something is broken."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray, seconds_held
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for
from rescheduler.policies.health.device_faults import Attribution, Fault, Sign
from rescheduler.policies.terms import JointBound


@dataclass(frozen=True, slots=True)
class _Cause:
    """What pods are charged for: a broken node or device, and the words around their number.

    verbs: of one pod, and of more. lasted: seconds for which a device has been broken; NaN: of a
    node, or not known.
    """

    code: str
    subject: str
    before: str
    verbs: tuple[str, str]
    after: str
    lasted: float = np.nan


class HealthTerm:
    """Health on one snapshot: the number of pods that suffer from their node or devices.

    A pod suffers where it is in the snapshot if it has a broken device, or if a sign of its whole
    node is above its limit, from GPUs' signs only if it has some. Elsewhere it suffers if the node
    or any device of that sort is broken there: which device it would get is not known. Pods that
    suffer but shall not be moved for it are charged wherever they go, so that no move gains by
    them. Without `drain` these are all of them; without `drain_open`, the pods that may or may not
    have the broken device.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        signs: Sequence[Sign],
        selected: BoolArray,
        matched: BoolArray,
        *,
        drain: bool,
        drain_open: bool = False,
        span: float = 0.0,
    ) -> None:
        """span: seconds of the past that is known."""
        self._signs = list(signs)
        self._drain = drain
        self._selected = selected
        self._names = [node.metadata.name for node in snapshot.nodes]
        self._home = snapshot.pod_node
        self._node = snapshot.pod_node.copy()
        self._counted = matched & ~snapshot.on_own_node
        self._attribution = Attribution(snapshot)
        self._with_gpus = self._attribution.with_gpus
        self._broken = np.zeros((2, len(self._names)), dtype=np.bool_)
        self._span = span
        self._lasted = np.full((2, len(self._names) + 1), np.nan)
        whole = self._broken.copy()
        faults: list[Fault] = []
        for sign in self._signs:
            above = selected & (np.nan_to_num(sign.signal.values) > sign.above)
            self._broken[int(sign.gpus)] |= above
            for node in np.flatnonzero(above).tolist():
                node_faults = self._attribution.faults(sign, node)
                above[node] = node_faults is None
                faults += node_faults or []
            whole[int(sign.gpus)] |= above
            if sign.signal.range_samples is not None:
                long = np.where(
                    above, seconds_held(sign.signal.range_samples > sign.above, span), np.nan
                )
                row = self._lasted[int(sign.gpus)]
                row[:-1] = np.fmax(row[:-1], long)
        self._faults = sorted(faults, key=lambda fault: fault.node)
        self._felt = np.append(self._broken, np.zeros((2, 1), dtype=np.bool_), axis=1)
        self._causes: list[_Cause] = []
        self._of_node: dict[int, int] = {}
        self._cause = np.full(len(self._home), -1, dtype=np.int32)
        self._pinned = np.full(len(self._home), not drain)
        self._find_causes(np.append(whole, np.zeros((2, 1), dtype=np.bool_), axis=1), drain_open)
        self._fixed = ((self._cause >= 0) & self._pinned).astype(np.float64)
        everybody = np.arange(len(self._home), dtype=np.int32)
        self._movable = self._suffers(everybody, self._node)

    def cost(self) -> float:
        """Pods that suffer."""
        return float((self._fixed + self._movable).sum())

    def worst(self) -> float:
        """The cost if every node were broken."""
        return float((self._counted & (self._home >= 0)).sum())

    def scope(self) -> int:
        """How many nodes are evaluated."""
        return int(self._selected.sum())

    def candidates(self) -> IntArray:
        """The pods that suffer where they are, where that is to be ended."""
        return np.flatnonzero(self._movable > 0).astype(np.int32)

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) what each pod would no longer suffer on another node, or -1 where it would more."""
        felt = self._felt[:, :-1]
        everywhere = np.where(self._with_gpus[pods], (felt[0] | felt[1]).all(), felt[0].all())
        at_home = self._node[pods] == self._home[pods]
        back = self._suffers(pods, self._home[pods])
        least = np.where(everywhere & self._counted[pods] & (at_home | (back > 0)), 1.0, 0.0)
        return np.asarray(self._movable[pods] - least)

    def joint_bound(self) -> JointBound:
        """Each pod suffers by itself."""
        nobody = np.full(len(self._home), -1, dtype=np.int32)
        return JointBound(self._movable.copy(), nobody, np.empty(0))

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        pods = np.full(len(nodes), pod, dtype=np.int32)
        change = self._suffers(pods, nodes) - self._suffers(pods[:1], self._node[pod : pod + 1])
        return np.where(nodes == self._node[pod], 0.0, change)

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination
        moved = np.array([shift.pod], dtype=np.int32)
        self._movable[moved] = self._suffers(moved, self._node[moved])

    def findings(self) -> Iterator[Finding]:
        """One finding for each broken node or device with pods that suffer."""
        moving = self._movable
        of_node = np.array([self._of_node.get(n, -1) for n in range(len(self._names))] + [-1])
        came = self._node != self._home
        now = np.where(moving > 0, np.where(came, of_node[self._node], self._cause), -1)
        order = np.argsort(now, kind="stable")
        ends = np.searchsorted(now[order], np.arange(len(self._causes) + 1))
        fixed = np.bincount(self._cause + 1, self._fixed, len(self._causes) + 1)
        for number, cause in enumerate(self._causes):
            pods = order[ends[number] : ends[number + 1]]
            cost = float(fixed[number + 1] + moving[pods].sum())
            if cost > 0:
                one_or_more = verb_for(round(cost), *cause.verbs)
                text = f"{cause.before}{count_text(round(cost), 'pod')} {one_or_more}{cause.after}"
                yield Finding(cause.code, cause.subject, cost, text, tuple(pods.tolist()))

    def hot_nodes(self) -> IntArray:
        """The broken nodes, where they are to be drained: too many at once are a wrong query."""
        nodes = np.flatnonzero(self._broken.any(axis=0)).astype(np.int32)
        return nodes if self._drain else nodes[:0]

    def unknown_nodes(self) -> BoolArray:
        """(nodes,) whether a sign that ought to be known is not."""
        answer = np.zeros(len(self._names), dtype=np.bool_)
        for sign in self._signs:
            answer |= sign.signal.unknown
        return answer

    def measured_codes(self) -> None:
        """All findings come from readings."""

    def finding_ages(self) -> FloatArray:
        """(pods,) for how long the device that each has, or else its node, has been broken."""
        nodes = self._lasted[:, self._home]
        of_node = np.fmax(nodes[0], np.where(self._with_gpus, nodes[1], np.nan))
        of_device = np.array([*(cause.lasted for cause in self._causes), np.nan])
        device = np.array([*(cause.code != "HLT001" for cause in self._causes), False])
        return np.where(device[self._cause], of_device[self._cause], of_node)

    def load_after(self) -> dict[str, FloatArray]:
        """Nothing that moves with pods is measured."""
        return {}

    def usage(self, pod: int) -> dict[str, float]:  # noqa: ARG002 - the protocol gives it
        """Nothing that moves with pods is measured."""
        return {}

    def warnings(self) -> tuple[Problem, ...]:
        """The nodes where a sign is not known, and broken devices that no pod has."""
        answer = []
        for sign in self._signs:
            nodes = [self._names[node] for node in np.flatnonzero(sign.signal.unknown)]
            if nodes:
                more = f" and {len(nodes) - 5} more" if len(nodes) > 5 else ""
                text = f"{sign.signal.name} is not known of {', '.join(nodes[:5])}{more}"
                answer.append(Problem("RDG003", f"{text}; whether they are broken is not known"))
        for fault in self._faults:
            if not fault.pods and not fault.open:
                text = f"{fault.device} of node {self._names[fault.node]}: {fault.meaning}"
                answer.append(Problem("HLT002", f"{text}; no pod has it"))
        return tuple(answer)

    def _find_causes(self, whole: BoolArray, drain_open: bool) -> None:
        """The cause of each pod that suffers where it is: its devices before its whole node."""
        suffix = "" if self._drain else ", and are left there (action: Report)"
        stay = self._drain and not drain_open
        unattributed = ", and are left there (unattributed: Report)" if stay else suffix
        for node in np.flatnonzero(self._broken.any(axis=0)).tolist():
            self._of_node[node] = len(self._causes)
            signs = "; ".join(self._meanings(node))
            subject = f"node {self._names[node]}"
            verbs = ("suffers", "suffer")
            self._causes.append(_Cause("HLT001", subject, f"{signs}; ", verbs, suffix))
        for fault in self._faults:
            self._charge(fault, fault.pods, "HLT002", suffix)
        ends = self._counted & (whole[0, self._home] | (whole[1, self._home] & self._with_gpus))
        for pod in np.flatnonzero(ends & (self._cause < 0)).tolist():
            self._cause[pod] = self._of_node[int(self._home[pod])]
        for fault in self._faults:
            pods = self._charge(fault, fault.open, "HLT003", unattributed)
            self._pinned[pods] |= not drain_open

    def _charge(self, fault: Fault, pods: Sequence[int], code: str, after: str) -> list[int]:
        """Charge those of these pods that count, and are not charged for something else."""
        subject = f"{fault.device} of node {self._names[fault.node]}"
        charged = [pod for pod in pods if self._counted[pod] and self._cause[pod] < 0]
        self._cause[charged] = len(self._causes)
        is_attributed = code == "HLT002"
        before = f"{fault.meaning}; "
        if not is_attributed:
            before += "which pod has it is not reported: "
        verbs = ("has it", "have it") if is_attributed else ("may have it", "may have it")
        heat = np.array(fault.heat, dtype=np.bool_)[:, None]
        long = float(seconds_held(heat, self._span)[0]) if fault.heat else np.nan
        self._causes.append(_Cause(code, subject, before, verbs, after, long))
        return charged

    def _meanings(self, node: int) -> Iterator[str]:
        for sign in self._signs:
            value = float(np.nan_to_num(sign.signal.values[node]))
            if value > sign.above:
                yield sign.meaning.format(value=value)

    def _suffers(self, pods: IntArray, nodes: IntArray) -> FloatArray:
        """(k,) 1 where the pod suffers on the node, and a move away would end it."""
        there = self._felt[0, nodes] | (self._felt[1, nodes] & self._with_gpus[pods])
        here = (self._cause[pods] >= 0) & ~self._pinned[pods]
        suffers = np.where(nodes == self._home[pods], here, there & self._counted[pods])
        return np.asarray(suffers, dtype=np.float64)
