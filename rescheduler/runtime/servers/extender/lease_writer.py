"""Writes the extender's Lease: its table, and when a scheduler last called it."""

import threading
from collections.abc import Callable, Sequence

from rescheduler.actions.steering.extender_lease import LASTS, ExtenderLease
from rescheduler.model.errors import ActionError
from rescheduler.model.moves.steering_entry import SteeringEntry
from rescheduler.runtime.logs import logger
from rescheduler.runtime.servers.extender.extender_answers import Answers, LatestAdvice
from rescheduler.runtime.servers.open_entries import OpenEntries

_EVERY = LASTS / 3
_PAUSE = 0.1
"""Seconds between two writes, so that a table that changes all the time is not answered so."""


class Showing:
    """Writes the extender's Lease in its own thread: when table or data change, and every 10 s."""

    def __init__(
        self, lease: ExtenderLease, entries: OpenEntries, answers: Answers, identity: str
    ) -> None:
        self.problem = ""
        self._lease, self._entries, self._answers = lease, entries, answers
        self._identity = identity
        self._news = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def replace_and_show(
        self, replace: Callable[[Sequence[SteeringEntry], str], None]
    ) -> Callable[[Sequence[SteeringEntry], str], None]:
        """What takes over a table, and has it shown at once."""

        def tell(entries: Sequence[SteeringEntry], version: str) -> None:
            replace(entries, version)
            self._news.set()

        return tell

    def know(self, data: LatestAdvice | None) -> None:
        """Take over what the policies say; that there is data, or none any more, shows at once."""
        changed = (data is None) != (self._answers.known is None)
        self._answers.known = data
        if changed:
            self._news.set()

    def start(self) -> None:
        """Show from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Show no more; what was shown counts for half a minute."""
        self._stop.set()
        self._news.set()

    def show(self) -> None:
        """Write once; a failure is kept as the problem, and said once."""
        problem = ""
        try:
            # Without data it keeps no pod to the nodes that the table names.
            version = "" if self._answers.known is None else self._entries.version
            problem = self._lease.show(version, self._answers.asked, self._identity)
        except ActionError as error:
            problem = error.sentence
        if problem and problem != self.problem:
            logger().error("who acts does not see this extender", error=problem)
        self.problem = problem

    def _run(self) -> None:
        while not self._stop.is_set():
            self._news.clear()
            self.show()
            self._stop.wait(_PAUSE)
            self._news.wait(_EVERY)
