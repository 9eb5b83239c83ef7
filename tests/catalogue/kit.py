"""A small cluster that the whole program acts on in virtual time, drawn by who runs where.

Nodes have 4 CPUs; a node is hot above 60 % (see `tests/simulation/policies.py`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rescheduler.model.moves.plan import Outcome, Plan, Report, plan_in
from tests.simulation.loads import constant
from tests.simulation.policies import POLICIES
from tests.simulation.process import Cycle
from tests.simulation.scenario import Run

GREAT = POLICIES.replace("spec:\n  movesPerHour", "spec:\n  maxHotShare: 1\n  movesPerHour")
"""The policies of the simulation, with a guard less: any number of nodes may be hot."""


def drawn(
    apps: Mapping[str, Sequence[str]],
    use: Mapping[str, float],
    *,
    nodes: int = 6,
    text: str = POLICIES,
    kind: str = "Deployment",
    cpu: float = 0.25,
    warm: bool = True,
    **more: Any,
) -> Run:
    """Apps with a pod on each of the named nodes (n0, n1, ...), each pod using so many CPUs."""
    run = Run(1, Counter(), text=text)
    for number in range(nodes):
        run.cluster.add_node(f"n{number}", zone="ab"[number % 2])
    for app, where in apps.items():
        run.cluster.add_workload(kind, app, list(where), cpu=cpu, **more)
    run.metrics.loads = {app: constant(load) for app, load in use.items()}
    run.metrics.begin()
    if warm:
        run.warm()
    return run


def hot(**more: Any) -> Run:
    """One hot node of six, n0 at 80 %, with two workloads that can go to idle nodes."""
    apps = {"web": ("n0", "n1"), "api": ("n0", "n2")}
    return drawn(apps, {"web": 1.6, "api": 1.6}, **more)


def cycles(run: Run, count: int, *, every: float = 300.0) -> list[Cycle]:
    """So many cycles, each in a process of its own as a CronJob's are."""
    made = []
    for _ in range(count):
        made.append(run.process().run())
        run.cluster.timeline.advance(every)
    return made


def moved(run: Run) -> list[str]:
    """The apps of the pods that were evicted, in order."""
    return [eviction.pod["metadata"]["labels"]["app"] for eviction in run.ground.evicted]


def sent(run: Run) -> list[str]:
    """The paths of all requests for evictions, whatever was answered."""
    return [request.path for request in run.universe.log if request.path.endswith("/eviction")]


def plan_of(cycle: Cycle) -> Plan:
    """The plan of a cycle that came to one."""
    assert cycle.report is not None, cycle.error
    return plan_in(cycle.report)


def codes(report: Report | None) -> set[str]:
    """Every code that a report gives for what was left alone, its verdict among them."""
    assert report is not None
    plan = plan_in(report)
    verdict = {report.verdict.code} if isinstance(report, Outcome) else set()
    policies = {policy.problem.code for policy in plan.policies if policy.problem}
    return {*plan.totals.refused, *(guard.code for guard in plan.guards), *policies, *verdict}
