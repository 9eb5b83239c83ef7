"""What a Job makes of a pod that was evicted, by its podFailurePolicy.

Source: matchPodFailurePolicy in pkg/controller/job/pod_failure_policy.go.
"""

from collections.abc import Mapping
from typing import Any

_KILLED = (143, 137)
"""How containers end that do not handle SIGTERM, or not in time: 128 + 15 and 128 + 9."""
_CONDITIONS = {"DisruptionTarget": "True", "Ready": "False", "ContainersReady": "False"}
"""Of a pod that the Eviction API has ended; the API server sets the first one."""


def ignores_eviction(policy: Mapping[str, Any] | None) -> bool:
    """Whether an evicted pod does not count as a failure: the first rule that matches ignores it.

    Rules about exit codes are asked for either way in which a signal ends a container. A rule that
    is about nothing that we know may match.
    """
    rules = (policy or {}).get("rules") or ()
    return all(_decided(rules, code) == "Ignore" for code in _KILLED)


def _decided(rules: Any, code: int) -> str:
    """The action of the first rule that matches; a pod that none matches counts as failed."""
    for rule in rules:
        exits, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if exits is not None:
            listed = code in (exits.get("values") or ())
            matches = listed if exits.get("operator") == "In" else not listed
        elif conditions:
            matches = any(
                _CONDITIONS.get(each.get("type")) == (each.get("status") or "True")
                for each in conditions
            )
        else:
            matches = rule.get("action") != "Ignore"
        if matches:
            return str(rule.get("action"))
    return "Count"
