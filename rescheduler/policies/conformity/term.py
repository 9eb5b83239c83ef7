"""The term of Conformity: which pods break a rule where they are."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rescheduler.documents.fields import duration_text
from rescheduler.kube.objects import ContainerStatus, Pod
from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.policies.conformity.failed_pods import failures
from rescheduler.policies.conformity.node_rules import Charges, NodeCharges
from rescheduler.policies.conformity.required_pod_affinity import RequiredPodAffinity
from rescheduler.policies.conformity.rules import ConformityRules, Lifetime, Restarts
from rescheduler.policies.shared.matching import select_nodes, select_pods
from rescheduler.policies.terms import JointBound

_BOUND_TO_NODES = frozenset({"DaemonSet", "Node"})
"""Owners whose pods belong to their node, whatever its taints and labels."""


class _Broken(NamedTuple):
    """A rule that a pod breaks. shared: what all pods of a finding have. aspect: see `Finding`."""

    code: str
    shared: str
    aspect: str = ""


class ConformityTerm:
    """Conformity on one snapshot."""

    def __init__(self, rules: ConformityRules, snapshot: Snapshot) -> None:
        self._rules = rules
        self._snapshot = snapshot
        self._node = snapshot.pod_node.copy()
        everyone = np.flatnonzero((self._node >= 0) & ~snapshot.leaving).astype(np.int32)
        self._pods = everyone[select_pods(rules.match, snapshot)[everyone]]
        if rules.where is not None:
            self._pods = self._pods[select_nodes(rules.where, snapshot)[self._node[self._pods]]]
        self._pods = self._pods[~self._is_node_bound(self._pods)]
        self._chosen: BoolArray = np.zeros(len(snapshot.pods), dtype=np.bool_)
        self._chosen[self._pods] = True
        self._charges = NodeCharges(rules.nodes, snapshot)
        self._worn = self._wear()
        self._pod_affinity = RequiredPodAffinity(snapshot, self._pods, everyone, rules.pods)
        self._rest = np.zeros(len(snapshot.pods))
        charges = [self._charges.charges_of_spec(spec) for spec in snapshot.specs]
        charged = np.array([charge is not None for charge in charges], dtype=np.bool_)
        for pod in self._pods[charged[snapshot.pod_spec[self._pods]]].tolist():
            pod_charges = charges[snapshot.pod_spec[pod]]
            if pod_charges is not None:
                self._rest[pod] = pod_charges.total[self._node[pod]]
        self._rest[self._worn] = 1.0

    def cost(self) -> float:
        """What the pods are charged, all together."""
        return float(self._now().sum())

    def worst(self) -> float:
        """The cost if every pod broke a requirement."""
        return float(len(self._pods))

    def scope(self) -> int:
        """How many pods are evaluated."""
        return len(self._pods)

    def candidates(self) -> IntArray:
        """The pods that are charged, and those that others must be apart from."""
        charged = np.flatnonzero(self._now()).astype(np.int32)
        return np.unique(np.concatenate([charged, *self._pod_affinity.involved_pods()]))

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each pod could lower the cost, wherever it went."""
        answer: FloatArray = self._now()[pods] + self._pod_affinity.relief_bounds(pods)
        return answer

    def joint_bound(self) -> JointBound | None:
        """Each pod is charged by itself, but where some must be near others or apart from them."""
        if self._pod_affinity.about:
            return None
        nobody = np.full(len(self._node), -1, dtype=np.int32)
        return JointBound(self._now().copy(), nobody, np.empty(0))

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        answer = self._pod_affinity.change(pod, nodes, self._rest)
        if self._chosen[pod]:
            after = np.where(
                self._pod_affinity.would_break(pod, nodes), 1.0, self._alone(pod, nodes)
            )
            now = 1.0 if self._pod_affinity.broken[pod] else self._rest[pod]
            answer += after - now
        return answer

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        self._node[shift.pod] = shift.destination
        self._pod_affinity.commit(shift)
        if self._chosen[shift.pod]:
            there = np.array([shift.destination], dtype=np.int32)
            self._rest[shift.pod] = self._alone(shift.pod, there)[0]

    def findings(self) -> Iterator[Finding]:
        """One finding per workload and rule; a pod that breaks several is under the worst."""
        now = self._now()
        pods_by_cause: dict[tuple[int, _Broken], list[int]] = {}
        for pod in np.flatnonzero(now).tolist():
            workload = int(self._snapshot.pod_workload[pod])
            key = (workload if workload >= 0 else -1 - pod, self._worst_breach(pod))
            pods_by_cause.setdefault(key, []).append(pod)
        for (_, broken), pods in pods_by_cause.items():
            nodes = sorted({self._snapshot.nodes[self._node[pod]].metadata.name for pod in pods})
            others = f" and {count_text(len(nodes) - 1, 'more node')}" if len(nodes) > 1 else ""
            yield Finding(
                code=broken.code,
                subject=self._subject(pods[0]),
                cost=float(now[pods].sum()),
                message=f"{count_text(len(pods), 'pod')} on {nodes[0]}{others}: {broken.shared}",
                pods=self._involved_pods(broken, pods),
                aspect=broken.aspect,
            )
        if self._rules.failed is not None:
            yield from failures(self._rules.failed, self._rules.match, self._snapshot)

    def warnings(self) -> tuple[Problem, ...]:
        """Whose terms do not count, and whether failed pods ought to be reported and are not."""
        problems = [
            Problem("CNF009", f"the required inter-pod terms of {subject} are not evaluated")
            for subject in self._pod_affinity.overfull.values()
        ]
        if self._rules.failed is not None and self._snapshot.failed is None:
            text = "failed pods were not read, so none are reported: is this an older recording?"
            problems.append(Problem("DAT002", text))
        return tuple(problems)

    def _involved_pods(self, broken: _Broken, pods: list[int]) -> tuple[int, ...]:
        """The pods of a finding, and those from which they must be apart."""
        shunned = (
            [self._pod_affinity.pods_too_near(pod) for pod in pods]
            if broken.code == "CNF004"
            else []
        )
        return tuple(sorted({*pods, *(pod for neighbors in shunned for pod in neighbors.tolist())}))

    def _now(self) -> FloatArray:
        """(pods,) what each pod is charged."""
        return np.where(self._pod_affinity.broken > 0, 1.0, self._rest)

    def _alone(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) what the pod would be charged on each node, were there no other pods."""
        charges = self._charges.charges_of_spec(self._snapshot.pods[pod].spec)
        answer = np.zeros(len(nodes)) if charges is None else charges.total[nodes]
        if self._worn[pod]:
            answer = np.where(nodes == self._snapshot.pod_node[pod], 1.0, answer)
        return answer

    def _is_node_bound(self, pods: IntArray) -> BoolArray:
        kinds = [workload.kind in _BOUND_TO_NODES for workload in self._snapshot.workloads]
        owners = self._snapshot.pod_workload[pods]
        bound: BoolArray = np.array([*kinds, False], dtype=np.bool_)[owners]
        return bound

    def _wear(self) -> BoolArray:
        """(pods,) whether the pod was restarted too often, or is too old."""
        worn = np.zeros(len(self._snapshot.pods), dtype=np.bool_)
        if self._rules.restarts or self._rules.lifetime:
            for pod in self._pods.tolist():
                pod_object = self._snapshot.pods[pod]
                worn[pod] = self._restarts_too_often(pod_object) or self._is_too_old(pod_object)
        return worn

    def _restarts_too_often(self, pod: Pod) -> bool:
        rule = self._rules.restarts
        if rule is None:
            return False
        return _restarts(pod, rule) >= rule.atLeast and _is_in_state(pod, rule)

    def _is_too_old(self, pod: Pod) -> bool:
        rule, made = self._rules.lifetime, pod.metadata.creationTimestamp
        if rule is None or made is None:
            return False
        return self._snapshot.taken - made > rule.above and _is_in_state(pod, rule)

    def _worst_breach(self, pod: int) -> _Broken:
        """The worst of what the pod breaks."""
        pod_object, node = self._snapshot.pods[pod], int(self._node[pod])
        charges: Charges | None = self._charges.charges_of_spec(pod_object.spec)
        if charges is not None and charges.taints[node]:
            return _Broken("CNF001", "a taint of the node is not tolerated")
        if charges is not None and charges.affinity[node]:
            return _Broken("CNF002", "required node affinity does not accept the node")
        required_term = self._pod_affinity.broken_term(pod)
        if required_term is not None and required_term.kind == "apart":
            text = f"in one {required_term.topology} with pods that are to be elsewhere"
            return _Broken("CNF004", text, required_term.topology)
        if required_term is not None:
            text = f"none of the pods that are to be near is in the {required_term.topology}"
            return _Broken("CNF005", text, required_term.topology)
        if self._worn[pod] and node == self._snapshot.pod_node[pod]:
            return self._worn_by(pod_object)
        return _Broken("CNF003", "another node is preferred")

    def _worn_by(self, pod: Pod) -> _Broken:
        restarts, lifetime = self._rules.restarts, self._rules.lifetime
        if restarts is not None and self._restarts_too_often(pod):
            return _Broken("CNF006", f"restarted {restarts.atLeast} times or more often")
        above = "" if lifetime is None else duration_text(lifetime.above)
        return _Broken("CNF007", f"older than {above}")

    def _subject(self, pod: int) -> str:
        workload = int(self._snapshot.pod_workload[pod])
        if workload < 0:
            return f"Pod {self._snapshot.pods[pod].key}"
        workload_object = self._snapshot.workloads[workload]
        return f"{workload_object.kind} {workload_object.namespace}/{workload_object.name}"


def _restarts(pod: Pod, rule: Restarts) -> int:
    total = 0
    for status in _statuses(pod, rule):  # asked of every pod: a generator takes twice as long
        total += status.restartCount
    return total


def _is_in_state(pod: Pod, rule: Restarts | Lifetime) -> bool:
    """Whether the pod is in one of the rule's states, where it names any."""
    if rule.states is None:
        return True
    states = {pod.status.phase, pod.status.reason}
    for status in _statuses(pod, rule):
        if status.state and status.state.waiting:
            states.add(status.state.waiting.reason)
    return not states.isdisjoint(rule.states)


def _statuses(pod: Pod, rule: Restarts | Lifetime) -> list[ContainerStatus]:
    statuses = pod.status.containerStatuses or []
    if not rule.initContainers:
        return statuses
    return [*statuses, *(pod.status.initContainerStatuses or ())]
