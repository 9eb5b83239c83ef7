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

_CONVERT = "`rescheduler convert descheduler FILE`, which writes"

ELSEWHERE = {
    "KubeSchedulerConfiguration": "name this file as `configFile` in a document of kind Scheduler",
    "SchedulerConfiguration": "the text of its spec.rawConfig in a file of its own, which a "
    "document of kind Scheduler names as `configFile`",
    "ConfigMap": "the text of one key of its data as a file; of descheduler's ConfigMap, "
    f"{_CONVERT} it as policies of ours",
    "DeschedulerPolicy": f"{_CONVERT} its plugins as policies of ours: by requests Allocation, "
    "with metricsUtilization Utilization; see policies/from-descheduler.md",
    "KubeDescheduler": f"{_CONVERT} its profiles as policies of ours: AffinityAndTaints as "
    "Conformity, TopologyAndDuplicates as Spread, LifecycleAndUtilization as Conformity and "
    "Allocation; see policies/from-descheduler.md",
    "DeschedulerConfiguration": f"{_CONVERT} its plugins as policies of ours; see "
    "policies/from-descheduler.md",
    "HelmRelease": f"{_CONVERT} policies of ours, if it is descheduler's",
    "deschedulerPolicy": f"{_CONVERT} these Helm values as policies of ours",
}
"""Known kinds that belong in no policy file, and fields of files without a kind, with where they
belong."""
