"""How long replacements took to be Ready, by workload, as the ledger tells of past moves."""

from collections import defaultdict
from statistics import median
from typing import NamedTuple

from rescheduler.model.moves.history import History


class Usual(NamedTuple):
    """The median, in seconds from the eviction until the replacement was Ready, of so many moves.

    None where no move tells it.
    """

    seconds: float | None
    moves: int


class ReadyTimes:
    """The times of one history; moves whose replacement never was Ready have none."""

    def __init__(self, history: History) -> None:
        self._times: dict[str, dict[str, float]] = defaultdict(dict)
        for move in history.moves:
            if move.state == "ready" and move.readySeconds is not None:
                self._times[move.workload][move.podUid] = move.readySeconds

    def usual(self, workload: str, *, but: str = "") -> Usual:
        """What is usual for the workload (by UID), without the move of the pod with UID `but`."""
        times_by_pod = self._times.get(workload, {})
        times = [seconds for pod, seconds in times_by_pod.items() if pod != but]
        return Usual(median(times) if times else None, len(times))
