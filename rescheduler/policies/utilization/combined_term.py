"""The sum of several terms of one Utilization: of nodes, and of shared GPUs."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.shared.loads.term import UtilizationTerm
from rescheduler.policies.utilization.device_term import DeviceTerm


class CombinedTerm:
    """The sum of its parts."""

    def __init__(self, parts: Sequence[UtilizationTerm | DeviceTerm]) -> None:
        """parts: at least one."""
        self._parts = tuple(parts)

    def cost(self) -> float:
        """Average pods too many, over all nodes and devices."""
        return sum(term.cost() for term in self._parts)

    def worst(self) -> float:
        """The cost if all were full."""
        return sum(term.worst() for term in self._parts)

    def scope(self) -> int:
        """How many nodes are evaluated."""
        return int(np.logical_or.reduce([term.evaluated_nodes() for term in self._parts]).sum())

    def hot_on(self, node: int) -> tuple[str, ...]:
        """What is hot on the node, of all parts."""
        return tuple(name for term in self._parts for name in term.hot_on(node))

    def continue_relief(self, begun: Mapping[tuple[int, str], datetime]) -> None:
        """Let every part relieve what is its own."""
        for term in self._parts:
            term.continue_relief(begun)

    def candidates(self) -> IntArray:
        """The pods whose move lowers the cost of any part."""
        return np.unique(np.concatenate([term.candidates() for term in self._parts]))

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each could lower the cost."""
        return np.asarray(np.sum([term.bounds(pods) for term in self._parts], axis=0))

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        return np.asarray(np.sum([term.deltas(pod, nodes) for term in self._parts], axis=0))

    def overfills(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether the pod would be too much for anything of each node."""
        full = [term.overfills(pod, nodes) for term in self._parts]
        return np.asarray(np.logical_or.reduce(full))

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        for term in self._parts:
            term.commit(shift)

    def findings(self) -> Iterator[Finding]:
        """Those of all parts."""
        for term in self._parts:
            yield from term.findings()

    def hot_nodes(self) -> IntArray:
        """The nodes above any target."""
        return np.unique(np.concatenate([term.hot_nodes() for term in self._parts]))

    def unknown_nodes(self) -> BoolArray:
        """(nodes,) where something that should be known is not."""
        return np.asarray(np.logical_or.reduce([term.unknown_nodes() for term in self._parts]))

    def load_after(self) -> dict[str, FloatArray]:
        """Node reading name to the (nodes,) load of the working copy."""
        return {name: load for term in self._parts for name, load in term.load_after().items()}

    def usage(self, pod: int) -> dict[str, float]:
        """Pod reading name to what the pod uses."""
        return {name: used for term in self._parts for name, used in term.usage(pod).items()}

    def measured_codes(self) -> None:
        """All findings come from readings."""

    def finding_ages(self) -> FloatArray:
        """(pods,) for how long the load that each pod's move lowers most has been too high."""
        pods = np.arange(len(self._parts[0].finding_ages()), dtype=np.int32)
        removed = np.stack([term.bounds(pods) for term in self._parts])
        held = np.stack([term.finding_ages() for term in self._parts])
        return np.asarray(held[removed.argmax(axis=0), pods])

    def unjudged_sentence(self) -> str:
        """What any part passes over."""
        devices = [part for part in self._parts if isinstance(part, DeviceTerm)]
        return "; ".join(text for part in devices if (text := part.unjudged_sentence()))

    def warnings(self) -> tuple[Problem, ...]:
        """Those of all parts."""
        return tuple(said for term in self._parts for said in term.warnings())
