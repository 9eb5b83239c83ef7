"""Events on a pod and on its owner, so that `kubectl describe` shows what happened and why.

What concerns a whole policy is reported on the ConfigMap with our state.

Best effort: an Event that cannot be written is counted, and nothing else comes of it.

Source: staging/src/k8s.io/api/events/v1/types.go.
"""

import re
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from rescheduler.actions.api_call import Api, call
from rescheduler.actions.lease import micro_time
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan import MoveResult, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG, UNREPLACED

_GOALS = {code: reason.event for code, reason in CATALOG.items() if reason.event}
_NOTE_BYTES = 1024
_LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_OBJECT = re.compile(
    r"(?<![\w./-])(?:[A-Z]\w*/|(?:[A-Z]\w*|pod) )?"
    rf"(?P<namespace>{_LABEL})/{_LABEL}(?:\.{_LABEL})*(?![\w/])"
)
"""An object as messages name it: `namespace/name`, maybe after its kind."""
_API_VERSIONS = {
    "Pod": "v1",
    "ReplicationController": "v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
}


class EventWriter:
    """Writes two Events for each thing that happened to a move, and one for each to a policy."""

    def __init__(
        self,
        api: Api,
        *,
        instance: str,
        now: Callable[[], datetime],
        describe: Callable[[PlannedMove, MoveResult], str],
        timeout: float = 5.0,
        state: str = "rescheduler/rescheduler-state",
        reason_text: Callable[[MoveReason], str],
    ) -> None:
        """instance: which process writes. now: the API server's time. timeout: seconds.

        describe: says in a sentence what has become of a move. reason_text: a reason in words.
        state: `namespace/name` of the ConfigMap with our state.
        """
        self.failures = 0
        """How many Events could not be written."""
        self._api = api
        self._instance = instance
        self._now = now
        self._describe = describe
        self._timeout = timeout
        self._state = state
        self._reason_text = reason_text

    def __call__(self, move: PlannedMove, result: MoveResult, plan: str) -> None:
        """Report what has become of this move of that plan."""
        reason = reason_of(move, result)
        good = result.result == "evicted" and reason in _GOOD
        reasons = [self._reason_text(one) for one in move.reasons]
        text = note(move, self._describe(move, result), plan, reasons)
        pod, owner = move.pod, move.owner
        self._write(reason, good, text, _object_reference("Pod", pod.name, pod.uid, move), move)
        if owner.kind in _API_VERSIONS:
            regarding = _object_reference(owner.kind, owner.name, owner.uid, move)
            self._write(reason, good, text, regarding, move)

    def report_demotion(self, problem: Problem) -> None:
        """Report that a policy was demoted to Audit."""
        namespace, _, name = self._state.partition("/")
        regarding = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": namespace}
        about = {
            "action": "Measure",
            "reason": "PolicyDemoted",
            "type": "Warning",
            "note": _cut(f"{problem.code} {problem.message}"),
            "regarding": regarding,
        }
        self._post(namespace, name, about)

    def _write(
        self, reason: str, good: bool, text: str, regarding: dict[str, str], move: PlannedMove
    ) -> None:
        about = {
            "action": "Evict",
            "reason": reason,
            "type": "Normal" if good else "Warning",
            "note": text,
            "regarding": regarding,
        }
        if move.source:
            about["related"] = {"apiVersion": "v1", "kind": "Node", "name": move.source}
        self._post(move.pod.namespace, regarding["name"], about)

    def _post(self, namespace: str, name: str, about: dict[str, Any]) -> None:
        body: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            # The name must be unique, and a DNS name of at most 253 characters.
            "metadata": {"name": f"{name[:200]}.{uuid.uuid4().hex[:16]}", "namespace": namespace},
            "eventTime": micro_time(self._now()),
            "reportingController": "rescheduler.io/rescheduler",
            "reportingInstance": self._instance[:128],
            **about,
        }
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self.failures += not call(self._api, "POST", path, body, timeout=self._timeout).ok


_GOOD = {*_GOALS.values(), "Reschedule", "ReplacementReady"}


def _object_reference(kind: str, name: str, uid: str, move: PlannedMove) -> dict[str, str]:
    return {
        "apiVersion": _API_VERSIONS[kind],
        "kind": kind,
        "name": name,
        "namespace": move.pod.namespace,
        "uid": uid,
    }


def reason_of(move: PlannedMove, result: MoveResult) -> str:
    """The Event's reason: what the move is for, or what went wrong with it."""
    if result.result == "refused":
        return "EvictionRefused"
    if result.result == "unknown":
        return "EvictionUnknown"
    if result.code == "ACT019":
        return "PodStillTerminating"
    if result.code in UNREPLACED:
        return "ReplacementLate"
    if result.code == "ACT012":
        return "ReplacementReturned"
    if result.readySeconds is not None:
        return "ReplacementReady"
    for reason in move.reasons:
        if reason.code in _GOALS:
            return _GOALS[reason.code]
    return "Reschedule"


def note(move: PlannedMove, sentence: str, plan: str, reasons: Sequence[str]) -> str:
    """The sentence with the plan and what the move is for, at most 1 KiB of UTF-8."""
    parts = [sentence, f"Plan {plan}{':' if reasons else '.'}", *reasons]
    return _cut(_own_alone(" ".join(parts), move.pod.namespace))


def _own_alone(text: str, namespace: str) -> str:
    """The text without names in other namespaces, which readers of Events may not know."""

    def replace_foreign(match: re.Match[str]) -> str:
        if match["namespace"] == namespace or match["namespace"].isdigit():
            return match[0]
        return "something in another namespace"

    return _OBJECT.sub(replace_foreign, text)


def _cut(text: str) -> str:
    """As much of it as fits into an Event, without half a character at the end."""
    return text.encode()[:_NOTE_BYTES].decode(errors="ignore")
