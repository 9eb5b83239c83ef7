"""Pods that cannot be read any more, each by itself, right when its eviction gets no answer."""

import random
from collections import Counter
from collections.abc import Callable

from tests.simulation.objects import Object
from tests.simulation.process import Process
from tests.simulation.universe import Universe

LOST = "ACT023"
_UNANSWERED = ("killed", "killed after", "reply lost", "hang", "503", "504")
_SHARE, _ODD_SHARE = 0.6, 0.3


class Hiding:
    """A storm in which many a pod cannot be read any more once its eviction got no answer."""

    def __init__(
        self, weather: Callable[[Process, str, str], str | None], chance: random.Random
    ) -> None:
        self.weather = weather
        self.chance = chance

    def __call__(self, process: Process, phase: str, path: str) -> str | None:
        """The weather of a process."""
        fault = self.weather(process, phase, path)
        unanswered = fault in _UNANSWERED and path.endswith("/eviction")
        if unanswered and self.chance.random() < _SHARE:
            pod = path.removesuffix("/eviction")
            if self.chance.random() < _ODD_SHARE:
                turn_odd(process.universe, pod)
            else:
                process.universe.refused.add(pod)
                process.universe.reached["a pod may not be read"] += 1
        return fault


def turn_odd(universe: Universe, path: str) -> None:
    """The pod has a field that cannot be decoded, and all others in its namespace are left alone.

    It keeps what tells whether it was evicted.
    """
    parts = path.split("/")
    pod: Object | None = universe.cluster.objects.get(("pods", parts[4], parts[6]))
    if pod is not None:
        pod["spec"] = {**pod["spec"], "overhead": "nonsense"}
        universe.cluster.bump(pod)
        universe.reached["a pod turns odd"] += 1


def reveal(universe: Universe) -> None:
    """Every pod can be read again."""
    universe.refused.clear()
    for pod in universe.cluster.of("pods"):
        if "overhead" in pod["spec"]:
            pod["spec"] = {k: v for k, v in pod["spec"].items() if k != "overhead"}
            universe.cluster.bump(pod)


def count_unread(universe: Universe, reached: Counter[str]) -> None:
    """How many moves were given up as nobody could read their pods."""
    state = universe.state()
    moves = [] if state is None else state.history.moves
    reached[LOST] += sum(move.code == LOST for move in moves)
