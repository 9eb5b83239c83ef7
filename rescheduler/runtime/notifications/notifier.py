"""Tells receivers about cycles, in a thread of its own: no cycle waits for any of them."""

import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from rescheduler.model.moves.plan import Report, plan_in
from rescheduler.model.notice import Notice
from rescheduler.model.reasons import problem
from rescheduler.model.wording import count_text, verb_for
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.notifications import Receiver
from rescheduler.reporting.notice_bodies import notice_body
from rescheduler.reporting.notices import notices
from rescheduler.runtime.logs import logger
from rescheduler.runtime.notifications.notice_limits import NoticeLimits
from rescheduler.runtime.notifications.notice_posting import NotTaken, post_notice
from rescheduler.runtime.notifications.receiver_files import FilesUnusable, delivery_of

Counter = Callable[[str, str, str], None]
"""Counts a message by its receiver, its occasion and what became of it."""

_MOST_WAITING = 2
"""Reports that wait for those before them to be sent."""

_CHECK = 0.1
"""Seconds between two checks whether it is time to end."""


class Notifier:
    """Sends what is to be told of each report, one after the other."""

    def __init__(
        self,
        folder: Path,
        count: Counter = lambda _receiver, _occasion, _result: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """folder: holds the files of the receivers. clock: seconds that only go on."""
        self._folder = folder
        self._count = count
        self._clock = clock
        self._limits = NoticeLimits()
        self._receivers: list[Receiver] = []
        self._waiting: queue.Queue[tuple[Report, list[Receiver]]] = queue.Queue(_MOST_WAITING)
        self._closing = False
        self._thread: threading.Thread | None = None

    def keep_receivers(self, load: Callable[[], PolicySet]) -> Callable[[], PolicySet]:
        """What loads the policies for a cycle, so that its receivers are known here."""

        def load_policies() -> PolicySet:
            policies = load()
            self._receivers = list(policies.notifications.receivers)
            return policies

        return load_policies

    def notify(self, report: Report) -> None:
        """Tell the receivers of the latest policies; answers at once."""
        if not self._receivers:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="notifications")
            self._thread.start()
        try:
            self._waiting.put_nowait((report, self._receivers))
        except queue.Full:
            why = problem("NTF004")
            logger().warning("messages are left out", code=why.code, message=why.message)
            for receiver in self._receivers:
                self._count(receiver.name, "all", "dropped")

    def close(self, seconds: float, stopped: Callable[[], str] = lambda: "") -> None:
        """Wait so long for what is still to be sent, or until we are asked to stop."""
        if self._thread is None:
            return
        self._closing = True
        until = time.monotonic() + seconds
        while self._thread.is_alive() and time.monotonic() < until and not stopped():
            self._thread.join(_CHECK)

    def _run(self) -> None:
        while True:
            try:
                task = self._waiting.get(timeout=_CHECK)
            except queue.Empty:
                if self._closing:
                    return
                continue
            try:
                self._tell_all(*task)
            except Exception:  # noqa: BLE001 - the next report is another one
                logger().exception("messages about a cycle could not be sent")

    def _tell_all(self, report: Report, receivers: list[Receiver]) -> None:
        made = notices(report)
        for receiver in receivers:
            mine = [notice for notice in made if notice.occasion in receiver.occasions]
            ended = self._limits.end_states(receiver, {notice.occasion for notice in mine})
            if receiver.type == "Alertmanager":
                at = plan_in(report).taken
                if not all(
                    self._send(receiver, structs.replace(notice, at=at), ended=True)
                    for notice in ended
                ):
                    continue
            for notice in mine:
                if not self._tell(receiver, notice):
                    break  # so that one that does not answer takes its timeout once a cycle

    def _tell(self, receiver: Receiver, notice: Notice) -> bool:
        """Send the notice if it may be sent now; whether the receiver seems to work."""
        decision = self._limits.decide(receiver, notice, self._clock())
        if decision == "limited":
            self._note(receiver, notice, "limited", "NTF003", "")
        if decision != "send":
            return True
        if omitted := self._limits.count_omitted(receiver, notice):
            verb = verb_for(omitted, "was", "were")
            text = (
                f"{count_text(omitted, 'message')} about this occasion {verb} left out before it."
            )
            notice = structs.replace(notice, lines=(*notice.lines, text))
        sent = self._send(receiver, notice)
        if sent:
            self._limits.accept(receiver, notice, self._clock())
        return sent

    def _send(self, receiver: Receiver, notice: Notice, *, ended: bool = False) -> bool:
        """Post it; whether the receiver has taken it."""
        body = notice_body(notice, receiver.type, receiver.repeatAfter, ended=ended)
        try:
            delivery = delivery_of(receiver, self._folder)
            post_notice(delivery, body, receiver.timeout.total_seconds())
        except FilesUnusable as error:
            self._note(receiver, notice, "failed", "NTF001", str(error))
            return False
        except NotTaken as error:
            self._note(receiver, notice, "failed", "NTF002", str(error))
            return False
        self._count(receiver.name, notice.occasion, "sent")
        return True

    def _note(
        self, receiver: Receiver, notice: Notice, result: str, code: str, detail: str
    ) -> None:
        """Count a message that was not sent, and say why in the log."""
        why = problem(code, f"({detail})" if detail else "")
        logger().warning(
            "a message was not sent",
            receiver=receiver.name,
            occasion=notice.occasion,
            code=why.code,
            message=why.message,
        )
        self._count(receiver.name, notice.occasion, result)
