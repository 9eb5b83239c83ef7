"""Which kinds an API server serves, from its discovery documents."""

from typing import TypeVar

import msgspec

from rescheduler.kube.nesting import decode_json
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.sources.kubernetes.transport import Connection

_GROUPS = "/apis"


class _Version(msgspec.Struct):
    groupVersion: str


class _Group(msgspec.Struct):
    versions: list[_Version]


class _Groups(msgspec.Struct, tag_field="kind", tag="APIGroupList"):
    groups: list[_Group]


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct, tag_field="kind", tag="APIResourceList"):
    resources: list[_Resource]


_Document = TypeVar("_Document", _Groups, _Resources)


class Discovery:
    """What is requested only if a kind cannot be listed, so that "no such kind" is never guessed.

    Every authenticated account may read it (ClusterRole system:discovery).
    """

    def __init__(self, connection: Connection, until: float) -> None:
        """until: time.monotonic() at which to give up."""
        self._connection = connection
        self._until = until
        self._versions: set[str] | None = None
        self._resources: dict[str, set[str]] = {}

    def serves(self, path: str) -> bool:
        """Whether there is the resource of a list's path, `/apis/GROUP/VERSION/RESOURCE`.

        Raises:
            ClusterUnavailable: the API server does not say.
        """
        _, _, group, version, resource = path.split("/")
        return self._has(f"{group}/{version}", resource)

    def other_versions(self, path: str) -> list[str]:
        """The other versions of its group in which there is that resource.

        Raises:
            ClusterUnavailable: the API server does not say.
        """
        _, _, group, version, resource = path.split("/")
        others = {
            group_version
            for group_version in self._served_versions()
            if group_version.partition("/")[0] == group
        }
        served = [
            group_version
            for group_version in others - {f"{group}/{version}"}
            if self._has(group_version, resource)
        ]
        return sorted(group_version.partition("/")[2] for group_version in served)

    def _served_versions(self) -> set[str]:
        if self._versions is None:
            groups = self._read(_GROUPS, _Groups).groups
            self._versions = {version.groupVersion for one in groups for version in one.versions}
        return self._versions

    def _has(self, name: str, resource: str) -> bool:
        if name not in self._served_versions():
            return False
        if name not in self._resources:
            resources = self._read(f"{_GROUPS}/{name}", _Resources).resources
            self._resources[name] = {api_resource.name for api_resource in resources}
        return resource in self._resources[name]

    def _read(self, path: str, document: type[_Document]) -> _Document:
        answer = self._connection.fetch(path, until=self._until)
        if answer.status >= 300:
            raise ClusterUnavailable(
                f"{path} answered {answer.status}: {answer.message}",
                "the account lacks ClusterRole system:discovery, or a proxy answered.",
            )
        try:
            return decode_json(answer.body, document)
        except msgspec.DecodeError as error:
            raise ClusterUnavailable(
                f"{path} does not say what the API server serves: {error}",
                "a proxy answered instead of the API server.",
            ) from error
