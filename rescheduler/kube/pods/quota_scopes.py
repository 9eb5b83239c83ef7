"""Scopes of a ResourceQuota: which pods it counts.

Source: pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc.
"""

from collections.abc import Iterator

from rescheduler.kube.controllers import ResourceQuota
from rescheduler.kube.objects import LabelSelectorRequirement, PodSpec
from rescheduler.kube.pods.qos import is_best_effort
from rescheduler.kube.selectors import satisfies


def counts(quota: ResourceQuota, spec: PodSpec) -> bool:
    """Whether the quota counts a pod of this spec; a scope that is not evaluated counts all."""
    return all(_holds(requirement, spec) for requirement in _requirements(quota))


def _requirements(quota: ResourceQuota) -> Iterator[LabelSelectorRequirement]:
    for scope in quota.spec.scopes or ():
        yield LabelSelectorRequirement(key=scope, operator="Exists")
    if quota.spec.scopeSelector is not None:
        for selected in quota.spec.scopeSelector.matchExpressions or ():
            yield LabelSelectorRequirement(
                key=selected.scopeName, operator=selected.operator, values=selected.values
            )


def _holds(scope: LabelSelectorRequirement, spec: PodSpec) -> bool:
    match scope.key:
        case "Terminating":
            return spec.activeDeadlineSeconds is not None
        case "NotTerminating":
            return spec.activeDeadlineSeconds is None
        case "BestEffort":
            return is_best_effort(spec)
        case "NotBestEffort":
            return not is_best_effort(spec)
        case "PriorityClass":
            name = spec.priorityClassName
            return satisfies(scope, {scope.key: name} if name else {})
    return True
