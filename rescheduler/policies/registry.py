"""Every policy kind, by the name that documents give it. A new kind is added here."""

from rescheduler.documents.envelope import Document
from rescheduler.policies.allocation.policy import Allocation
from rescheduler.policies.base import Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.health.policy import Health
from rescheduler.policies.idlegpus.policy import IdleGPUs
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.notifications import Notifications
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.own_readings.readings_document import ReadingsDocument
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.scheduler.config.scheduler import Scheduler

KINDS: dict[str, type[Policy]] = {
    "Allocation": Allocation,
    "Conformity": Conformity,
    "Fragmentation": Fragmentation,
    "Health": Health,
    "IdleGPUs": IdleGPUs,
    "Locality": Locality,
    "Numa": Numa,
    "Spread": Spread,
    "Utilization": Utilization,
}
"""What can be wanted."""

DOCUMENTS: dict[str, type[Document]] = {
    **KINDS,
    "Limits": Limits,
    "Notifications": Notifications,
    "Readings": ReadingsDocument,
    "Scheduler": Scheduler,
}
"""The kinds of documents of a policy file."""

ELSEWHERE = {
    "KubeSchedulerConfiguration": "name this file as `configFile` in a document of kind Scheduler",
    "SchedulerConfiguration": "the text of its spec.rawConfig in a file of its own, which a "
    "document of kind Scheduler names as `configFile`",
    "ConfigMap": "the text of one key of its data as a file",
    "DeschedulerPolicy": "its plugins as policies of ours. By requests: Allocation for "
    "LowNodeUtilization, with `strategy: Balance` for useDeviationThresholds, `Pack` for "
    "HighNodeUtilization; with metricsUtilization: Utilization. Spread for RemoveDuplicates and "
    "topology spread, Conformity for the others; see policies/README.md",
    "KubeDescheduler": "its profiles written as policies of ours: AffinityAndTaints as Conformity, "
    "TopologyAndDuplicates as Spread, LifecycleAndUtilization as Conformity and Allocation, "
    "DevPreviewLongLifecycle as Allocation, those that begin with KubeVirt as Utilization",
}
"""Known kinds that belong in no policy file, with where they belong."""
