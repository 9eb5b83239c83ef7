"""A notifier with receivers on loopback, and what it counted."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from rescheduler.model.moves.plan import Report
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.notifications import Notifications, Receiver
from rescheduler.runtime.notifications.notifier import Notifier
from tests.sources.server import Served

TOKEN = "t0ken-that-nobody-may-see"
PATH = "/services/T000/very-secret"


def receiver(**fields: Any) -> Receiver:
    """A generic webhook that is told of everything."""
    values = {"name": "team", "type": "Webhook", "addressFile": "address", **fields}
    return Receiver.model_validate(values)


class Notified:
    """A notifier of these receivers. counts: by receiver, occasion and result."""

    def __init__(self, folder: Path, *receivers: Receiver) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.now = 1000.0
        self.notifier = Notifier(folder, self._count, lambda: self.now)
        policies = replace(policy_set([]), notifications=Notifications(receivers=list(receivers)))
        self.notifier.keep_receivers(lambda: policies)()

    def _count(self, *labels: str) -> None:
        self.counts[labels[0], labels[1], labels[2]] += 1

    def tell(self, report: Report) -> None:
        """Tell of a report, and wait until all is sent."""
        self.notifier._tell_all(report, self.notifier._receivers)


def write_address(folder: Path, served: Served, path: str = PATH, name: str = "address") -> None:
    (folder / name).write_text(f"{served.url}{path}\n")


def bodies(served: Served) -> list[Any]:
    """What was posted, in its order."""
    return [json.loads(request.body) for request in served.requests]
