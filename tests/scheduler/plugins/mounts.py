"""Pods that mount claims."""

from typing import Any


def mounts(*names: str) -> dict[str, Any]:
    return {
        "volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    }
