"""Admission reviews, as the API server asks for them."""

from typing import Any

import msgspec

from tests.runtime.servers.entries import metadata

AFFINITY = {"podAntiAffinity": {"unknown": 1}}


def review(uid: str = "r1", **more: Any) -> bytes:
    pod = {
        "metadata": msgspec.to_builtins(metadata(uid="", name="")),
        "spec": {"affinity": AFFINITY},
    }
    request = {"uid": uid, "namespace": "web", "object": pod, "unknown": {}, **more}
    return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "request": request})
