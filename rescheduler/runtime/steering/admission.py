"""Answers the API server about pods that are being created: admission.k8s.io/v1 AdmissionReview."""

import base64
from typing import Any

import msgspec

from rescheduler.kube.objects import ObjectMeta
from rescheduler.kube.steered import steered_affinity
from rescheduler.runtime.steering.claims import Claims


class _Spec(msgspec.Struct, frozen=True):
    affinity: dict[str, Any] | None = None


class _Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Request(msgspec.Struct, frozen=True):
    uid: str
    namespace: str = ""
    dryRun: bool | None = None
    object: _Pod | None = None


class _Review(msgspec.Struct, frozen=True):
    request: _Request


_review = msgspec.json.Decoder(_Review)


def answer(claims: Claims, body: bytes) -> bytes:
    """The review with our response: always allowed, and a patch where the table has an entry.

    Raises:
        ValueError: it is no AdmissionReview of a pod.
    """
    request = _review.decode(body).request
    response: dict[str, Any] = {"uid": request.uid, "allowed": True}
    pod = request.object
    if pod is not None:
        intent = claims.take(
            pod.metadata,
            request.uid,
            namespace=request.namespace or pod.metadata.namespace,
            looks=bool(request.dryRun),
        )
        if intent is not None:
            affinity = steered_affinity(
                pod.spec.affinity, intent.hostnames, require=intent.strength == "Require"
            )
            # `add` replaces what is there (RFC 6902, 4.1).
            patch = [{"op": "add", "path": "/spec/affinity", "value": affinity}]
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(msgspec.json.encode(patch)).decode()
            response["auditAnnotations"] = {"plan": intent.plan, "strength": intent.strength}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return msgspec.json.encode(review)
