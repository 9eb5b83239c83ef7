"""Reads a pod and what it depends on right before its eviction; skips slow namespaces."""

from collections import Counter
from collections.abc import Callable

from rescheduler.acting.actor import Actor
from rescheduler.acting.halting import Halted
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ObjectLate, ObjectUnreadable
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem

READ_IN = 4.5
"""Seconds in which it has to be read, so that the intent can be stored before it is too old."""
MOST_LATE = 3
"""So many namespaces in a row with a late answer mean that the API server itself is slow."""
MOST_OF_NAMESPACE = 2
"""Pods of one namespace in a row that came late: it is left alone then."""


class PodReader:
    """Reads what one pod after the other depends on, and leaves a namespace alone that is late."""

    def __init__(self, actor: Actor, ready: Callable[[], None], history: History) -> None:
        """actor: what reads. ready: is called before each read; raises Halted.

        history: remembers which namespaces are slow, so that later runs begin with others.
        """
        self.actor = actor
        self.ready = ready
        self._history = history
        self._late: set[str] = set()
        self._times = Counter[str]()

    def now(self) -> float:
        """Seconds on the steady clock."""
        return self.actor.steady()

    def read(self, namespace: str, name: str) -> Snapshot | Problem:
        """The pod with what it depends on; or why it must be left alone (ACT024).

        Raises:
            Halted: nothing may be evicted; or it is late, as it was in other namespaces right
                before.
            SourceError: the API server cannot be read.
        """
        self.ready()
        if self._times[namespace] >= MOST_OF_NAMESPACE:
            text = (
                f"{namespace}/{name}: {MOST_OF_NAMESPACE} pods of its namespace came late before."
            )
            return problem("ACT024", text)
        began = self.now()
        try:
            fresh = self.actor.reread(namespace, name)
        except ObjectLate as error:
            return self._count_late(namespace, name, error.message)
        except ObjectUnreadable as error:
            return unreadable_pod(namespace, name, error)
        late = self.late(namespace, name, self.now() - began)
        if late is not None:
            return late
        self._late.clear()
        del self._times[namespace]
        return fresh

    def late(self, namespace: str, name: str, age: float) -> Problem | None:
        """Why what was begun to be read so many seconds ago is too old, or None. Raises: Halted."""
        if age <= READ_IN:
            return None
        said = f"It took {age:.1f} s to read, and may take {READ_IN:.1f} s."
        return self._count_late(namespace, name, said)

    def _count_late(self, namespace: str, name: str, said: str) -> Problem:
        self._late.add(namespace)
        self._times[namespace] += 1
        if self._times[namespace] >= MOST_OF_NAMESPACE:
            self._history.slow[namespace] = self.actor.clock()
        if len(self._late) >= MOST_LATE:
            self._history.slow.update(dict.fromkeys(self._late, self.actor.clock()))
            among = ", ".join(sorted(self._late))
            raise Halted(
                "ACT016", f"What pods of {among} depend on came late, one after the other."
            )
        return problem("ACT024", f"{namespace}/{name}: {said}")


def unreadable_pod(namespace: str, name: str, error: ObjectUnreadable) -> Problem:
    """Why this pod is left alone."""
    return problem("ACT024", f"{namespace}/{name}: {error.sentence}")
