"""Clusters that a reader can see (see `policytest.drawing`), and what the planner makes of them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policytest.drawing import cluster_of_drawing
from rescheduler.policytest.series_readings import add_readings as measured_as


class PictureMove(NamedTuple):
    """A move as a policy test tells it."""

    workload: str
    source: str
    destination: str


def move(workload: str, source: str, destination: str) -> PictureMove:
    """A move of one pod of that workload."""
    return PictureMove(workload, source, destination)


def picture(
    text: str,
    *,
    requests: Mapping[str, Mapping[str, Any]] | None = None,
    specs: Mapping[str, Mapping[str, Any]] | None = None,
    readings: Mapping[str, Any] | None = None,
    budgets: Mapping[str, int] | None = None,
    zones: Mapping[str, Mapping[str, Any]] | None = None,
    policies: Iterable[Policy] = (),
) -> Snapshot:
    """The cluster of the picture with its readings, which answer to the requests of `policies`."""
    made = cluster_of_drawing(
        text,
        requests=requests or {},
        specs=specs or {},
        budgets=budgets or {},
        zones=zones or {},
    )
    return measured(made, readings or {}, policies)


def measured(
    before: Snapshot, values: Mapping[str, Mapping[str, Any]], policies: Iterable[Policy] = ()
) -> Snapshot:
    """The snapshot with these readings; None is a value that ought to be there and is not."""
    return measured_as(before, values, policies)


def proposed(
    before: Snapshot, *policies: Policy, limits: Limits | None = None
) -> list[PictureMove]:
    """The moves that planning proposes, in order, each to the node where it most likely lands."""
    made = plan(before, policy_set(list(policies), limits), History(), mode="Enforce")
    return [
        move(
            planned_move.owner.name,
            planned_move.source,
            max(planned_move.landing, key=lambda one: one.probability).node,
        )
        for planned_move in made.moves
    ]


def workloads(before: Snapshot, pods: Iterable[int]) -> list[str]:
    """The names of the workloads of these pods, each once."""
    return sorted({(before.pods[pod].metadata.labels or {})["app"] for pod in pods})
