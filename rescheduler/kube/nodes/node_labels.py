"""The labels and names of the nodes as arrays, so that a selector is answered for all at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rescheduler.kube.arrays import BoolArray, Int64Array, IntArray
from rescheduler.kube.objects import (
    LabelSelectorRequirement,
    Node,
    NodeSelector,
    NodeSelectorTerm,
)
from rescheduler.kube.selectors import int64


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """One label key over all nodes.

    codes: (nodes,) the number of the node's value; -1 where the node lacks the label.
    values: value to its number, in the order of the values: who numbers domains by it, and takes
    the first of equal ones, takes the same in whatever order the nodes were read.
    """

    codes: IntArray
    values: Mapping[str, int]

    @property
    def present(self) -> BoolArray:
        """(nodes,) which nodes carry the label."""
        return self.codes >= 0


class NodeLabels:
    """Answers label and field requirements for all nodes; one column is built per key in use."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.count = len(nodes)
        self.index = {node.metadata.name: number for number, node in enumerate(nodes)}
        self._labels = [node.metadata.labels or {} for node in nodes]
        self._keys = frozenset(key for labels in self._labels for key in labels)
        self._absent = LabelColumn(np.full(self.count, -1, dtype=np.int32), {})
        self._columns: dict[str, LabelColumn] = {}
        self._numbers: dict[str, tuple[IntArray, Int64Array]] = {}

    def column(self, key: str) -> LabelColumn:
        """The column of that label key; one for all keys that no node has, however many."""
        if key not in self._keys:
            return self._absent
        column = self._columns.get(key)
        if column is None:
            distinct = {labels[key] for labels in self._labels if key in labels}
            values = {value: number for number, value in enumerate(sorted(distinct))}
            codes = np.array(
                [values[labels[key]] if key in labels else -1 for labels in self._labels],
                dtype=np.int32,
            )
            column = self._columns[key] = LabelColumn(codes, values)
        return column

    def nodes_with_labels(self, labels: Mapping[str, str]) -> BoolArray:
        """(nodes,) the nodes that carry all these labels."""
        answer = np.ones(self.count, dtype=np.bool_)
        for key, value in labels.items():
            column = self.column(key)
            if value not in column.values:
                return np.zeros(self.count, dtype=np.bool_)
            answer &= column.codes == column.values[value]
        return answer

    def nodes_of_selector(self, selector: NodeSelector) -> BoolArray:
        """(nodes,) the nodes that satisfy one of the terms; an empty term matches none."""
        answer = np.zeros(self.count, dtype=np.bool_)
        for term in selector.nodeSelectorTerms or ():
            answer |= self.nodes_of_term(term)
        return answer

    def nodes_of_term(self, term: NodeSelectorTerm) -> BoolArray:
        """(nodes,) the nodes that satisfy all requirements of the term."""
        if not term.matchExpressions and not term.matchFields:
            return np.zeros(self.count, dtype=np.bool_)
        answer = np.ones(self.count, dtype=np.bool_)
        for requirement in term.matchExpressions or ():
            answer &= self.satisfying_label(requirement)
        for requirement in term.matchFields or ():
            answer &= self._satisfying_field(requirement)
        return answer

    def satisfying_label(self, requirement: LabelSelectorRequirement) -> BoolArray:
        """(nodes,) the nodes whose labels satisfy one requirement."""
        column = self.column(requirement.key)
        wanted = requirement.values or []
        table = np.zeros(len(column.values) + 1, dtype=np.bool_)
        match requirement.operator:
            case "In" | "NotIn":
                table[[column.values[value] for value in wanted if value in column.values]] = True
            case "Exists" | "DoesNotExist":
                table[:-1] = True
            case "Gt" | "Lt" if len(wanted) == 1 and (limit := int64(wanted[0])) is not None:
                places, numbers = self._numbers_of(requirement.key)
                greater = requirement.operator == "Gt"
                table[places] = numbers > limit if greater else numbers < limit
        if requirement.operator in ("NotIn", "DoesNotExist"):
            table = ~table
        answer: BoolArray = table[column.codes]
        return answer

    def _numbers_of(self, key: str) -> tuple[IntArray, Int64Array]:
        """The places in the column of those values that are numbers, and these."""
        result = self._numbers.get(key)
        if result is None:
            candidates = [(at, int64(value)) for value, at in self.column(key).values.items()]
            numbers = [(at, number) for at, number in candidates if number is not None]
            result = self._numbers[key] = (
                np.array([at for at, _ in numbers], dtype=np.int32),
                np.array([number for _, number in numbers], dtype=np.int64),
            )
        return result

    def _satisfying_field(self, requirement: LabelSelectorRequirement) -> BoolArray:
        """The one field is metadata.name; what Kubernetes cannot parse matches no node."""
        answer = np.zeros(self.count, dtype=np.bool_)
        values = requirement.values or []
        if requirement.key != "metadata.name" or len(values) != 1:
            return answer
        number = self.index.get(values[0])
        if requirement.operator == "In" and number is not None:
            answer[number] = True
        elif requirement.operator == "NotIn":
            answer[:] = True
            if number is not None:
                answer[number] = False
        return answer
