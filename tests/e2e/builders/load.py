"""The live load of pods and nodes, declared in annotations that the exporter reads."""

from dataclasses import dataclass

PREFIX = "load.test/"
QUEUE = PREFIX + "queue"
TALKS_TO = PREFIX + "talks-to"
"""On a pod: the workload of its namespace to which all goes that it transmits."""

TALKS_TO_ZONE = PREFIX + "talks-to-zone"
"""On a pod: the zone to which all goes that it transmits."""


@dataclass(frozen=True)
class Load:
    """What one pod really uses while it runs, wherever it runs.

    cpu: cores. memory, gpu_memory: bytes (gpu_memory per GPU). gpu: busy share of each of its
    GPUs, 0-1. transmit, receive: bytes per second. queue: requests that wait
    for it, which only its own exporter tells. None: not declared, the exporter takes 0
    (gpu_memory: a tenth of the device).
    """

    cpu: float | None = None
    memory: float | None = None
    gpu: float | None = None
    gpu_memory: float | None = None
    transmit: float | None = None
    receive: float | None = None
    queue: float | None = None

    def annotations(self) -> dict[str, str]:
        """For a pod template, or for a running pod's annotations."""
        return _annotations(
            {
                "cpu": self.cpu,
                "memory": self.memory,
                "gpu": self.gpu,
                "gpu-memory": self.gpu_memory,
                "network-tx": self.transmit,
                "network-rx": self.receive,
                "queue": self.queue,
            }
        )


@dataclass(frozen=True)
class BaseLoad:
    """What a node uses without any pod: the system's own share. Units as in Load.

    speed: bytes per second of the node's network card (None: 10 Gbit/s).
    least_cpu: cores that are busy in any case: something outside of pods takes what they leave.
    """

    cpu: float | None = None
    memory: float | None = None
    transmit: float | None = None
    receive: float | None = None
    speed: float | None = None
    least_cpu: float | None = None

    def annotations(self) -> dict[str, str]:
        """For a node."""
        return _annotations(
            {
                "base-cpu": self.cpu,
                "base-memory": self.memory,
                "base-network-tx": self.transmit,
                "base-network-rx": self.receive,
                "network-speed": self.speed,
                "least-cpu": self.least_cpu,
            }
        )


def _annotations(values: dict[str, float | None]) -> dict[str, str]:
    return {PREFIX + key: repr(value) for key, value in values.items() if value is not None}
