"""What the manifests let an account do, and what a run of the program asks the API server for."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.deploy.manifests import overlay

VERSION = "/version"
"""Anybody may read it."""
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Right(NamedTuple):
    """A verb on the resources of an API group; "" as namespace or name: on all of them."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def covers(self, other: "Right") -> bool:
        """Whether it allows that too."""
        return (
            self[:3] == other[:3]
            and self.namespace in ("", other.namespace)
            and self.name in ("", other.name)
        )


def granted(name: str, account: str) -> set[Right]:
    """What an overlay lets the account do."""
    objects = overlay(name)
    roles = {
        (manifest["kind"], manifest["metadata"]["name"]): manifest
        for manifest in objects
        if "rules" in manifest
    }
    found: set[Right] = set()
    for binding in objects:
        if account in [subject["name"] for subject in binding.get("subjects", ())]:
            role = roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]
            found.update(rights_of(role, binding["metadata"].get("namespace", "")))
    return found


def rights_of(role: dict[str, Any], namespace: str) -> Iterator[Right]:
    """All that a Role or ClusterRole grants, one by one."""
    for rule in role["rules"]:
        for group in rule.get("apiGroups", ["URL"]):
            for resource in rule.get("resources") or rule["nonResourceURLs"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Right(group, resource, verb, namespace, name)


def asked(requests: Iterable[tuple[str, str]]) -> set[Right]:
    """The rights that these requests need, by method and path."""
    return {_needed(method, path.partition("?")[0]) for method, path in requests if path != VERSION}


def _needed(method: str, path: str) -> Right:
    root, *parts = path.strip("/").split("/")
    group, parts = ("", parts[1:]) if root == "api" else (parts[0], parts[2:])
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    name = parts[1] if len(parts) > 1 else ""
    verb = _VERBS.get(method) or ("get" if name else "list")
    return Right(group, "/".join([parts[0], *parts[2:]]), verb, namespace, name)
