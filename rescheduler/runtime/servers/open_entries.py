"""Open entries of the table of replacements: each is taken by one new pod."""

import threading
from collections.abc import Callable, Iterable
from datetime import datetime

from rescheduler.kube.objects import ObjectMeta
from rescheduler.kube.pods.steered_affinity import template_hash
from rescheduler.model.moves.steering_entry import SteeringEntry


class OpenEntries:
    """The open entries, and the pods that have taken them. Safe to ask from many threads.

    The pods of one controller are fungible, so whichever comes first takes an entry; who asks
    again gets the same one.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.version = ""
        """The resourceVersion of the table as it was taken over last; "" without a table."""
        self._now = now
        self._lock = threading.Lock()
        self._open: dict[str, list[SteeringEntry]] = {}
        self._taken: dict[str, str] = {}

    def replace(self, entries: Iterable[SteeringEntry], version: str = "") -> None:
        """Take over the table as it is now; what was taken stays so as long as it is in there."""
        by_owner: dict[str, list[SteeringEntry]] = {}
        for entry in entries:
            by_owner.setdefault(entry.owner, []).append(entry)
        there = {entry.pod for some in by_owner.values() for entry in some}
        with self._lock:
            self._open, self.version = by_owner, version
            self._taken = {entry: pod for entry, pod in self._taken.items() if entry in there}

    def take(
        self, metadata: ObjectMeta, pod: str, *, namespace: str, looks: bool = False
    ) -> SteeringEntry | None:
        """The entry for this pod, or None. pod: what tells it from every other one.

        looks: it is not made, so it leaves the entry for another.
        """
        owner = metadata.controller
        if owner is None or owner.uid not in self._open:
            return None
        now, template = self._now(), template_hash(metadata.labels)
        with self._lock:
            fitting = [
                entry
                for entry in self._open.get(owner.uid, ())
                if entry.namespace == namespace
                and entry.template == template
                and entry.name in ("", metadata.name)
                and now < entry.deadline
            ]
            for entry in fitting:
                if self._taken.get(entry.pod) == pod:
                    return entry
            for entry in fitting:
                if entry.pod not in self._taken:
                    if not looks:
                        self._taken[entry.pod] = pod
                    return entry
        return None
