"""What kube-scheduler writes about its scores at `--vmodule=schedule_one=10`."""

import re
from dataclasses import dataclass, field
from pathlib import Path

OPTIONS = ("--vmodule=schedule_one=10",)

_ATTEMPT = re.compile(rb'"Attempting to schedule pod" pod="([^"]+)"')
_SCORE = re.compile(
    rb'"Plugin scored node for pod" pod="([^"]+)" plugin="([^"]+)" node="([^"]+)" score=(-?\d+)'
)
_TOTAL = re.compile(
    rb'"Calculated node\'s final score for pod" pod="([^"]+)" node="([^"]+)" score=(-?\d+)'
)


@dataclass
class Attempt:
    """One try at one pod.

    points: plugin -> node -> score times weight. totals: node -> their sum, in the order in which
    the scheduler held the nodes. Both are empty where fewer than two nodes were feasible.
    """

    pod: str
    points: dict[str, dict[str, int]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)


class ScoreLog:
    """Reads on where it stopped."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._rest = b""
        self._latest: list[bytes] = []

    def close(self) -> None:
        """Read no more."""
        self._file.close()

    def skip(self) -> None:
        """Forget all that was written until now."""
        self._file.seek(0, 2)
        self._rest = b""

    def attempts(self) -> list[Attempt]:
        """What was written since the last call."""
        text = self._rest + self._file.read()
        *lines, self._rest = text.split(b"\n")
        self._latest = lines
        found: list[Attempt] = []
        for line in lines:
            if match := _SCORE.search(line):
                pod, plugin, node, score = (part.decode() for part in match.groups())
                if found and found[-1].pod == pod:
                    found[-1].points.setdefault(plugin, {})[node] = int(score)
            elif match := _TOTAL.search(line):
                pod, node, score = (part.decode() for part in match.groups())
                if found and found[-1].pod == pod:
                    found[-1].totals[node] = int(score)
            elif match := _ATTEMPT.search(line):
                found.append(Attempt(match[1].decode()))
        return found

    def lines_of(self, pod: str) -> bytes:
        """What the last call has read of this pod, from its first line to its last."""
        named = [number for number, line in enumerate(self._latest) if pod.encode() in line]
        return b"\n".join(self._latest[named[0] : named[-1] + 1]) + b"\n" if named else b""
