"""Evictions, through the Eviction API only, and what each of its answers means.

A pod is named by its UID, so that a fresh pod of the same name is never hit. Its own grace period
holds. A request is sent once; whether a lost one took effect is found out by UID.

Source: pkg/registry/core/pod/storage/eviction.go.
"""

import re
from dataclasses import dataclass
from typing import Any

from rescheduler.actions.api_call import Api, ApiResponse, call
from rescheduler.model.moves.plan import PlannedMove, Result
from rescheduler.wire.object_paths import collection_path, object_path

CALL_TIMEOUT = 15.0
"""Seconds. The server may retry conflicts on a budget's status for about ten."""


@dataclass(frozen=True, slots=True)
class EvictionAnswer:
    """What the API server said of one eviction.

    retry_after: seconds after which one more try makes sense, or None.
    stops: whether the server wants all requests later, so that the run should end. otherwise: of an
    unknown result: the code of the refusal that it was, where what is there now shows no effect.
    alone: of an unknown result: whether only this one pod cannot be read, so that others can be
    requested.
    """

    result: Result
    code: str
    message: str
    retry_after: float | None = None
    stops: bool = False
    otherwise: str = ""
    alone: bool = False


def evict(
    api: Api,
    move: PlannedMove,
    annotations: dict[str, str],
    *,
    dry_run: bool = False,
    timeout: float = CALL_TIMEOUT,
) -> EvictionAnswer:
    """Ask the API server to evict the pod of this move, by name and UID.

    annotations: reach admission webhooks and the audit log; they are not kept on the pod.
    dry_run: whether nothing is done, and rights, admission and budgets answer all the same.
    """
    path, body = eviction(move, annotations, dry_run=dry_run)
    return eviction_answer(call(api, "POST", path, body, timeout=timeout))


def eviction(
    move: PlannedMove, annotations: dict[str, str], *, dry_run: bool = False
) -> tuple[str, dict[str, Any]]:
    """The path and the body of the request.

    A pod on no node is meant only as long as it is exactly as it was read, so Pending. A dry run
    says so in both, so that a proxy that drops queries makes no eviction of it.
    """
    pod = move.pod
    exact = {} if move.source else {"resourceVersion": pod.resourceVersion}
    metadata = {"name": pod.name, "namespace": pod.namespace, "annotations": annotations}
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": metadata,
        "deleteOptions": {"preconditions": {"uid": pod.uid, **exact}},
    }
    path = f"{object_path(collection_path('/api/v1', pod.namespace, 'pods'), pod.name)}/eviction"
    if not dry_run:
        return path, body
    body["deleteOptions"]["dryRun"] = ["All"]
    return f"{path}?dryRun=All", body


def annotations(move: PlannedMove, plan: str, fence: int) -> dict[str, str]:
    """What admission and audit should know of this eviction."""
    return {
        "rescheduler.io/requested-by": "rescheduler",
        "rescheduler.io/plan": plan,
        "rescheduler.io/policies": ",".join(sorted(n for n, gain in move.gains.items() if gain)),
        "rescheduler.io/reasons": ",".join(reason.code for reason in move.reasons),
        "rescheduler.io/source": move.source,
        "rescheduler.io/gain": f"{move.gain:.4g}",
        "rescheduler.io/fence": str(fence),
    }


_DENIED = re.compile(
    r"admission webhook \".*\" denied the request|ValidatingAdmissionPolicy '.*' denied request"
)
_OURS = "ValidatingAdmissionPolicy 'rescheduler"
"""How the fence of deploy/ answers, which tells of a whole namespace."""


def admission_denial(answer: ApiResponse) -> EvictionAnswer | None:
    """That admission refused this one request, whatever status it chose; None where it did not.

    Source: ToStatusErr in apiserver pkg/admission/plugin/webhook/errors/statuserror.go, and
    plugin/policy/validating/dispatcher.go.
    """
    if answer.status < 400 or not _DENIED.search(answer.message) or _OURS in answer.message:
        return None
    return EvictionAnswer("refused", "ACT008", answer.message)


def eviction_answer(answer: ApiResponse) -> EvictionAnswer:
    """The meaning of an answer to an eviction.

    A proxy may repeat a request whose answer was lost: that the pod is gone, or is another one, may
    then be what the first one did.
    """
    said = answer.message
    if (refused := admission_denial(answer)) is not None:
        return refused
    match answer.status:
        case status if 200 <= status < 300:
            return EvictionAnswer("evicted", "ACT001", said)
        case 404:
            return EvictionAnswer("unknown", "ACT009", said, otherwise="ACT002")
        case 409:
            return EvictionAnswer("unknown", "ACT009", said, otherwise="ACT003")
        case 429:
            return _too_many(answer)
        case 401 | 403:
            return EvictionAnswer("refused", _forbidden(answer), said)
        case 500 if "more than one PodDisruptionBudget" in said:
            return EvictionAnswer("refused", "ACT006", said)
        case status if 400 <= status < 500 and status != 408:
            return EvictionAnswer("refused", "ACT008", said)
    # No answer, a timeout, any other failure of the server: it may have been done all the same.
    return EvictionAnswer("unknown", "ACT009", said)


def _forbidden(answer: ApiResponse) -> str:
    """What forbids it: the status of a PodDisruptionBudget, the namespace's end, or our rights.

    Kubernetes 1.37 names the budget as the cause; before, it is what the answer is about.
    """
    causes, kind = _causes(answer), _details(answer).get("kind")
    if "DisruptionBudget" in causes or kind == "poddisruptionbudget":
        return "ACT004"
    return "ACT008" if "NamespaceTerminating" in causes else "ACT007"


def _details(answer: ApiResponse) -> dict[str, Any]:
    """What the answer is about. Anybody who stands before the API server has bodies of its own."""
    details = answer.body.get("details")
    return details if isinstance(details, dict) else {}


def _causes(answer: ApiResponse) -> dict[str, str]:
    """The causes that the answer names, with their messages."""
    causes = _details(answer).get("causes")
    entries = (
        [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []
    )
    return {str(cause.get("reason")): str(cause.get("message", "")) for cause in entries}


def _too_many(answer: ApiResponse) -> EvictionAnswer:
    budget = _causes(answer).get("DisruptionBudget")
    if budget is None:
        # API priority and fairness.
        return EvictionAnswer("refused", "ACT005", answer.message, stops=True)
    message = f"{answer.message} {budget}".strip()
    if answer.retry_after:
        # The budget's controller has not caught up; it will in a few seconds.
        return EvictionAnswer("refused", "ACT005", message, retry_after=answer.retry_after)
    return EvictionAnswer("refused", "ACT004", message)
