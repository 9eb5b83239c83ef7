"""Answers the API server about pods that are being created: admission.k8s.io/v1 AdmissionReview."""

import base64
from typing import Any

import msgspec

from rescheduler.actions.steering.steering_format import SEEN, SEEN_BY
from rescheduler.kube.objects import ObjectMeta
from rescheduler.kube.pods.steered_affinity import steered_affinity
from rescheduler.runtime.servers.open_entries import OpenEntries
from rescheduler.steering.means.webhook import WebhookMeans


class _Spec(msgspec.Struct, frozen=True):
    affinity: dict[str, Any] | None = None


class _Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Resource(msgspec.Struct, frozen=True):
    resource: str = "pods"


class _Request(msgspec.Struct, frozen=True):
    uid: str
    resource: _Resource = msgspec.field(default_factory=_Resource)
    namespace: str = ""
    dryRun: bool | None = None
    object: _Pod | None = None


class _Review(msgspec.Struct, frozen=True):
    request: _Request


def answer(entries: OpenEntries, body: bytes) -> bytes:
    """The review with our response: always allowed, and a patch where there is something to say.

    A pod gets the affinity that its entry of the table asks for. A dry run of an update of the
    table gets the version that we go by, which shows that the API server asks us and what we know.

    Raises:
        ValueError: it is no AdmissionReview of a pod or of the table.
    """
    try:
        request = msgspec.json.decode(body, type=_Review).request
    except RecursionError as error:  # not worth the time of others that are made now
        raise ValueError("it nests too deeply") from error
    response: dict[str, Any] = {"uid": request.uid, "allowed": True}
    if request.object is not None and request.resource.resource == "configmaps":
        if request.dryRun:
            _patch(
                response,
                "/metadata/annotations",
                _seen_annotations(request.object.metadata, entries.version),
            )
    elif request.object is not None:
        _steer(response, request, request.object, entries)
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return msgspec.json.encode(review)


def _steer(response: dict[str, Any], request: _Request, pod: _Pod, entries: OpenEntries) -> None:
    entry = entries.take(
        pod.metadata,
        request.uid,
        namespace=request.namespace or pod.metadata.namespace,
        looks=bool(request.dryRun),
    )
    if entry is not None:
        affinity = steered_affinity(
            pod.spec.affinity, entry.hostnames, require=entry.strength == "Require"
        )
        _patch(response, "/spec/affinity", affinity)
        response["auditAnnotations"] = {"plan": entry.plan, "strength": entry.strength}


def _seen_annotations(table: ObjectMeta, version: str) -> dict[str, str]:
    return {**(table.annotations or {}), SEEN: version, f"{SEEN_BY}{WebhookMeans.name}": version}


def _patch(response: dict[str, Any], path: str, value: Any) -> None:
    """`add` replaces what is there (RFC 6902, 4.1)."""
    patch = [{"op": "add", "path": path, "value": value}]
    response["patchType"] = "JSONPatch"
    response["patch"] = base64.b64encode(msgspec.json.encode(patch)).decode()
