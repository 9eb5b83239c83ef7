"""One named object of our own (the Lease, the state), read and replaced by compare-and-swap."""

from typing import Any

from rescheduler.actions.api_call import Api, ApiResponse, ServerClock, call
from rescheduler.model.errors import ActionError, RightMissing
from rescheduler.wire.object_paths import object_path

MANIFESTS = "deploy/kustomize"

_TIMEOUT = 5.0
"""Seconds for a request."""


def config_map(where: str) -> dict[str, Any]:
    """An empty ConfigMap to create. where: its `namespace/name`."""
    namespace, name = where.split("/")
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


class StoredObject:
    """An object that we read and write, mostly one that nobody else should write.

    Every replacement carries the resourceVersion that was read, so that of two writers
    one gets a conflict.
    """

    def __init__(
        self,
        api: Api,
        collection: str,
        name: str,
        *,
        clock: ServerClock,
        makes_namespace: bool = True,
    ) -> None:
        """collection: the path of the kind in its namespace.

        makes_namespace: whether the namespace is created where it is missing.
        """
        self.api = api
        self.collection = collection
        self.name = name
        self._clock = clock
        self._makes_namespace = makes_namespace

    @property
    def path(self) -> str:
        """The object's path on the API server."""
        return f"{self.collection}/{self.name}"

    @property
    def _named(self) -> str:
        """The same for a request; raises ObjectUnreadable where no object can have this name."""
        return object_path(self.collection, self.name)

    def read(self) -> dict[str, Any] | None:
        """The object, or None where there is none.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        answer = self._call("GET", self._named)
        if answer.status == 404:
            return None
        return self._accept_answer(answer, "get")

    def replace(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The object as stored, or None if it has changed or gone since `body` was read.

        Raises:
            ActionError: no answer (it may or may not have been stored), or a refusal.
        """
        return self._send_write("PUT", self._named, body, "update")

    def patch(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The object after this merge patch, or None if it has changed or gone since it was read.

        body: holds the resourceVersion, and the UID, of what was read.

        Raises:
            ActionError: no answer (it may or may not have been stored), or a refusal.
        """
        return self._send_write("PATCH", self._named, body, "patch")

    def dry_run(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """What `replace` would store, after admission; nothing is.

        Raises:
            ActionError: no answer, or a refusal.
        """
        return self._send_write("PUT", f"{self._named}?dryRun=All", body, "update")

    def _send_write(
        self, method: str, path: str, body: dict[str, Any], verb: str
    ) -> dict[str, Any] | None:
        answer = self._call(method, path, body)
        return None if answer.status in (404, 409) else self._accept_answer(answer, verb)

    def create(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The object as stored, or None if somebody else was first; makes the namespace if it may.

        Raises:
            ActionError: no answer, or no right to create what is missing.
        """
        answer = self._call("POST", self.collection, body)
        if answer.status == 404:
            self._create_namespace()
            answer = self._call("POST", self.collection, body)
        if answer.status == 409:
            return None
        if answer.status == 403:
            raise ActionError(
                f"{self.path} does not exist, and we may not create it: {answer.message}",
                f"apply {MANIFESTS}, which creates it, or gives the right to.",
            )
        return self._accept_answer(answer, "create")

    def _create_namespace(self) -> None:
        name = self.collection.partition("/namespaces/")[2].partition("/")[0]
        if not self._makes_namespace:
            raise ActionError(
                f"namespace {name} does not exist",
                f"apply {MANIFESTS}, which creates it.",
            )
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        answer = self._call("POST", "/api/v1/namespaces", body)
        if answer.ok or answer.status == 409:
            return
        raise ActionError(
            f"namespace {name} does not exist, and we could not create it: {answer.message}",
            f"apply {MANIFESTS}, which creates it.",
        )

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> ApiResponse:
        answer = call(self.api, method, path, body, timeout=_TIMEOUT)
        self._clock.hear(answer.date)
        return answer

    def _accept_answer(self, answer: ApiResponse, verb: str) -> dict[str, Any]:
        if answer.ok:
            return answer.body
        hint = "check whether the API server is reachable and healthy."
        if answer.status in (401, 403):
            hint = f"give the service account the right to {verb} {self.path}; see {MANIFESTS}."
        if answer.status == 403:
            raise RightMissing(answer.message, hint)
        raise ActionError(answer.message, hint)
