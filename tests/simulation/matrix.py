"""The fault matrix: 31 faults in 11 phases of a cycle, 138 cells, each on many seeds.

    python -m tests.simulation.matrix --seeds 20

A cell is green if in every run the fault came true in that phase, the cycle ended as the table
expects, no invariant was broken, and the second cycle after the fault was good without a hand.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from rescheduler.model.moves.plan import Outcome, plan_in
from tests.simulation.loads import constant
from tests.simulation.policies import POLICIES, TAINTED
from tests.simulation.process import Cycle
from tests.simulation.scenario import Run, recovered, simulated
from tests.simulation.tainting import favor_the_first
from tests.simulation.weather import CELLS, PHASES, Strike

_CALLS = {"lock": 3, "state": 3, "snap": 24, "metric": 6, "evict": 2, "watch": 3, "report": 2}
"""About how many calls a phase has in a calm cycle; the fault comes at one of them."""

_USUAL = {"lock": "acl", "state": "ac", "snap": "ac", "metric": "cd"}
"""What a fault in a phase may do where nothing else is said below: `c` also where it was brief."""
_ELSE = {
    "404": {"cfg": "a", "state": "a"},
    "429 by a budget": {"evict": "ac"},
    "empty": {"cfg": "a"},
    "nonsense": {"plan": "cd"},
    "clock step": {"metric": "ac"},
    "SIGKILL": dict.fromkeys(PHASES, "k"),
    "stale read": {"state": "acl"},
    "SIGTERM and drain": dict.fromkeys(["metric", "plan", "wal"], "a"),
    "memory cap": dict.fromkeys(["snap", "metric", "plan", "report"], "ak"),
    "second instance": dict.fromkeys(["lock", "state", "plan", "wal", "evict"], "acl"),
    "lease stolen": {"snap": "ald", "plan": "l", "wal": "al", "evict": "acl"},
    "30% NotReady": {"snap": "a", "plan": "a"},
}
EXPECTED = {
    fault: {phase: _ELSE.get(fault, {}).get(phase, _USUAL.get(phase, "ac")) for phase in phases}
    for fault, phases in CELLS.items()
}
"""How a cycle may end with each fault in each phase, by `LETTERS`."""

LETTERS = {
    "c": "continues: it ends as without the fault, or leaves out the move that it touches",
    "d": "degrades: a policy or a node without data has no say",
    "a": "ends cleanly: no eviction after it, and a reason",
    "l": "loses the lock, or leaves it to another one",
    "k": "is killed",
}


def class_of(cycle: Cycle) -> str:
    """How a cycle ended; see `LETTERS`."""
    if cycle.code is None:
        return "k"
    if cycle.report is None:
        return "l" if cycle.error.startswith(("LockLost", "LockHeld")) else "a"
    plan = plan_in(cycle.report)
    code = cycle.report.verdict.code if isinstance(cycle.report, Outcome) else ""
    if code in ("ACT015", "GRD005"):
        return "l"
    held = any(move.code.startswith("GRD") for move in getattr(cycle.report, "moves", ()))
    if held or cycle.error or plan.guards or code.startswith("GRD") or code in ("ACT014", "ACT016"):
        return "a"
    if any(policy.problem is not None for policy in plan.policies):
        return "d"
    return "c"


def sure(seed: int, reached: Counter[str], nodes: int, *, tainting: bool = False) -> Run:
    """A cluster in which a calm cycle surely moves something: one hot node, room elsewhere.

    tainting: the replacements would come back, unless a soft taint keeps them away.

    One cycle was there before, so that there is a state, and older answers to every read.
    """
    run = Run(seed, reached, text=POLICIES.replace(*TAINTED) if tainting else POLICIES)
    names = [f"n{number}" for number in range(nodes)]
    for number, name in enumerate(names):
        run.cluster.add_node(name, zone="ab"[number % 2])
    heat = {"web": 0.7, "db": 0.6, "api": 0.5, "alone": 1.8}
    for app, kind in (("web", "Deployment"), ("db", "StatefulSet"), ("api", "Deployment")):
        run.cluster.add_workload(kind, app, [names[0], names[1], names[2]], cpu=0.25)
        run.cluster.add_pdb(app)
    run.cluster.add_workload("Deployment", "alone", [names[0]], cpu=0.25)
    run.metrics.loads = dict.fromkeys(heat, constant(0.1))
    if tainting:
        favor_the_first(run.universe, run.ground)
    run.metrics.begin()
    run.warm()
    run.process().run()
    run.metrics.loads |= {app: constant(value) for app, value in heat.items()}
    run.metrics.scrape()
    run.cluster.timeline.advance(900.0)
    return run


@dataclass
class Cell:
    """What became of one cell. ended: how often in each way."""

    fault: str
    phase: str
    runs: int = 0
    touched: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    @property
    def green(self) -> bool:
        """Whether it is as it should be."""
        return self.touched == self.runs and not self.broken


def try_cell(fault: str, phase: str, seeds: Iterable[int]) -> Cell:
    """Run one cell."""
    cell = Cell(fault, phase)
    with simulated():
        for seed in seeds:
            cell.runs += 1
            chance = random.Random(f"{fault} {phase} {seed}")
            nth = chance.randrange(_CALLS.get(phase, 1))
            times = chance.choice([1, 1, 2, 1000])
            if not _once(cell, seed, Strike(fault, phase, chance, nth=nth, times=times)):
                _once(cell, seed, Strike(fault, phase, chance))
    return cell


def _once(cell: Cell, seed: int, strike: Strike) -> bool:
    """One run with the fault; whether it came true."""
    run = sure(seed, Counter(), nodes=12 if "NotReady" in cell.fault else 5)
    process = run.process()
    process.weather = strike
    cycle = process.run()
    if not strike.struck:
        return False
    cell.touched += 1
    ended = class_of(cycle)
    cell.ended[ended] += 1
    if ended not in EXPECTED[cell.fault][cell.phase]:
        said = cycle.error or getattr(cycle.report, "verdict", "")
        cell.broken.append(f"seed {seed}: ended as {ended}: {said}")
    run.cluster.timeline.advance(60.0)
    recovered(run)
    cell.broken += [f"seed {seed}: {violation}" for violation in run.ground.broken]
    return True


def table(cells: Iterable[Cell]) -> str:
    """The matrix for people: how each cell ended, and `!` where it is not green."""
    found = {(cell.fault, cell.phase): cell for cell in cells}
    width = max(map(len, CELLS))
    lines = [" " * width + " | " + " ".join(f"{phase:7}" for phase in PHASES)]
    for fault in CELLS:
        row = []
        for phase in PHASES:
            cell = found.get((fault, phase))
            text = ""
            if cell is not None:
                text = "".join(sorted(cell.ended)) + ("" if cell.green else "!")
            row.append(f"{text:7}")
        lines.append(f"{fault:{width}} | " + " ".join(row))
    green = sum(cell.green for cell in found.values())
    runs = sum(cell.runs for cell in found.values())
    lines += [f"  {letter}: {what}" for letter, what in LETTERS.items()]
    lines.append(f"{green} of {len(found)} cells are green, in {runs} runs")
    return "\n".join(lines)


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the matrix and print it; 1 if a cell is not green."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args()
    names = [(fault, phase) for fault, phases in CELLS.items() for phase in phases]
    with ProcessPoolExecutor(given.jobs) as pool:
        cells = list(
            pool.map(
                try_cell,
                [fault for fault, _ in names],
                [phase for _, phase in names],
                [range(given.seeds)] * len(names),
            )
        )
    _say(table(cells))
    for cell in cells:
        for violation in cell.broken[:3]:
            _say(f"{cell.fault} at {cell.phase}, {violation}")
        if cell.touched < cell.runs:
            _say(f"{cell.fault} at {cell.phase}: came true in {cell.touched} of {cell.runs} runs")
    return 0 if all(cell.green for cell in cells) else 1


if __name__ == "__main__":
    sys.exit(main())
