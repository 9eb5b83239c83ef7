"""One pod as the API server has it now: enough to see whether its eviction took effect.

Each field is read by itself, so that nothing else that is odd about a pod hides it. Three things
are distinguished: what the pod shows; that this pod alone cannot be read (`ObjectUnreadable`),
which holds nothing else; and that the API server, or the right to read pods, is not there
(`ClusterUnavailable`), which tells nothing of any pod.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import msgspec

from rescheduler.actions.api_call import ApiResponse
from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.pod_state import grace, grace_of
from rescheduler.model.errors import ClusterUnavailable, ObjectUnreadable
from rescheduler.planning.limits.guards import MOST_CLOCK_SKEW
from rescheduler.wire.object_paths import collection_path, name_selector, object_path

ANY_POD = "/api/v1/pods?limit=1"
"""Anybody who may ask this has the right to read pods: a refusal of one is about that one then, or
about its namespace, as anybody who lists that next finds out."""
_DISRUPTED = ("DisruptionTarget", "True", "EvictionByEvictionAPI")


@dataclass(frozen=True, slots=True)
class SeenPod:
    """What one pod shows of its eviction.

    born: when it was made; None where that cannot be read. leaving: whether it is being deleted, or
    bears the mark of an eviction. grace: how long its containers may take to end.
    """

    uid: str
    born: datetime | None
    leaving: bool
    grace: timedelta

    @classmethod
    def from_pod(cls, pod: Pod) -> "SeenPod":
        """The same of a pod that was read whole."""
        metadata, marked = pod.metadata, pod.condition(_DISRUPTED[0])
        evicted = marked and (marked.type, marked.status, marked.reason) == _DISRUPTED
        leaving = metadata.deletionTimestamp is not None or bool(evicted)
        return cls(metadata.uid, metadata.creationTimestamp, leaving, grace(pod))


def read_pod(get: Callable[[str], ApiResponse], namespace: str, name: str) -> SeenPod | None:
    """The pod as the API server has it now, or None where there is none.

    get: asks for this path, once.

    Raises:
        ObjectUnreadable: this pod may not be read though others may, perhaps only those of other
            namespaces, or has no UID that can be; or there can be none of this name.
        ClusterUnavailable: no answer, a refusal to read any pod, or an answer that is no pod.
    """
    collection = collection_path("/api/v1", namespace, "pods")
    answer = get(object_path(collection, name))
    if answer.status == 404:
        return None
    if answer.status == 403:
        return _read_by_list(get, collection, namespace, name)
    if not answer.ok:
        raise ClusterUnavailable(answer.message, "check whether the API server can be reached.")
    return _seen_pod(answer.body, namespace, name)


def _read_by_list(
    get: Callable[[str], ApiResponse], collection: str, namespace: str, name: str
) -> SeenPod | None:
    """The same by a list, which is another right, where the pod itself may not be read.

    Whether pods may be read at all is checked first, so that a refusal that has passed by then
    shows in the list.
    """
    _may_read_pods(get)
    answer = get(f"{collection}?fieldSelector={quote(name_selector(name), safe='')}")
    if answer.status == 403:
        raise ObjectUnreadable(
            f"pod {namespace}/{name} may not be read, though others may: {answer.message}",
            "find out which authorizer refuses this pod alone, and let it be read, or delete it.",
        )
    items = answer.body.get("items")
    if not answer.ok or not isinstance(items, list):
        said = answer.message if not answer.ok else f"{collection} answered no list of pods"
        raise ClusterUnavailable(said, "check whether the API server can be reached.")
    for item in items:
        if _text(_fields(item, "metadata"), "name") == name:
            return _seen_pod(item, namespace, name)
    return None


def _may_read_pods(get: Callable[[str], ApiResponse]) -> None:
    answer = get(ANY_POD)
    if answer.status == 403:
        raise ClusterUnavailable(
            f"no pod may be read: {answer.message}",
            "grant the right to list pods (see deploy/kustomize/base/reader.yaml).",
        )
    if not answer.ok:
        raise ClusterUnavailable(answer.message, "check whether the API server can be reached.")


def _seen_pod(item: Any, namespace: str, name: str) -> SeenPod:
    """Raises: as `read_pod`."""
    metadata = _fields(item, "metadata")
    if not metadata or item.get("kind", "Pod") != "Pod":
        raise ClusterUnavailable(
            f"pod {namespace}/{name}: the answer is no pod",
            "a proxy answered instead of the API server.",
        )
    uid = _text(metadata, "uid")
    if not uid:
        raise ObjectUnreadable(
            f"pod {namespace}/{name} cannot be decoded: it has no UID", "report or delete the pod."
        )
    try:
        born = msgspec.convert(metadata.get("creationTimestamp"), datetime | None)
    except msgspec.ValidationError:
        born = None
    leaving = metadata.get("deletionTimestamp") is not None or _is_disrupted(item)
    return SeenPod(uid, born, leaving, _grace(item))


def _is_disrupted(item: dict[str, Any]) -> bool:
    """Whether a condition says that it is evicted; one that cannot be read says nothing."""
    conditions = _fields(item, "status").get("conditions")
    return any(
        isinstance(condition, dict)
        and tuple(map(condition.get, ("type", "status", "reason"))) == _DISRUPTED
        for condition in (conditions if isinstance(conditions, list) else ())
    )


def _grace(item: dict[str, Any]) -> timedelta:
    seconds = _fields(item, "spec").get("terminationGracePeriodSeconds")
    return grace_of(seconds if type(seconds) is int else None)


def _fields(item: Any, name: str) -> dict[str, Any]:
    value = item.get(name) if isinstance(item, dict) else None
    return value if isinstance(value, dict) else {}


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def was_evicted(pod: SeenPod | None, uid: str) -> bool:
    """Whether this reading of the pod shows that an eviction of unknown outcome took effect."""
    return pod is None or pod.uid != uid or pod.leaving


def older(pod: SeenPod | None, uid: str, intended: datetime) -> bool:
    """Whether this is another pod than was meant, and was there before that was to go.

    Then it came before it too: a cache has answered that lags far behind, and its answer says
    nothing of the eviction.
    """
    if pod is None or pod.uid == uid:
        return False
    return pod.born is not None and pod.born < intended - MOST_CLOCK_SKEW
