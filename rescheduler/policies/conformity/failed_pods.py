"""Pods that have failed for good: they are reported, and nothing is done about them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pydantic import Field

from rescheduler.documents.fields import Duration, Strict, duration_text
from rescheduler.kube.objects import ContainerStatus, Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.wording import count_text
from rescheduler.policies.match import Match
from rescheduler.policies.shared.matching import select_pods

_MOST_REASONS = 3


class Failed(Strict):
    """Pods whose phase is Failed, which are reported and left as they are.

    They are on no node any more, and where their owner wants another pod it has made one: nothing
    can be placed better, so they cost nothing, and no move is made for them. Removing them is the
    garbage collection of Kubernetes (`--terminated-pod-gc-threshold`, `ttlSecondsAfterFinished`).
    """

    above: Duration = Field(description="Only pods that were made longer ago.")
    reasons: list[str] | None = Field(
        None,
        min_length=1,
        description="Only pods with one of these: a pod's reason, or that for which a container "
        "has ended or waits.",
    )
    exitCodes: list[int] | None = Field(
        None,
        min_length=1,
        description="Only pods with a container that has ended with one of these.",
    )
    initContainers: bool = Field(
        False, description="Whether reasons and exit codes of init containers count too."
    )


def failures(rule: Failed, match: Match, snapshot: Snapshot) -> Iterator[Finding]:
    """One finding per workload with pods that the rule names; each costs 0 and has no pods.

    A pod that is being deleted is not reported. Where failed pods were not read there are none.
    """
    ended = replace(snapshot, pods=snapshot.failed or [])
    pods_by_workload: dict[int, list[int]] = {}
    for pod in np.flatnonzero(select_pods(match, ended)).tolist():
        if _matches_rule(rule, ended.pods[pod], snapshot):
            workload = int(ended.pod_workload[pod])
            pods_by_workload.setdefault(workload if workload >= 0 else -1 - pod, []).append(pod)
    for workload, pods in pods_by_workload.items():
        subject = f"Pod {ended.pods[pods[0]].key}"
        if workload >= 0:
            owner = ended.workloads[workload]
            subject = f"{owner.kind} {owner.namespace}/{owner.name}"
        counts = Counter(_reason(ended.pods[pod]) for pod in pods).most_common()
        reasons = ", ".join(f"{number} {reason}" for reason, number in counts[:_MOST_REASONS])
        more = ", ..." if len(counts) > _MOST_REASONS else ""
        age = f" older than {duration_text(rule.above)}" if rule.above else ""
        yield Finding(
            code="CNF008",
            subject=subject,
            cost=0.0,
            message=f"{count_text(len(pods), 'pod')}{age} failed ({reasons}{more}); nothing is "
            "moved "
            "for it",
        )


def _matches_rule(rule: Failed, pod: Pod, snapshot: Snapshot) -> bool:
    made = pod.metadata.creationTimestamp
    if pod.metadata.deletionTimestamp is not None or made is None:
        return False
    if snapshot.taken - made <= rule.above:
        return False
    statuses = _statuses(pod, init=rule.initContainers)
    if rule.reasons is not None and set(rule.reasons).isdisjoint(_reasons(pod, statuses)):
        return False
    if rule.exitCodes is None:
        return True
    ended = [status.state.terminated for status in statuses if status.state]
    return any(
        container_state_terminated is not None
        and container_state_terminated.exitCode in rule.exitCodes
        for container_state_terminated in ended
    )


def _statuses(pod: Pod, *, init: bool) -> list[ContainerStatus]:
    before = pod.status.initContainerStatuses or [] if init else []
    return [*(pod.status.containerStatuses or ()), *before]


def _reasons(pod: Pod, statuses: list[ContainerStatus]) -> Iterator[str]:
    if pod.status.reason:
        yield pod.status.reason
    for status in statuses:
        if status.state and status.state.terminated and status.state.terminated.reason:
            yield status.state.terminated.reason
        if status.state and status.state.waiting:
            yield status.state.waiting.reason


def _reason(pod: Pod) -> str:
    """The reason to show: the pod's own first, then the first that is not the word for no fault."""
    reasons = list(_reasons(pod, _statuses(pod, init=True)))
    return next((reason for reason in reasons if reason != "Completed"), "without a reason")
