"""Adds and removes soft taints (PreferNoSchedule) on nodes while a replacement is scheduled.

A node's taints are one list without an owner for each entry, so every write holds only for the
version of the node that was read.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from rescheduler.actions.stored_object import StoredObject
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.errors import ActionError, LockLost
from rescheduler.model.moves.taint_value import TaintValue, read, taint_value
from rescheduler.model.problem import Problem

NODES = "/api/v1/nodes"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PATCHING = {"verb": "patch", "group": "", "resource": "nodes"}
_ATTEMPTS = 5
"""Kubelets write their nodes every few seconds, so that some writes meet another one."""


class SoftTaints:
    """The taints of nodes, written under the lock."""

    def __init__(self, stored: Callable[[str, str], StoredObject]) -> None:
        """stored: the object of that collection and name; nodes are in no namespace."""
        self._stored = stored
        self._unanswered: dict[str, TaintValue] = {}
        """By node the taint that may be under way yet: it must meet another version of the node."""

    def may_taint(self) -> bool:
        """Whether we may taint nodes.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        return is_allowed(self._stored(REVIEWS, ""), "SelfSubjectAccessReview", PATCHING)

    def add(self, node: str, fence: int, until: datetime) -> Problem | None:
        """Taint the node; None once it is stored, or why that must not be (STR014).

        Raises:
            LockLost: somebody with a later fence has tainted it.
            ActionError: it could not be stored, or it is not known whether it was.
        """
        mark = TaintValue(fence, until)
        self._unanswered[node] = mark
        problem = self._change(node, fence, _add_taint(mark))
        del self._unanswered[node]
        return problem

    def remove(self, node: str, fence: int, *, begins: bool = False) -> None:
        """Take our taint off the node; where there is none of ours, nothing is changed.

        Where setting it was not answered, it is set and taken off: what arrives later is too late.

        begins: whether the lock was just won, so that its writer, with whatever fence, is gone;
        one that is higher than ours is of a state that was lost.

        Raises:
            LockLost, ActionError: as `add`.
        """
        mark = self._unanswered.get(node)
        if mark is not None:
            self._change(node, fence, _add_taint(mark), begins=begins)
        self._change(node, fence, lambda taints: taints, begins=begins)
        self._unanswered.pop(node, None)

    def _change(
        self,
        node: str,
        fence: int,
        change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
        *,
        begins: bool = False,
    ) -> Problem | None:
        """Write the node's taints, from those of all others to what shall be there."""
        stored = self._stored(NODES, node)
        for _ in range(_ATTEMPTS):
            current = stored.read()
            if current is None:
                return Problem(code="STR014", message=f"node {node} is gone")
            before = (current.get("spec") or {}).get("taints") or []
            ours = next((taint for taint in before if _same_kind(taint)), None)
            mark = None if ours is None else read(str(ours.get("value") or ""))
            if ours is not None and mark is None:
                text = f"{SOFT_TAINT.key}={ours.get('value') or ''}:{SOFT_TAINT.effect}"
                said = f"node {node} bears a taint {text} that the rescheduler did not set"
                return Problem(code="STR014", message=said)
            if mark is not None and mark.fence > fence and not begins:
                raise LockLost(
                    f"node {node} was tainted with fence {mark.fence}, ours is {fence}",
                    "check for a second instance; this one stops.",
                )
            after = change([taint for taint in before if taint is not ours])
            if after == before:
                return None
            metadata = current.get("metadata") or {}
            pinned = {key: metadata.get(key) for key in ("uid", "resourceVersion")}
            # Null takes the field away; it is written only where nobody has written since.
            if stored.patch({"metadata": pinned, "spec": {"taints": after or None}}) is not None:
                return None
        raise ActionError(
            f"node {node} changed {_ATTEMPTS} times while its taints were written",
            "check who else writes it.",
        )


def _add_taint(mark: TaintValue) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda taints: [*taints, {**_KIND, "value": taint_value(mark)}]


def is_allowed(reviews: StoredObject, kind: str, attributes: dict[str, str], **of: Any) -> bool:
    """Whether a review of access allows it. of: whom, where it is not ourselves.

    Raises:
        ActionError: the API server does not answer, or refuses.
    """
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes, **of},
    }
    answer = reviews.create(review) or {}
    return (answer.get("status") or {}).get("allowed") is True


_KIND = {"key": SOFT_TAINT.key, "effect": SOFT_TAINT.effect}


def _same_kind(taint: dict[str, Any]) -> bool:
    """A node has one taint of a key and an effect.

    Source: validateNodeTaints in pkg/apis/core/validation/validation.go.
    """
    return (taint.get("key"), taint.get("effect")) == (SOFT_TAINT.key, SOFT_TAINT.effect)
