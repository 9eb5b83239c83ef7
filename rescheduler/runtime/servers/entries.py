"""Which new pod takes which entry of the table of replacements: each entry is taken once."""

import threading
from collections.abc import Callable, Iterable
from datetime import datetime

from rescheduler.kube.objects import ObjectMeta
from rescheduler.kube.pods.steered import template_hash
from rescheduler.model.moves.steering import Entry


class Entries:
    """The open entries, and the pods that have taken them. Safe to ask from many threads.

    The pods of one controller are fungible, so whichever comes first takes an entry; who asks
    again gets the same one.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.version = ""
        """The resourceVersion of the table as it was taken over last; "" without a table."""
        self._now = now
        self._lock = threading.Lock()
        self._open: dict[str, list[Entry]] = {}
        self._taken: dict[str, str] = {}

    def replace(self, entries: Iterable[Entry], version: str = "") -> None:
        """Take over the table as it is now; what was taken stays so as long as it is in there."""
        found: dict[str, list[Entry]] = {}
        for each in entries:
            found.setdefault(each.owner, []).append(each)
        there = {each.pod for some in found.values() for each in some}
        with self._lock:
            self._open, self.version = found, version
            self._taken = {entry: pod for entry, pod in self._taken.items() if entry in there}

    def take(
        self, metadata: ObjectMeta, pod: str, *, namespace: str, looks: bool = False
    ) -> Entry | None:
        """The entry for this pod, or None. pod: what tells it from every other one.

        looks: it is not made, so it leaves the entry for another.
        """
        owner = metadata.controller
        if owner is None or owner.uid not in self._open:
            return None
        now, template = self._now(), template_hash(metadata.labels)
        with self._lock:
            fitting = [
                each
                for each in self._open.get(owner.uid, ())
                if each.namespace == namespace
                and each.template == template
                and each.name in ("", metadata.name)
                and now < each.deadline
            ]
            for each in fitting:
                if self._taken.get(each.pod) == pod:
                    return each
            for each in fitting:
                if each.pod not in self._taken:
                    if not looks:
                        self._taken[each.pod] = pod
                    return each
        return None
