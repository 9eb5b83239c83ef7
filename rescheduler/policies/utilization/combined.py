"""Several terms of one Utilization as one: of nodes, and of the devices that pods share."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, IntArray
from rescheduler.model.finding import Finding
from rescheduler.model.moves.move import Shift
from rescheduler.model.problem import Problem
from rescheduler.policies.utilization.device_term import DeviceTerm
from rescheduler.policies.utilization.term import UtilizationTerm


class CombinedTerm:
    """The sum of its parts."""

    def __init__(self, parts: Sequence[UtilizationTerm | DeviceTerm]) -> None:
        """parts: at least one."""
        self._parts = tuple(parts)

    def cost(self) -> float:
        """Average pods too many, over all nodes and devices."""
        return sum(each.cost() for each in self._parts)

    def worst(self) -> float:
        """The cost if all were full."""
        return sum(each.worst() for each in self._parts)

    def scope(self) -> int:
        """How many nodes are evaluated."""
        return int(np.logical_or.reduce([each.evaluated() for each in self._parts]).sum())

    def hot_on(self, node: int) -> tuple[str, ...]:
        """What is hot on the node, of all parts."""
        return tuple(name for each in self._parts for name in each.hot_on(node))

    def continue_relief(self, begun: Mapping[tuple[int, str], datetime]) -> None:
        """Let every part relieve what is its own."""
        for each in self._parts:
            each.continue_relief(begun)

    def candidates(self) -> IntArray:
        """The pods of which a move lowers the cost of any part."""
        return np.unique(np.concatenate([each.candidates() for each in self._parts]))

    def bounds(self, pods: IntArray) -> FloatArray:
        """(k,) at most how much moving each could lower the cost."""
        return np.asarray(np.sum([each.bounds(pods) for each in self._parts], axis=0))

    def deltas(self, pod: int, nodes: IntArray) -> FloatArray:
        """(k,) change of the cost if the pod moved to each of the k nodes."""
        return np.asarray(np.sum([each.deltas(pod, nodes) for each in self._parts], axis=0))

    def overfills(self, pod: int, nodes: IntArray) -> BoolArray:
        """(k,) whether the pod would be too much for anything of each node."""
        full = [each.overfills(pod, nodes) for each in self._parts]
        return np.asarray(np.logical_or.reduce(full))

    def commit(self, shift: Shift) -> None:
        """Make the move in the working copy."""
        for each in self._parts:
            each.commit(shift)

    def findings(self) -> Iterator[Finding]:
        """Those of all parts."""
        for each in self._parts:
            yield from each.findings()

    def hot_nodes(self) -> IntArray:
        """The nodes above any target."""
        return np.unique(np.concatenate([each.hot_nodes() for each in self._parts]))

    def unknown(self) -> BoolArray:
        """(nodes,) of which anything that ought to be known is not."""
        return np.asarray(np.logical_or.reduce([each.unknown() for each in self._parts]))

    def load_after(self) -> dict[str, FloatArray]:
        """Node reading name to the (nodes,) load of the working copy."""
        return {name: load for each in self._parts for name, load in each.load_after().items()}

    def usage(self, pod: int) -> dict[str, float]:
        """Pod reading name to what the pod uses."""
        return {name: used for each in self._parts for name, used in each.usage(pod).items()}

    def measured(self) -> None:
        """All findings come from readings."""

    def lasted(self) -> FloatArray:
        """(pods,) for how long the load that each pod's move lowers most has been too high."""
        pods = np.arange(len(self._parts[0].lasted()), dtype=np.int32)
        removed = np.stack([each.bounds(pods) for each in self._parts])
        held = np.stack([each.lasted() for each in self._parts])
        return np.asarray(held[removed.argmax(axis=0), pods])

    def warnings(self) -> tuple[Problem, ...]:
        """Those of all parts."""
        return tuple(said for each in self._parts for said in each.warnings())
