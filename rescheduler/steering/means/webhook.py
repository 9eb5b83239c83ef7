"""Steering by a mutating webhook, which `rescheduler webhook` serves."""

from rescheduler.steering.admission import Admission


class Webhook(Admission):
    """The webhook adds the node affinity; see `rescheduler.runtime.servers.webhook`."""

    name = "Webhook"
    about = "`rescheduler webhook` adds node affinity to them (1.30 and later)."
