"""Scopes of limits on moves: which moves count together.

A scope puts each pod into one group, and each planned or past move of it into the same one. Groups
have names: a node's name, a namespace, a workload's UID, the value of a label. "" is the group of
all that have no such name: what is not in the snapshot, or lacks the label or has it empty. They
count together, so that what nobody labelled is limited too.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from rescheduler.model.cluster.readings import IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove


class Scope(ABC):
    """Which moves count together. Scopes with the same noun are equal.

    noun: the scope in a few words; "": all moves. per: the same in documents, after "Moves".
    pods: what a percentage is of.
    of_node: it is about the node that a move leaves, so a move off no node is in no group.
    of_snapshot: moves of what is not in the snapshot are in the group "", whatever they name.
    gang_is_one: the pods of a gang that are moved together count once to a group.
    noted_as: the key of the group in `PastMove.counted`; "": the past move names it anyway.
    """

    def __init__(
        self,
        noun: str = "",
        per: str = "",
        pods: str = "its pods",
        *,
        of_node: bool = False,
        of_snapshot: bool = False,
        gang_is_one: bool = False,
        noted_as: str = "",
    ) -> None:
        self.noun, self.per, self.pods = noun, per, pods
        self.of_node, self.of_snapshot = of_node, of_snapshot
        self.gang_is_one, self.noted_as = gang_is_one, noted_as

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and self.noun == other.noun

    def __hash__(self) -> int:
        return hash(self.noun)

    @abstractmethod
    def groups(self, snapshot: Snapshot, /) -> tuple[list[str], IntArray]:
        """The names of the groups; (pods,) the index of each pod's group in them."""

    @abstractmethod
    def of_move(self, move: PlannedMove, snapshot: Snapshot, /) -> str:
        """The group of a planned move."""

    @abstractmethod
    def of_past(self, move: PastMove, /) -> str | None:
        """The group of a past move; None: nobody noted it, so the move counts to every group."""

    def group_name(self, group: str, /) -> str:
        """The group at the beginning of a refusal."""
        return f"{self.noun} {group}"

    def group_suffix(self, group: str, _: Snapshot, /) -> str:
        """The group after "5 moves at once"; begins with a space unless empty."""
        return f" in {self.group_name(group)}"


class Overall(Scope):
    """All moves count together."""

    def __init__(self) -> None:
        super().__init__(pods="all pods that run")

    def groups(self, snapshot: Snapshot, /) -> tuple[list[str], IntArray]:
        """One group."""
        return [""], np.zeros(len(snapshot.pods), dtype=np.int32)

    def of_move(self, _: PlannedMove, __: Snapshot, /) -> str:
        """The one group."""
        return ""

    def of_past(self, _: PastMove, /) -> str:
        """The one group."""
        return ""

    def group_suffix(self, _: str, __: Snapshot, /) -> str:
        """Nothing: all moves need no name."""
        return ""


class PerNode(Scope):
    """Moves off one node count together."""

    def __init__(self) -> None:
        super().__init__("node", " away from one node", of_node=True, of_snapshot=True)

    def groups(self, snapshot: Snapshot, /) -> tuple[list[str], IntArray]:
        """The nodes behind "", which is for pods that are on none."""
        return _with_others([node.metadata.name for node in snapshot.nodes], snapshot.pod_node)

    def of_move(self, move: PlannedMove, _: Snapshot, /) -> str:
        """The node that it leaves."""
        return move.source

    def of_past(self, move: PastMove, /) -> str:
        """The node that it left."""
        return move.source

    def group_name(self, group: str, /) -> str:
        """`node n1`."""
        return f"node {group or '(none)'}"

    def group_suffix(self, group: str, _: Snapshot, /) -> str:
        """` away from node n1`."""
        return f" away from node {group}" if group else ""


class PerNamespace(Scope):
    """Moves of pods in one namespace count together."""

    def __init__(self) -> None:
        super().__init__("namespace", " in one namespace")

    def groups(self, snapshot: Snapshot, /) -> tuple[list[str], IntArray]:
        """The namespaces of the pods."""
        firsts, template = snapshot.pod_template
        spaces = [snapshot.pods[pod].metadata.namespace for pod in firsts.tolist()]
        return _by_name(spaces, template)

    def of_move(self, move: PlannedMove, _: Snapshot, /) -> str:
        """The pod's namespace."""
        return move.pod.namespace

    def of_past(self, move: PastMove, /) -> str:
        """The pod's namespace."""
        return move.namespace


