"""Every policy kind, by the name that documents give it. A new kind is added here."""

from rescheduler.policies.base import Policy, Strict
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.health.policy import Health
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.scheduler import Scheduler
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization

KINDS: dict[str, type[Policy]] = {
    "Conformity": Conformity,
    "Fragmentation": Fragmentation,
    "Health": Health,
    "Locality": Locality,
    "Numa": Numa,
    "Spread": Spread,
    "Utilization": Utilization,
}
"""What can be wanted."""

DOCUMENTS: dict[str, type[Strict]] = {**KINDS, "Limits": Limits, "Scheduler": Scheduler}
"""What may stand in a policy file."""
