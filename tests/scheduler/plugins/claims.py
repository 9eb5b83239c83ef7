"""Claims of volumes."""

from typing import Any

import msgspec

from rescheduler.kube.storage import PersistentVolumeClaim


def claim(name: str, *, phase: str = "Bound", modes: Any = ("ReadWriteOnce",)) -> Any:
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"volumeName": f"pv-{name}", "accessModes": list(modes)},
            "status": {"phase": phase},
        },
        PersistentVolumeClaim,
    )
