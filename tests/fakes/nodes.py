"""Nodes as the API server keeps them: read and patched, by those who may; and whether one may."""

import copy
import re
from typing import TYPE_CHECKING, Any

from tests.fakes.manners import Reply, status

if TYPE_CHECKING:
    from tests.fakes.world import World

_NODE = re.compile(r"^/api/v1/nodes/(?P<name>[^/]+)$")
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_OF_OTHERS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def answer(world: "World", method: str, path: str, body: dict[str, Any] | None) -> Reply | None:
    """The answer to a request for a node or about rights; None: it is for something else."""
    if path == _OF_OTHERS:
        spec = (body or {})["spec"]
        allowed = spec["user"] in world.tainters and spec["resourceAttributes"]["verb"] == "patch"
        return 201, {**(body or {}), "status": {"allowed": allowed}}, {}
    if path == _REVIEWS:
        asked = (body or {})["spec"]["resourceAttributes"]["resource"]
        known = {"nodes": world.may_taint, "workloads": world.kueue.may}
        allowed = known.get(asked, asked not in world.unseen)
        return 201, {**(body or {}), "status": {"allowed": allowed}}, {}
    found = _NODE.match(path)
    if found is None:
        return None
    key = ("nodes", "", found["name"])
    stored = world.objects.get(key)
    if stored is None:
        return status(404, "NotFound", f'nodes "{found["name"]}" not found')
    if method == "GET":
        return 200, copy.deepcopy(stored), {}
    if method != "PATCH":
        return status(405, "MethodNotAllowed", f"{method} is not allowed")
    if not world.may_taint:
        return status(403, "Forbidden", f'nodes "{found["name"]}" is forbidden')
    return _patch(world, key, stored, copy.deepcopy(body or {}))


def _patch(
    world: "World", key: tuple[str, str, str], stored: dict[str, Any], patch: dict[str, Any]
) -> Reply:
    """A JSON merge patch (RFC 7396), which holds for the version that it names."""
    for field in ("uid", "resourceVersion"):
        if patch["metadata"].get(field) not in (None, stored["metadata"][field]):
            return status(409, "Conflict", "the object has been modified")
    spec = {**stored["spec"], **patch["spec"]}
    spec = {name: value for name, value in spec.items() if value is not None}
    taints = [(taint["key"], taint["effect"]) for taint in spec.get("taints", ())]
    if len(taints) != len(set(taints)):
        return status(422, "Invalid", "taints must be unique by key and effect pair")
    return 200, copy.deepcopy(world.put(*key, {**stored, "spec": spec})), {}
