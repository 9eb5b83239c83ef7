"""All pods as the API server last reported them, without asking again and again."""

import threading
from collections.abc import Callable
from typing import Any

import msgspec

from tests.e2e.controlplane.api import Api

Manifest = dict[str, Any]
_PATH = "/api/v1/pods"
_UNREADY = ("waiting for ephemeral volume controller", "is being deleted", "pod is not owner")


class PodWatch:
    """Follows the pods in a thread of its own; it ends with the process."""

    def __init__(self, api: Api) -> None:
        """List once, then watch."""
        self._api = api
        self._pods: dict[str, Manifest] = {}
        self._news = threading.Condition()
        self._ended: Exception | None = None
        answer = api.request("GET", _PATH)
        self._version = str(answer["metadata"]["resourceVersion"])
        for pod in answer["items"]:
            self._pods[pod["metadata"]["uid"]] = pod
        threading.Thread(target=self._follow, daemon=True).start()

    def pods(self) -> list[Manifest]:
        """The pods that are there, by namespace and name."""
        with self._news:
            known = list(self._pods.values())
        return sorted(
            known, key=lambda pod: (pod["metadata"]["namespace"], pod["metadata"]["name"])
        )

    def pod(self, uid: str) -> Manifest:
        """One pod; KeyError where it is not there."""
        with self._news:
            return self._pods[uid]

    def wait(self, met: Callable[[list[Manifest]], bool], seconds: float) -> bool:
        """Whether `met(pods)` came true in that time; it is asked at every change."""
        with self._news:
            return self._news.wait_for(
                lambda: met(list(self._pods.values())) or self._stop(), seconds
            )

    def _stop(self) -> bool:
        if self._ended is not None:
            raise RuntimeError("the watch of the pods has ended") from self._ended
        return False

    def _follow(self) -> None:
        try:
            while True:
                for line in self._api.watch(_PATH, self._version):
                    self._take(msgspec.json.decode(line))
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits
            with self._news:
                self._ended = error
                self._news.notify_all()

    def _take(self, event: Manifest) -> None:
        kind, found = event["type"], event["object"]
        if kind == "ERROR":
            raise RuntimeError(f"the watch of the pods failed: {found.get('message')}")
        self._version = str(found["metadata"]["resourceVersion"])
        if kind == "BOOKMARK":
            return
        with self._news:
            if kind == "DELETED":
                self._pods.pop(found["metadata"]["uid"], None)
            else:
                self._pods[found["metadata"]["uid"]] = found
            self._news.notify_all()


def bound(pod: Manifest) -> str:
    """The node of a pod, or ""."""
    return str(pod["spec"].get("nodeName") or "")


def refusal(pod: Manifest) -> str:
    """The scheduler's message where it tried this pod and found no node, or "".

    A pod whose own claim has not been made yet is not counted: it is tried again at once. So is one
    whose claim is still that of its predecessor of the same name.
    """
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            message = str(condition.get("message") or condition.get("reason") or "refused")
            return "" if unready(message) else message
    return ""


def unready(message: str) -> bool:
    """Whether the scheduler waits for the pod's own claim, which follows the pod."""
    return any(words in message for words in _UNREADY)


def answered(pod: Manifest) -> bool:
    """Whether the scheduler has decided about this pod."""
    return bool(bound(pod) or refusal(pod))
