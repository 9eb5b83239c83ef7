"""Pods of two containers."""

from typing import Any

import msgspec

from rescheduler.kube.objects import Pod


def container(name: str, restart: str | None = None, **requests: str) -> dict[str, Any]:
    return {"name": name, "restartPolicy": restart, "resources": {"requests": requests}}


def two(*, infeasible: bool = False, wide: Any = None, **status: Any) -> Pod:
    """One container that grows from 1 to 2 CPUs, and one that shrinks from 2 to 1."""
    reason = "Infeasible" if infeasible else "Deferred"
    return msgspec.convert(
        {
            "spec": {
                "containers": [container("a", cpu="2"), container("b", cpu="1")],
                "resources": wide,
            },
            "status": {
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
                "containerStatuses": [
                    {
                        "name": name,
                        "resources": {"requests": {"cpu": cpu}},
                        "allocatedResources": {"cpu": cpu},
                    }
                    for name, cpu in (("a", "1"), ("b", "2"))
                ],
                **status,
            },
        },
        Pod,
    )
