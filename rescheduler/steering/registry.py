"""The means of steering that there are."""

from rescheduler.steering.admission_policy import AdmissionPolicy
from rescheduler.steering.extender import Extender
from rescheduler.steering.means import Means
from rescheduler.steering.soft_taint import SoftTaint
from rescheduler.steering.webhook import Webhook

MEANS: tuple[type[Means], ...] = (SoftTaint, AdmissionPolicy, Webhook, Extender)
"""In the order in which their writers write: taints before entries."""
