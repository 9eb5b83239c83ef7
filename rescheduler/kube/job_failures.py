"""What a Job makes of a pod that was evicted, by its podFailurePolicy.

Source: matchPodFailurePolicy in pkg/controller/job/pod_failure_policy.go.
"""

from collections.abc import Mapping
from typing import Any

from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.containers import all_containers

_KILLED = (143, 137)
"""How containers end that do not handle SIGTERM, or not in time: 128 + 15 and 128 + 9."""
_PASSED = ("PodScheduled", "Initialized")
"""Conditions that a pod which runs has long had, and that are not kept."""
_ENDED = {"DisruptionTarget": "True", "Ready": "False", "ContainersReady": "False"}
"""Of a pod that the Eviction API has ended; the API server sets the first one."""
_EITHER = "PodReadyToStartContainers"
"""Which is True until the kubelet has taken the pod's sandbox down."""


def ignores_eviction(policy: Mapping[str, Any] | None, pod: Pod) -> bool:
    """Whether the pod, if evicted, does not count as a failure: the first rule that matches.

    Rules about exit codes are checked for both ways in which a signal ends a container. One that
    ignores must match for certain: of several containers one may end with 0, which no rule sees.
    Any other rule is taken to match where it may, as one does that is about nothing that we know.
    """
    rules = (policy or {}).get("rules") or ()
    return all(_action_of_rules(rules, code, pod) == "Ignore" for code in _KILLED)


def _action_of_rules(rules: Any, code: int, pod: Pod) -> str:
    """The action of the first rule that matches; a pod that none matches counts as failed."""
    alone = sum(1 for _ in all_containers(pod.spec)) == 1
    conditions = dict.fromkeys(_PASSED, "True")
    conditions |= {
        condition.type: condition.status for condition in pod.status.conditions or ()
    } | _ENDED
    for rule in rules:
        certain = rule.get("action") == "Ignore"
        exits, patterns = rule.get("onExitCodes"), rule.get("onPodConditions")
        if exits is not None:
            listed = code in (exits.get("values") or ())
            matches = listed if exits.get("operator") == "In" else not listed
            matches = matches and (alone or not certain or not exits.get("containerName"))
        elif patterns:
            wanted = [
                (pattern.get("type"), pattern.get("status") or "True") for pattern in patterns
            ]
            matches = any(
                conditions.get(kind) == status or (kind == _EITHER and not certain)
                for kind, status in wanted
            )
        else:
            matches = not certain
        if matches:
            return str(rule.get("action"))
    return "Count"
