"""Each plugin of descheduler, and the policies of ours that say the same."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rescheduler.documents.fields import Strict
from rescheduler.policies.conversion import descheduler_arguments as args
from rescheduler.policies.conversion.draft import Draft
from rescheduler.policies.conversion.foreign_fields import seconds_text
from rescheduler.policies.conversion.utilization_plugins import high_utilization, low_utilization

HOSTNAME = "kubernetes.io/hostname"
_ONLY_FAILED = {"Failed", "Shutdown", "NodeAffinity", "UnexpectedAdmissionError"}
"""States that only pods have whose phase is Failed."""
_ENDED = {"Succeeded", "Completed"}

Build = Callable[[Any, Draft], Iterator[Draft]]
"""What the arguments of a plugin become. The draft has the pods and nodes that they select."""


@dataclass(frozen=True)
class ForeignPlugin:
    """One plugin. point: its extension point. kind, name: of its policy. becomes: for the page."""

    point: str
    arguments: type[Strict]
    kind: str
    name: str
    becomes: str
    build: Build
    old_params: tuple[str, ...] = ()
    """Mappings of its params in v1alpha1 whose fields are arguments by now."""


def _duplicates(_: args.RemoveDuplicatesArgs, draft: Draft) -> Iterator[Draft]:
    alone = {
        "topologyKey": HOSTNAME,
        "maxPerDomain": 1,
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["pod-template-hash", "controller-revision-hash"],
    }
    yield draft.variant("", "Spread", constraints=[alone])


def _topology(arguments: args.TopologySpreadArgs, draft: Draft) -> Iterator[Draft]:
    soft = arguments.includeSoftConstraints or "ScheduleAnyway" in (arguments.constraints or ())
    yield draft.variant("", "Spread", constraints="FromPods" if soft else "HardFromPods")


def _anti_affinity(_: args.InterPodAntiAffinityArgs, draft: Draft) -> Iterator[Draft]:
    yield draft.variant("", "Conformity", podAntiAffinity=True)


def _affinity(arguments: args.ViolatingNodeAffinityArgs, draft: Draft) -> Iterator[Draft]:
    rule = {
        name: f"{name}DuringSchedulingIgnoredDuringExecution" in arguments.nodeAffinityType
        for name in ("required", "preferred")
    }
    yield draft.variant("", "Conformity", nodeAffinity=rule)


def _taints(arguments: args.NodeTaintsArgs, draft: Draft) -> Iterator[Draft]:
    soft = ["PreferNoSchedule"] if arguments.includePreferNoSchedule else []
    rule: dict[str, Any] = {"effects": ["NoSchedule", *soft]}
    rule |= {"only": arguments.includedTaints} if arguments.includedTaints else {}
    rule |= {"ignore": arguments.excludedTaints} if arguments.excludedTaints else {}
    if not arguments.includedTaints:
        draft.remark(
            "descheduler also counts the taints that Kubernetes sets, as on a cordoned node. Here "
            "they count only where `only` names them: a second policy with `only: "
            "[node.kubernetes.io/unschedulable]` moves pods off cordoned nodes."
        )
    yield draft.variant("", "Conformity", nodeTaints=rule)


def _restarts(arguments: args.TooManyRestartsArgs, draft: Draft) -> Iterator[Draft]:
    rule: dict[str, Any] = {"atLeast": arguments.podRestartThreshold}
    rule |= {"initContainers": True} if arguments.includingInitContainers else {}
    rule |= {"states": arguments.states} if arguments.states else {}
    yield draft.variant("", "Conformity", restarts=rule)


def _failed_rule(seconds: int | None, *, init: bool | None) -> dict[str, Any]:
    return {"above": seconds_text(seconds or 0)} | ({"initContainers": True} if init else {})


def _lifetime(arguments: args.PodLifeTimeArgs, draft: Draft) -> Iterator[Draft]:
    states = [*(arguments.states or ()), *(arguments.podStatusPhases or ())]
    seconds, init = arguments.maxPodLifeTimeSeconds, arguments.includingInitContainers
    running = [state for state in states if state not in _ONLY_FAILED | _ENDED]
    failed = [state for state in states if state in _ONLY_FAILED]
    spec: dict[str, Any] = {}
    if running or not states:
        spec["lifetime"] = {"above": seconds_text(seconds or 1)}
        spec["lifetime"] |= {"initContainers": True} if init else {}
        spec["lifetime"] |= {"states": running} if running else {}
    if failed:
        spec["failed"] = _failed_rule(seconds, init=init)
        reasons = [state for state in failed if state != "Failed"]
        spec["failed"] |= {"reasons": reasons} if "Failed" not in failed else {}
        spec["failed"] |= {"exitCodes": arguments.exitCodes} if arguments.exitCodes else {}
    if set(states) & _ENDED:
        ended = ", ".join(state for state in states if state in _ENDED)
        draft.remark(
            f"Pods in state {ended} have ended: nothing can be placed better. Kubernetes removes "
            "them (ttlSecondsAfterFinished of Jobs, --terminated-pod-gc-threshold)."
        )
    if spec:
        yield draft.variant("", "Conformity", **spec)


def _report_failed(arguments: args.RemoveFailedPodsArgs, draft: Draft) -> Iterator[Draft]:
    rule = _failed_rule(arguments.minPodLifetimeSeconds, init=arguments.includingInitContainers)
    rule |= {"reasons": arguments.reasons} if arguments.reasons else {}
    rule |= {"exitCodes": arguments.exitCodes} if arguments.exitCodes else {}
    yield draft.variant("", "Conformity", failed=rule)


PLUGINS: dict[str, ForeignPlugin] = {
    "LowNodeUtilization": ForeignPlugin(
        "balance",
        args.LowNodeUtilizationArgs,
        "Allocation",
        "low-node-utilization",
        "Allocation; Utilization with metricsUtilization",
        low_utilization,
        ("nodeResourceUtilizationThresholds",),
    ),
    "HighNodeUtilization": ForeignPlugin(
        "balance",
        args.HighNodeUtilizationArgs,
        "Allocation",
        "high-node-utilization",
        "Allocation with `strategy: Pack`",
        high_utilization,
        ("nodeResourceUtilizationThresholds",),
    ),
    "RemoveDuplicates": ForeignPlugin(
        "balance",
        args.RemoveDuplicatesArgs,
        "Spread",
        "duplicates",
        "Spread over `kubernetes.io/hostname` with `maxPerDomain: 1`",
        _duplicates,
        ("removeDuplicates",),
    ),
    "RemovePodsViolatingTopologySpreadConstraint": ForeignPlugin(
        "balance",
        args.TopologySpreadArgs,
        "Spread",
        "topology-spread",
        "Spread with `constraints: HardFromPods`, or `FromPods`",
        _topology,
    ),
    "RemovePodsViolatingInterPodAntiAffinity": ForeignPlugin(
        "deschedule",
        args.InterPodAntiAffinityArgs,
        "Conformity",
        "pod-anti-affinity",
        "Conformity with `podAntiAffinity`",
        _anti_affinity,
    ),
    "RemovePodsViolatingNodeAffinity": ForeignPlugin(
        "deschedule",
        args.ViolatingNodeAffinityArgs,
        "Conformity",
        "node-affinity",
        "Conformity with `nodeAffinity`",
        _affinity,
    ),
    "RemovePodsViolatingNodeTaints": ForeignPlugin(
        "deschedule",
        args.NodeTaintsArgs,
        "Conformity",
        "node-taints",
        "Conformity with `nodeTaints`",
        _taints,
    ),
    "RemovePodsHavingTooManyRestarts": ForeignPlugin(
        "deschedule",
        args.TooManyRestartsArgs,
        "Conformity",
        "too-many-restarts",
        "Conformity with `restarts`",
        _restarts,
        ("podsHavingTooManyRestarts",),
    ),
    "PodLifeTime": ForeignPlugin(
        "deschedule",
        args.PodLifeTimeArgs,
        "Conformity",
        "pod-lifetime",
        "Conformity with `lifetime`",
        _lifetime,
        ("podLifeTime",),
    ),
    "RemoveFailedPods": ForeignPlugin(
        "deschedule",
        args.RemoveFailedPodsArgs,
        "Conformity",
        "failed-pods",
        "Conformity with `failed`, which reports them",
        _report_failed,
        ("failedPods",),
    ),
}
