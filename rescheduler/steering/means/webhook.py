"""Steering by a mutating webhook, which `rescheduler webhook` serves."""

from rescheduler.steering.admission_means import AdmissionMeans


class WebhookMeans(AdmissionMeans):
    """The webhook adds the node affinity; see `rescheduler.runtime.servers.webhook`."""

    name = "Webhook"
    about = "`rescheduler webhook` adds node affinity to replacements (1.30 and later)."
