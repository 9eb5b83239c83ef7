"""Shows those who act which table the extender goes by, and when a scheduler asked it last."""

import threading
from collections.abc import Callable, Sequence

from rescheduler.actions.steering.extender_lease import LASTS, ExtenderLease
from rescheduler.model.errors import ActionError
from rescheduler.model.moves.steering import Entry
from rescheduler.runtime.logs import logger
from rescheduler.runtime.servers.entries import Entries
from rescheduler.runtime.servers.extender.answers import Answers, Known

_EVERY = LASTS / 3
_PAUSE = 0.1
"""Seconds between two writes, so that a table that changes all the time is not answered so."""


class Showing:
    """Writes the extender's Lease in its own thread: when table or data change, and every 10 s."""

    def __init__(
        self, lease: ExtenderLease, entries: Entries, answers: Answers, identity: str
    ) -> None:
        self.problem = ""
        self._lease, self._entries, self._answers = lease, entries, answers
        self._identity = identity
        self._news = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def told(
        self, replace: Callable[[Sequence[Entry], str], None]
    ) -> Callable[[Sequence[Entry], str], None]:
        """What takes over a table, and has it shown at once."""

        def tell(entries: Sequence[Entry], version: str) -> None:
            replace(entries, version)
            self._news.set()

        return tell

    def know(self, known: Known | None) -> None:
        """Take over what the policies say; that there is data, or none any more, shows at once."""
        changed = (known is None) != (self._answers.known is None)
        self._answers.known = known
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
