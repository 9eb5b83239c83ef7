"""ResourceQuota headroom: room for a replacement while the old pod still counts."""

from collections import Counter
from collections.abc import Iterator

from rescheduler.kube.nodes.resource_names import HUGE_PAGES, IMPLICIT_CLASS, is_extended, native
from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.containers import all_containers
from rescheduler.kube.pods.pod_requests import container_requests, pod_limits, pod_requests
from rescheduler.kube.pods.quota_scopes import counts
from rescheduler.kube.quantity import nanos
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem

_ONE = nanos(1)
_SAID = {
    **{
        f"{prefix}{name}": ("requests", name)
        for prefix in ("", "requests.")
        for name in ("cpu", "memory")
    },
    **{f"limits.{name}": ("limits", name) for name in ("cpu", "memory")},
}
"""What a quota limits that each container has to say then: its field, and the name in it."""
_OVERLAPPING = frozenset({"ReplicaSet", "ReplicationController", "Job"})


class Quotas:
    """The headroom of every ResourceQuota along the plan.

    A ReplicaSet makes the replacement while the old pod terminates, and a quota counts both until
    then; a StatefulSet waits, and finds no room only where the quota is exceeded already, as it was
    lowered, or where its replacement asks for more than the pod. A quota refuses pods that do not
    say how much they take of what it limits, and counts those in its scopes alone. All moves of a
    plan are charged together, though a quota frees up between batches.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._by_namespace: dict[str, list[int]] = {}
        for index, quota in enumerate(snapshot.quotas):
            self._by_namespace.setdefault(quota.metadata.namespace, []).append(index)
        self._charged: dict[int, Counter[str]] = {}

    def refusal(self, pod: int) -> Problem | None:
        """BUD004: the first resource of a quota without room for the replacement."""
        replacement = self._snapshot.next_pods.replacement(pod)
        owner = replacement.controller
        if owner is None or replacement.metadata.namespace not in self._by_namespace:
            return None
        try:
            wanted = quota_use(replacement)
            freed = {} if owner.kind in _OVERLAPPING else quota_use(self._snapshot.pods[pod])
            for index in self._quotas_of(replacement):
                problem = self._missing_request(index, replacement)
                if problem := problem or self._short(index, wanted, freed):
                    return Problem(code="BUD004", message=problem)
        except ValueError as error:
            return Problem(code="BUD004", message=f"a quota cannot be compared: {error}")
        return None

    def charge(self, pod: int, sign: int) -> None:
        """Charge (sign 1) or release (sign -1) the replacement of this pod."""
        replacement = self._snapshot.next_pods.replacement(pod)
        for index in self._quotas_of(replacement):
            charged = self._charged.setdefault(index, Counter())
            for resource, amount in quota_use(replacement).items():
                charged[resource] += sign * amount

    def _quotas_of(self, pod: Pod) -> Iterator[int]:
        """The quotas that count the pod."""
        for index in self._by_namespace.get(pod.metadata.namespace, ()):
            if counts(self._snapshot.quotas[index], pod.spec):
                yield index

    def _missing_request(self, index: int, pod: Pod) -> str:
        """What a container does not say, though the quota limits it; pod-level resources do.

        Source: pkg/quota/v1/evaluator/core/pods.go, Constraints, Kubernetes 1.36.
        """
        quota = self._snapshot.quotas[index]
        for resource in sorted((quota.status.hard or {}).keys() & _SAID.keys()):
            kind, name = _SAID[resource]
            if name in (getattr(pod.spec.resources, kind, None) or {}):
                continue
            for container in all_containers(pod.spec):
                limits = (container.resources.limits if container.resources else None) or {}
                if name not in (limits if kind == "limits" else container_requests(container)):
                    text = f"ResourceQuota {quota.metadata.name} wants {kind} of {name}"
                    return f"{text}, and container {container.name} has none"
        return ""

    def _short(self, index: int, wanted: dict[str, int], freed: dict[str, int]) -> str:
        """The first resource without room for what is wanted.

        freed: what the pod has, where it is gone by then. Its own share is then there again, unless
        the quota is exceeded, as it was lowered; what other moves were charged is theirs.
        """
        quota = self._snapshot.quotas[index]
        charged = self._charged.get(index, Counter())
        used = quota.status.used or {}
        for resource, limit in sorted((quota.status.hard or {}).items()):
            if wanted.get(resource, 0) <= 0:
                continue
            more = wanted[resource] - freed.get(resource, 0)
            room = nanos(limit) - nanos(used.get(resource, 0))
            if freed and more <= 0:
                if room < more:
                    return (
                        f"ResourceQuota {quota.metadata.name} allows {limit} of {resource}, and "
                        f"{used.get(resource)} are used: it would not admit the replacement"
                    )
                continue
            room -= charged[resource]
            if more > room:
                needs = f"{more / _ONE:g} more than the pod has" if freed else f"{more / _ONE:g}"
                return (
                    f"ResourceQuota {quota.metadata.name} has {max(room, 0) / _ONE:g} left of "
                    f"{resource}, and the replacement needs {needs}"
                )
        return ""


def quota_use(pod: Pod) -> dict[str, int]:
    """What a quota counts for the replacement of a pod, in billionths, by its resource names.

    Source: pkg/quota/v1/evaluator/core/pods.go, podComputeUsageHelper.
    """
    answer = {"pods": _ONE, "count/pods": _ONE}
    for resource, amount in pod_requests(pod.spec).items():
        compute = native(resource) or resource.startswith(HUGE_PAGES)
        if compute:
            answer[resource] = amount
        if compute or is_extended(resource) or resource.startswith(IMPLICIT_CLASS):
            answer[f"requests.{resource}"] = amount
    for resource, amount in pod_limits(pod.spec).items():
        if native(resource):
            answer[f"limits.{resource}"] = amount
    return answer
