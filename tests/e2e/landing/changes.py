"""What happens to pods that run: they are resized in place, and some come to their end."""

from random import Random
from typing import Any

from tests.e2e.controlplane.api import Api, Manifest

_SIZES = {"cpu": ("20m", "400m", "900m"), "memory": ("90Mi", "700Mi", "1200Mi")}


def change(api: Api, pods: list[Manifest], draw: Random) -> int:
    """Change about one pod in eight; answers how many."""
    changed = 0
    for pod in pods:
        main = pod["spec"]["containers"][0]
        asked = main["resources"].get("requests", {})
        sizes = {name: asked[name] for name in _SIZES if asked.get(name, "0") != "0"}
        chance = draw.random()
        if chance < 0.04 and not pod["metadata"].get("ownerReferences"):
            api.patch({"apiVersion": "v1", "kind": "Pod", **pod}, _ENDED, "status")
        elif chance < 0.12 and sizes and _may_be_resized(pod):
            _resize(api, pod, sizes, draw)
        else:
            continue
        changed += 1
    return changed


def _may_be_resized(pod: Manifest) -> bool:
    resources = pod["spec"]["containers"][0]["resources"]
    plain = set(resources.get("requests", {})) <= set(_SIZES) and "claims" not in resources
    return plain and "resources" not in pod["spec"]


_ENDED = {"status": {"phase": "Succeeded"}}


def _resize(api: Api, pod: Manifest, sizes: dict[str, str], draw: Random) -> None:
    """Ask for another size; the kubelet may have followed, be about to, or find it infeasible."""
    named = {"apiVersion": "v1", "kind": "Pod", **pod}
    wanted = {name: draw.choice(_SIZES[name]) for name in sizes}
    containers = [{"name": container["name"]} for container in pod["spec"]["containers"]]
    containers[0]["resources"] = {"requests": wanted}
    api.request(
        "PATCH",
        api.path(named) + "/resize",
        {"spec": {"containers": containers}},
        content_type="application/strategic-merge-patch+json",
    )
    follows = draw.choice(["not reported", "done", "before", "infeasible"])
    if follows == "not reported":
        return
    has = wanted if follows == "done" else sizes
    requests = {**pod["spec"]["containers"][0]["resources"]["requests"], **has}
    reported: dict[str, Any] = {
        "name": pod["spec"]["containers"][0]["name"],
        "image": "",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "allocatedResources": requests,
        "resources": {"requests": requests},
    }
    status: dict[str, Any] = {"containerStatuses": [reported]}
    if follows == "infeasible":
        condition = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
        status["conditions"] = [*pod["status"].get("conditions", []), condition]
    api.patch(named, {"status": status}, "status")
