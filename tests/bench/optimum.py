"""The most that so many moves can gain on a drawn cluster: a mixed-integer program (HiGHS).

A variable is how many pods of an application go from one node to another. It knows what the
policies charge, room, and that nobody comes to a node above its target; neither landings nor the
order of the moves. So no plan gains more.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from rescheduler.model.cluster.readings import FloatArray
from rescheduler.policies.shared.loads.term import UtilizationTerm
from rescheduler.policies.spread.term import SpreadTerm
from tests.bench.drawn_load import CORES, HIGH, LOW, REQUEST, DrawnLoad, policies


@dataclass(frozen=True, slots=True)
class Optimum:
    """gain: of the best plan that was found. bound: no plan gains more."""

    gain: float
    bound: float


class _Program:
    """Collects variables and rows; expressions are dicts of a variable's number to its factor."""

    def __init__(self) -> None:
        self._cost: list[float] = []
        self._upper: list[float] = []
        self._whole: list[int] = []
        self._rows: list[tuple[float, float, dict[int, float]]] = []

    def variable(self, cost: float, upper: float, *, whole: bool = False) -> int:
        self._cost.append(cost)
        self._upper.append(upper)
        if whole:
            self._whole.append(len(self._cost) - 1)
        return len(self._cost) - 1

    def row(self, least: float, most: float, factors: dict[int, float]) -> None:
        self._rows.append((least, most, factors))

    def solve(self, seconds: float) -> tuple[float, float]:
        """The least cost that was found, and below which none is."""
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("time_limit", seconds)
        solver.setOptionValue("mip_rel_gap", 1e-4)
        count = len(self._cost)
        none = np.array([], dtype=np.int32)
        solver.addCols(
            count, np.array(self._cost), np.zeros(count), np.array(self._upper), 0, none, none,
            np.array([]),
        )  # fmt: skip
        whole = np.array(self._whole, dtype=np.int32)
        kinds = np.full(len(whole), highspy.HighsVarType.kInteger)
        solver.changeColsIntegrality(len(whole), whole, kinds)
        begin = np.cumsum([0, *(len(row[2]) for row in self._rows)])
        solver.addRows(
            len(self._rows),
            np.array([row[0] for row in self._rows]),
            np.array([row[1] for row in self._rows]),
            int(begin[-1]),
            begin[:-1].astype(np.int32),
            np.array([key for row in self._rows for key in row[2]], dtype=np.int32),
            np.array([value for row in self._rows for value in row[2].values()]),
        )
        solver.setSolution(len(whole), whole, np.zeros(len(whole)))  # nothing moves
        solver.run()
        info = solver.getInfo()
        return float(info.objective_function_value), float(info.mip_dual_bound)


def optimum(drawn: DrawnLoad, kinds: Sequence[str], moves: int, seconds: float = 60.0) -> Optimum:
    """The most that so many moves gain for these policies.

    Raises:
        ValueError: nothing was found in so many seconds.
    """
    program, snapshot = _Program(), drawn.snapshot
    where, workload = snapshot.pod_node, snapshot.pod_workload
    apps, first, of_pod = np.unique(workload, return_index=True, return_inverse=True)
    count = np.zeros((len(apps), len(snapshot.nodes)), dtype=np.int64)
    np.add.at(count, (of_pod, where), 1)
    nodes = range(len(snapshot.nodes))
    going = {
        (app, source, target): program.variable(0.0, float(count[app, source]), whole=True)
        for app, source in zip(*np.nonzero(count), strict=True)
        for target in nodes
        if target != source
    }
    program.row(-highspy.kHighsInf, moves, dict.fromkeys(going.values(), 1.0))
    leaving: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    change: list[dict[int, float]] = [{} for _ in nodes]
    coming: list[dict[int, float]] = [{} for _ in nodes]
    used = drawn.used[first]
    for (app, source, target), number in going.items():
        leaving[app, source][number] = 1.0
        change[source][number] = -float(used[app])
        change[target][number] = float(used[app])
        coming[target][number] = 1.0
    for (app, source), numbers in leaving.items():
        program.row(-highspy.kHighsInf, float(count[app, source]), numbers)
    pods = count.sum(axis=0)
    for target in nodes:
        room = min(110, int(CORES / REQUEST)) - int(pods[target])
        factors = dict.fromkeys(coming[target], 1.0)
        factors |= {column: -1.0 for column in change[target] if column not in coming[target]}
        program.row(-highspy.kHighsInf, room, factors)
    before = 0.0
    read = drawn.read(policies(kinds))
    for policy in policies(kinds):
        term = policy.compile(read)
        if isinstance(term, UtilizationTerm):
            before += term.cost()
            _charge_load(program, drawn.loads(), _unit(drawn), change, coming, moves)
        elif isinstance(term, SpreadTerm):
            before += term.cost()
            _charge_skew(program, count, going)
    found, bound = program.solve(seconds)
    if not np.isfinite(found):
        raise ValueError(f"HiGHS found nothing in {seconds:g} s")
    return Optimum(before - found, before - bound)


def _unit(drawn: DrawnLoad) -> float:
    """Cores that a pod uses on average."""
    return float(drawn.used.mean())


def _charge_load(
    program: _Program,
    loads: FloatArray,
    unit: float,
    change: list[dict[int, float]],
    coming: list[dict[int, float]],
    moves: int,
) -> None:
    """((load - low)+ + (load - high)+) / 2 / unit of each node; nobody comes above high."""
    for node, load in enumerate(loads.tolist()):
        for target in (LOW * CORES, HIGH * CORES):
            above = program.variable(0.5 / unit, highspy.kHighsInf)
            factors = {above: 1.0, **{column: -value for column, value in change[node].items()}}
            program.row(load - target, highspy.kHighsInf, factors)
        receives, most = program.variable(0.0, 1.0, whole=True), HIGH * CORES
        program.row(-highspy.kHighsInf, 0.0, {receives: -float(moves), **coming[node]})
        slack = max(load - most, 0.0)
        program.row(-highspy.kHighsInf, most + slack - load, {receives: slack, **change[node]})


def _charge_skew(
    program: _Program, count: np.ndarray, going: dict[tuple[int, int, int], int]
) -> None:
    """Of each application the fewest moves that make its zones differ by at most one."""
    zones = [np.arange(count.shape[1]) % 3 == zone for zone in range(3)]
    change: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    for (app, source, target), number in going.items():
        if source % 3 != target % 3:
            change[app, source % 3][number] = -1.0
            change[app, target % 3][number] = 1.0
    for app in range(len(count)):
        needed = program.variable(1.0, highspy.kHighsInf)
        floor = program.variable(0.0, float(count[app].sum()), whole=True)
        above: dict[int, float] = {needed: 1.0}
        below: dict[int, float] = {needed: 1.0}
        for zone, its in enumerate(zones):
            over = program.variable(0.0, highspy.kHighsInf)
            under = program.variable(0.0, highspy.kHighsInf)
            above[over], below[under] = -1.0, -1.0
            held, moved = float(count[app][its].sum()), change[app, zone]
            more = {number: -value for number, value in moved.items()}
            program.row(held - 1.0, highspy.kHighsInf, {over: 1.0, floor: 1.0, **more})
            program.row(-held, highspy.kHighsInf, {under: 1.0, floor: -1.0, **moved})
        program.row(0.0, highspy.kHighsInf, above)
        program.row(0.0, highspy.kHighsInf, below)
