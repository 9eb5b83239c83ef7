"""Deletes a Workload of Kueue, so that Kueue stops its job and queues it again.

The request names the UID and the version that was read, so that it holds for that Workload as it
was and for no other. It is sent once. See `kube.kueue` for what Kueue does then.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec

from rescheduler.actions.api_call import ApiResponse
from rescheduler.actions.evict import EvictionAnswer, admission_denial
from rescheduler.actions.steering.soft_taints import REVIEWS
from rescheduler.kube.gang_marks import KUEUE, GangObject
from rescheduler.kube.kueue import KUEUE_VERSIONS
from rescheduler.model.errors import ActionError, ClusterUnavailable, ObjectUnreadable
from rescheduler.model.moves.restart_cost import RESTARTED
from rescheduler.wire.object_paths import collection_path, name_selector, object_path

_VERSIONS = tuple(f"{KUEUE}/{version}" for version in KUEUE_VERSIONS)
RIGHT = {"verb": "delete", "group": KUEUE, "resource": "workloads"}


class _List(msgspec.Struct):
    items: list[GangObject]


class KueueWorkloads:
    """The Workloads of a cluster."""

    def __init__(self, call: Callable[[str, str, dict[str, Any] | None], ApiResponse]) -> None:
        """call: sends one request, once: its method, its path, its body."""
        self._call = call
        self._versions = _VERSIONS

    def may_delete(self) -> bool:
        """Whether we may delete Workloads.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": {},
            "spec": {"resourceAttributes": RIGHT},
        }
        answer = self._call("POST", REVIEWS, review)
        if not answer.ok:
            raise ActionError(answer.message, "check whether the API server can be reached.")
        return (answer.body.get("status") or {}).get("allowed") is True

    def read(self, namespace: str, name: str) -> GangObject | None:
        """The Workload as it is now, or None where there is none; it needs the right to list only.

        Raises:
            ObjectUnreadable: the kind is not served, the answer is no list of Workloads, or there
                can be none of this name.
            ClusterUnavailable: no answer, or a refusal.
        """
        for version in self._versions:
            path = (
                f"{_path(version, namespace)}?fieldSelector={quote(name_selector(name), safe='')}"
            )
            answer = self._call("GET", path, None)
            if answer.status != 404:
                self._versions = (
                    version,
                    *(other_version for other_version in _VERSIONS if other_version != version),
                )
                break
        if answer.status == 404:
            raise ObjectUnreadable(
                f"Workload {namespace}/{name} cannot be read: {answer.message}",
                "Kueue was uninstalled, or does not serve this version any more.",
            )
        if not answer.ok:
            raise ClusterUnavailable(answer.message, "check whether the API server can be reached.")
        try:
            workloads = msgspec.convert(answer.body, _List).items
        except msgspec.ValidationError as error:
            raise ObjectUnreadable(
                f"Workload {namespace}/{name} cannot be decoded: {error}", "report the Workload."
            ) from error
        workload = next(
            (gang_object for gang_object in workloads if gang_object.metadata.name == name), None
        )
        if workload is not None:
            workload.apiVersion = version
        return workload

    def restart(self, workload: GangObject) -> EvictionAnswer:
        """Delete the Workload, if it is still as it was read.

        A 404 or 409 does not tell what was done: see `evict.deletion_answer`.
        """
        metadata = workload.metadata
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": metadata.uid, "resourceVersion": metadata.resourceVersion},
        }
        version = workload.apiVersion or self._versions[0]
        path = object_path(_path(version, metadata.namespace), metadata.name)
        return deletion_answer(self._call("DELETE", path, body))


def _path(version: str, namespace: str) -> str:
    return collection_path(f"/apis/{version}", namespace, "workloads")


def deletion_answer(answer: ApiResponse) -> EvictionAnswer:
    """The meaning of an answer to a deletion, in ours."""
    said = answer.message
    if (refused := admission_denial(answer)) is not None:
        return refused
    match answer.status:
        case status if 200 <= status < 300:
            return EvictionAnswer("evicted", "ACT001", f"{RESTARTED} {said}")
        case 401 | 403:
            return EvictionAnswer("refused", "ACT022", said)
        case 404 | 409:
            return EvictionAnswer("unknown", "ACT009", said, otherwise="ACT021")
        case 429:
            return EvictionAnswer("refused", "ACT005", said, stops=True)
        case status if 400 <= status < 500 and status != 408:
            return EvictionAnswer("refused", "ACT008", said)
    return EvictionAnswer("unknown", "ACT009", said)
