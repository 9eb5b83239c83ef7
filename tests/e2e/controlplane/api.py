"""A small, fast client of the API server for tests: plain dicts in, plain dicts out."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import requests
from requests.adapters import HTTPAdapter

from rescheduler.kube.nesting import decode_json

Manifest = dict[str, Any]
_WORKERS = 16
_MERGE = "application/merge-patch+json"


class ApiError(Exception):
    """The API server said no: its code, reason and message."""

    def __init__(self, method: str, path: str, response: requests.Response) -> None:
        try:
            self.status: Manifest = response.json()
        except ValueError:
            self.status = {"message": response.text[:500]}
        self.code = response.status_code
        self.reason = str(self.status.get("reason", ""))
        super().__init__(f"{method} {path}: {self.code} {self.status.get('message')}")


@dataclass(frozen=True)
class Resource:
    """One row of the API server's discovery: how a kind is spelled in a path."""

    prefix: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """The path of a collection, or of one object where `name` is given."""
        parts = [self.prefix]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name is not None:
            parts.append(name)
        return "/".join(parts)


class Api:
    """Speaks to one API server as one user; safe to share between threads."""

    def __init__(self, server: str, token: str, authority: Path) -> None:
        """server: `https://127.0.0.1:port`; authority: PEM file that it is checked by."""
        self.server = server
        self.token = token
        self.authority = authority
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = str(authority)
        self._session.headers["Authorization"] = f"Bearer {token}"
        # On loopback the packing costs more than it saves.
        self._session.headers["Accept-Encoding"] = "identity"
        self._session.mount("https://", HTTPAdapter(pool_connections=1, pool_maxsize=_WORKERS * 2))
        self._lock = Lock()
        self._resources: dict[str, dict[str, Resource]] = {}

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> Any:
        """One request, decoded; ApiError for every answer of 400 and above."""
        response = self._session.request(
            method,
            self.server + path,
            data=None if body is None else msgspec.json.encode(body),
            params=params,
            headers={"Content-Type": content_type},
            timeout=60,
        )
        if response.status_code >= 400:
            raise ApiError(method, path, response)
        if response.headers.get("Content-Type", "").startswith("application/json"):
            return decode_json(response.content, Any)
        return response.text

    def watch(self, path: str, version: str) -> Iterator[bytes]:
        """The events of a collection since a resourceVersion, a JSON line each.

        Ends when the API server ends it (minutes); then list again.
        """
        params = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
        with self._session.get(
            self.server + path, params=params, stream=True, timeout=(5, 600)
        ) as response:
            if response.status_code >= 400:
                raise ApiError("WATCH", path, response)
            yield from (line for line in response.iter_lines(chunk_size=None) if line)

    def resources(self, api_version: str) -> dict[str, Resource]:
        """The kinds of one apiVersion, from discovery, read once."""
        with self._lock:
            if api_version not in self._resources:
                prefix = "/apis/" if "/" in api_version else "/api/"
                answer = self.request("GET", prefix + api_version)
                self._resources[api_version] = {
                    row["kind"]: Resource(
                        prefix + api_version,
                        row["name"],
                        row["namespaced"],
                        frozenset(row["verbs"]),
                    )
                    for row in answer["resources"]
                    if "/" not in row["name"]
                }
            return self._resources[api_version]

    def resource(self, api_version: str, kind: str) -> Resource:
        """How `kind` is spelled in paths; KeyError names a kind that the server does not have.

        A kind that this version of its API does not have yet is looked for in the beta before it.
        """
        found = self.resources(api_version).get(kind)
        return found or self.resources(f"{api_version}beta1")[kind]

    def path(self, manifest: Manifest) -> str:
        """The path of one object; an object without a namespace lives in `default`."""
        metadata = manifest["metadata"]
        resource = self.resource(manifest["apiVersion"], manifest["kind"])
        return resource.path(metadata.get("namespace", "default"), metadata["name"])

    def create(self, manifest: Manifest) -> Manifest:
        """POST one object; a node's or PV's status is created with it."""
        resource = self.resource(manifest["apiVersion"], manifest["kind"])
        path = resource.path(manifest["metadata"].get("namespace", "default"))
        return dict(self.request("POST", path, _as_served(manifest, resource)))

    def create_all(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """POST many objects at once, answers in the order given."""
        return self.parallel(self.create, manifests)

    def apply(self, manifest: Manifest) -> Manifest:
        """Create the object, or replace it where it exists."""
        try:
            return self.create(manifest)
        except ApiError as error:
            if error.code != 409:
                raise
        path = self.path(manifest)
        version = self.request("GET", path)["metadata"]["resourceVersion"]
        metadata = {**manifest["metadata"], "resourceVersion": version}
        resource = self.resource(manifest["apiVersion"], manifest["kind"])
        body = _as_served({**manifest, "metadata": metadata}, resource)
        return dict(self.request("PUT", path, body))

    def read(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Manifest:
        """One object by name."""
        return dict(
            self.request("GET", self.resource(api_version, kind).path(namespace, name)),
        )

    def items(
        self, api_version: str, kind: str, namespace: str | None = None, **params: Any
    ) -> list[Manifest]:
        """All objects of a kind, in one namespace or in all; params as labelSelector."""
        path = self.resource(api_version, kind).path(namespace)
        items = self.request("GET", path, params=params)["items"]
        # A list names its kind once, for all; with it an item can be sent back.
        return [{"apiVersion": api_version, "kind": kind, **item} for item in items]

    def patch(self, manifest: Manifest, change: Any, subresource: str = "") -> Manifest:
        """Merge `change` into the object (JSON merge patch: None removes a key)."""
        path = self.path(manifest) + (f"/{subresource}" if subresource else "")
        return dict(self.request("PATCH", path, change, content_type=_MERGE))

    def delete(self, manifest: Manifest, grace: int | None = None) -> None:
        """DELETE one object; one that is gone already is no error."""
        self.delete_path(self.path(manifest), grace)

    def delete_path(self, path: str, grace: int | None = None) -> None:
        """DELETE by path; what is gone already is no error."""
        params = {} if grace is None else {"gracePeriodSeconds": grace}
        try:
            self.request("DELETE", path, params=params)
        except ApiError as error:
            if error.code != 404:
                raise

    def evict(self, pod: Manifest) -> int:
        """Evict through `policy/v1` with the pod's UID as precondition; the answer's HTTP code."""
        metadata = pod["metadata"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "deleteOptions": {"preconditions": {"uid": metadata["uid"]}},
        }
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction"
        try:
            self.request("POST", path, body)
        except ApiError as error:
            return error.code
        return 201

    def parallel(self, action: Any, items: Iterable[Any]) -> list[Any]:
        """`action(item)` for every item on a few threads; the first error is raised."""
        with ThreadPoolExecutor(_WORKERS) as pool:
            return list(pool.map(action, items))


def _as_served(manifest: Manifest, resource: Resource) -> Manifest:
    """The object in the version of its API that this server has."""
    version = resource.prefix.removeprefix("/apis/").removeprefix("/api/")
    return {**manifest, "apiVersion": version}
