"""What the kernel says of this machine, noted while an exporter is scraped."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path

_EVERY = 0.25
PROC = Path("/proc")


@dataclass(frozen=True)
class Moment:
    """time: seconds since the epoch. idle: seconds of all CPUs. sent: bytes by each interface."""

    time: float
    idle: float
    memory: float
    load: float
    sent: dict[str, int]


class Machine:
    """Notes moments until it is stopped. cpus, memory: what the machine has."""

    def __init__(self) -> None:
        """Begin."""
        stat = (PROC / "stat").read_text().splitlines()
        self.cpus = sum(line.startswith("cpu") for line in stat) - 1
        self.memory = _memory("MemTotal")
        self._moments: list[Moment] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._note, daemon=True)
        self._thread.start()

    def _note(self) -> None:
        while not self._over.is_set():
            self._moments.append(_now())
            self._over.wait(_EVERY)

    def stop(self) -> None:
        """End."""
        self._over.set()
        self._thread.join()

    def since(self, start: float) -> list[Moment]:
        """The moments from a time on."""
        return [moment for moment in list(self._moments) if moment.time >= start]

    def spans(self, start: float, seconds: float) -> list[tuple[Moment, Moment]]:
        """The first and last moment of every span of about so many seconds since a time."""
        moments = self.since(start)
        return [
            (first, last)
            for first in moments
            for last in moments
            if abs(last.time - first.time - seconds) < 2 * _EVERY
        ]


def _now() -> Moment:
    cpu = (PROC / "stat").read_text().splitlines()[0].split()
    lines = [line.partition(":") for line in (PROC / "net" / "dev").read_text().splitlines()[2:]]
    return Moment(
        time=time.time(),
        # user_hz is 100 wherever Linux runs today.
        idle=float(cpu[4]) / 100,
        memory=_memory("MemAvailable"),
        load=float((PROC / "loadavg").read_text().split()[0]),
        sent={name.strip(): int(rest.split()[8]) for name, _, rest in lines},
    )


def _memory(name: str) -> float:
    for line in (PROC / "meminfo").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1]) * 1024
    raise LookupError(name)
