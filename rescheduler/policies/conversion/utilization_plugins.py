"""LowNodeUtilization and HighNodeUtilization: by requests Allocation, by load Utilization."""

import re
from collections.abc import Iterator
from typing import Any

from rescheduler.policies.conversion.descheduler_arguments import (
    HighNodeUtilizationArgs,
    LowNodeUtilizationArgs,
)
from rescheduler.policies.conversion.draft import Draft

_MEASURED = ("cpu", "memory")
"""What Utilization has built-in readings of."""
_WORDS = {"cpu": re.compile("cpu", re.IGNORECASE), "memory": re.compile("mem", re.IGNORECASE)}
METRIC = "MetricResource"
"""The one resource of LowNodeUtilization with a query."""


def percent(value: float) -> str:
    """A share as our policies have it."""
    return f"{value:.9f}".rstrip("0").rstrip(".") + "%"


def low_utilization(arguments: LowNodeUtilizationArgs, draft: Draft) -> Iterator[Draft]:
    """Above their targets nodes give pods away; by the mean where thresholds are deviations."""
    if arguments.evictionModes:
        draft.selection.others |= _match_of_requests(arguments.targetThresholds)
    targets = dict(arguments.targetThresholds)
    source = arguments.metricsUtilization
    if source is not None and (source.metricsServer or source.source is not None):
        query = source.prometheus.query if source.prometheus is not None else None
        yield from _by_load(query, targets, draft, deviating=arguments.useDeviationThresholds)
    if not targets:
        return
    if not arguments.useDeviationThresholds:
        resources = [{"resource": name, "target": percent(most)} for name, most in targets.items()]
        yield draft.variant("", "Allocation", resources=resources)
        return
    for suffix, tolerance, names in _by_tolerance(targets):
        resources = [{"resource": name} for name in names]
        more = {"strategy": "Balance", "tolerance": percent(tolerance)}
        yield draft.variant(suffix, "Allocation", resources=resources, **more)


def high_utilization(arguments: HighNodeUtilizationArgs, draft: Draft) -> Iterator[Draft]:
    """Nodes below all thresholds are emptied."""
    if arguments.evictionModes:
        draft.selection.others |= _match_of_requests(arguments.thresholds)
    draft.remark(
        "Nodes become empty only where kube-scheduler fills nodes up (MostAllocated), as for "
        "descheduler. Declare that in a document of kind Scheduler: policies/scheduler.yaml."
    )
    yield draft.variant(
        "",
        "Allocation",
        resources=[{"resource": name} for name in arguments.thresholds],
        strategy="Pack",
        cold=percent(min(arguments.thresholds.values())),
    )


def _by_load(
    query: str | None, targets: dict[str, float], draft: Draft, *, deviating: bool | None
) -> Iterator[Draft]:
    """Policies by what is used; takes their resources out of the targets."""
    if query is not None or METRIC in targets:
        most = targets.pop(METRIC, None)
        named = [name for name, word in _WORDS.items() if word.search(query or "")]
        measured = dict.fromkeys(named, most) if most is not None else {}
    else:
        measured = {name: targets.pop(name) for name in _MEASURED if name in targets}
        for name in [name for name in targets if name != "pods"]:
            del targets[name]
            draft.reports_only = True
            draft.remark(
                f"There is no metric of {name}, so descheduler's plugin fails with it: the target "
                "is left out, and the policies only report. By requests it would be an entry in "
                "`resources` of an Allocation."
            )
    for suffix, spec in load_specs(measured, deviating=deviating):
        yield draft.variant(suffix, "Utilization", **spec)
    if targets:
        draft.name = f"{draft.name}-requests"


def load_specs(
    measured: dict[str, float], *, deviating: bool | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What policies say of these targets by load, each with the suffix of its name."""
    if measured and not deviating:
        yield "", {"targets": {name: {"high": percent(most)} for name, most in measured.items()}}
    for suffix, tolerance, names in _by_tolerance(measured if deviating else {}):
        targets = {name: {"high": "100%"} for name in names}
        yield suffix, {"targets": targets, "strategy": "Balance", "tolerance": percent(tolerance)}


def _by_tolerance(targets: dict[str, float]) -> Iterator[tuple[str, float, list[str]]]:
    """A suffix, a deviation from the mean, and the resources that have it."""
    for tolerance in dict.fromkeys(targets.values()):
        names = [name for name, above in targets.items() if above == tolerance]
        suffix = "" if len(names) == len(targets) else f"-{'-'.join(names)}".replace("/", "-")
        yield suffix, tolerance, names


def _match_of_requests(thresholds: dict[str, float]) -> dict[str, Any]:
    """The match of pods that request one of the resources; all request one of `pods`."""
    names = [name for name in thresholds if name != "pods"]
    return {"requests": names} if names and "pods" not in thresholds else {}