class PerWorkload(Scope):
    """Moves of the pods of one workload count together.

    A gang of one workload is stopped once, however many pods it has.
    """

    def __init__(self) -> None:
        super().__init__("workload", " of one workload", of_snapshot=True, gang_is_one=True)

    def groups(self, snapshot: Snapshot, /) -> tuple[list[str], IntArray]:
        """The workloads behind "", which is for bare pods."""
        return _with_others(
            [workload.uid for workload in snapshot.workloads], snapshot.pod_workload
        )

    def of_move(self, move: PlannedMove, _: Snapshot, /) -> str:
        """The workload's UID."""
        return move.owner.uid

    def of_past(self, move: PastMove, /) -> str:
        """The workload's UID."""
        return move.workload

    def group_name(self, _: str, /) -> str:
        """A refusal is about one of its pods."""
        return "its workload"

    def group_suffix(self, group: str, snapshot: Snapshot, /) -> str:
        """` of Deployment default/web`."""
        owners = (
            f" of {w.kind} {w.namespace}/{w.name}" for w in snapshot.workloads if w.uid == group
        )
        return next(owners, "")


class PerNodeLabel(Scope):
    """Moves off nodes with one value of a label count together.

    The value is noted with the intent: a node that is gone or has another label since then does
    not give its budget back.
    """

    def __init__(self, label: str) -> None:
        noun = f"node label {label}"
        per = f" away from nodes with one value of the label `{label}`"
        super().__init__(noun, per, "their pods", of_node=True, noted_as=noun)
        self.label = label

    def groups(self, snapshot: Snapshot, /) -> tuple[list[str], IntArray]:
        """The values of the label; "" for pods on no node, too."""
        values = [(node.metadata.labels or {}).get(self.label, "") for node in snapshot.nodes]
        return _by_name([*values, ""], snapshot.pod_node)  # -1 is the last

    def of_move(self, move: PlannedMove, snapshot: Snapshot, /) -> str:
        """What the node that it leaves has."""
        node = snapshot.node_index.get(move.source)
        labels = None if node is None else snapshot.nodes[node].metadata.labels
        return (labels or {}).get(self.label, "")

    def of_past(self, move: PastMove, /) -> str | None:
        """What the node had at the intent."""
        return move.counted.get(self.noted_as)

    def group_name(self, group: str, /) -> str:
        """`nodes with rack=r1`."""
        return f"nodes {_label_phrase(self.label, group)}"

    def group_suffix(self, group: str, _: Snapshot, /) -> str:
        """` away from nodes with rack=r1`."""
        return f" away from {self.group_name(group)}"


class PerPodLabel(Scope):
    """Moves of pods with one value of a label count together, in all namespaces.

    The value is noted with the intent, as the pod is gone after it.
    """

    def __init__(self, label: str) -> None:
        noun = f"pod label {label}"
        per = f" of pods with one value of the label `{label}`"
        super().__init__(noun, per, "these pods", noted_as=noun)
        self.label = label

    def groups(self, snapshot: Snapshot, /) -> tuple[list[str], IntArray]:
        """The values of the label."""
        firsts, template = snapshot.pod_template
        return _by_name([self._value(snapshot, pod) for pod in firsts.tolist()], template)

    def of_move(self, move: PlannedMove, snapshot: Snapshot, /) -> str:
        """What the pod has."""
        pod = snapshot.pod_index.get(move.pod.uid)
        return "" if pod is None else self._value(snapshot, pod)

    def of_past(self, move: PastMove, /) -> str | None:
        """What the pod had at the intent."""
        return move.counted.get(self.noted_as)

    def group_name(self, group: str, /) -> str:
        """`pods with team=search`."""
        return f"pods {_label_phrase(self.label, group)}"

    def group_suffix(self, group: str, _: Snapshot, /) -> str:
        """` of pods with team=search`."""
        return f" of {self.group_name(group)}"

    def _value(self, snapshot: Snapshot, pod: int) -> str:
        return (snapshot.pods[pod].metadata.labels or {}).get(self.label, "")


def _label_phrase(label: str, value: str) -> str:
    return f"with {label}={value}" if value else f"without label {label}"


def _with_others(names: list[str], of_pods: IntArray) -> tuple[list[str], IntArray]:
    """The names behind "", which is for the pods that have -1."""
    return ["", *names], of_pods + 1


def _by_name(values: Sequence[str], of_pods: IntArray) -> tuple[list[str], IntArray]:
    """The different values, sorted, and (pods,) the place of each pod's in them.

    values: with repetitions. of_pods: (pods,) which of them each pod has.
    """
    names = sorted(set(values))
    numbers = {name: number for number, name in enumerate(names)}
    of_value = np.array([numbers[value] for value in values], dtype=np.int32)
    return names, of_value[of_pods]
