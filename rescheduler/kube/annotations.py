"""The annotations that we read, by name; sources keep these and drop all others.

The labels of gangs are beside their annotations; labels are all kept.
"""

from rescheduler.kube.mark_words import about_moving

MIRROR = "kubernetes.io/config.mirror"
SOURCE = "kubernetes.io/config.source"
"""Where a kubelet got the pod from; `api` is an ordinary pod, `file` and `http` are static ones."""
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

OPT_OUT = "rescheduler.io/opt-out"
"""Our own: `true`, or `until <RFC 3339 time>`; on a pod, its owners or its namespace.

Whatever cannot be read as one of them protects too; only `false` does not."""

CHECKPOINTED_AT = "rescheduler.io/checkpointed-at"
"""Our own: when the pod's work was last saved, as an RFC 3339 time; on a pod or its controllers."""
CHECKPOINT_INTERVAL = "rescheduler.io/checkpoint-interval"
"""Our own: how often its work is saved, such as `10m`; used where no time of a checkpoint is."""

DATASET = "rescheduler.io/dataset"
"""Our own: the names of the datasets that a pod reads, separated by commas."""

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
"""Names of local volumes, separated by commas, that may be lost."""
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DO_NOT_EVICT = "karpenter.sh/do-not-evict"
PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
REQUEST_EVICT_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only"
EVICTION_IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress"
EVICT = "descheduler.alpha.kubernetes.io/evict"
EVICTABLE = "descheduler.alpha.kubernetes.io/evictable"
"""Of descheduler, and of those of Tencent and others: only `false` asks to be left alone."""
REMOVAL_DISABLED = "autoscaling.cast.ai/removal-disabled"
EVICTION_DISABLED = "beta.evictor.cast.ai/eviction-disabled"
RESTRICT_SCALE_DOWN = "spotinst.io/restrict-scale-down"
"""Of Cast AI and Spot Ocean; each is read as a label, too."""

NUMA_OBSERVED = "kai.scheduler/numa-placement-observed"
"""Where a pod's devices, CPUs and memory are, as an exporter on its node saw it:
`[{"zone": "node-0", "amount": {"nvidia.com/gpu": "2", "cpu": "8"}}]`."""

REQUEST_TARGETS = "rescheduler.io/request-targets"
"""Our own: on a node, how much of each resource pods may request before it is too much, as JSON:
`{"cpu": "12", "memory": "100Gi"}`."""

GPU_INDICES = ("alibabacloud.com/gpu-index", "ALIYUN_COM_GPU_MEM_IDX")
"""The device of a pod that shares one, as open-gpu-share and gpushare write it."""

GANGS = frozenset(
    {
        "scheduling.k8s.io/group-name",  # Volcano, kube-batch
        "scheduling.volcano.sh/group-name",
        "pod-group-name",  # KAI Scheduler
        "kueue.x-k8s.io/pod-group-total-count",
        "pod-group.scheduling.sigs.k8s.io/name",
        "batch.x-k8s.io/pod-group",
        "gang.scheduling.koordinator.sh/name",
        "yunikorn.apache.org/task-group-name",
        "yunikorn.apache.org/task-groups",
    }
)
"""Annotations that make a pod a member of a gang; `kube.gangs` says what each of them means."""

YUNIKORN_APP = "yunikorn.apache.org/app-id"
"""The application of a pod; YuniKorn places all its pods as one gang."""

GANG_SIZES = (
    "gang.scheduling.koordinator.sh/min-available",
    "leaderworkerset.sigs.k8s.io/size",
)
"""Annotations that say how many pods a gang needs."""

KURED_REBOOTING = "weave.works/kured-reboot-in-progress"
"""On a node that kured reboots, where it runs with `--annotate-nodes`: since when."""
MACHINE_CONFIG_STATE = "machineconfiguration.openshift.io/state"
"""On a node, what OpenShift's machine config daemon does to it, such as `Working` or `Done`."""
FLATCAR_REBOOTING = "flatcar-linux-update.v1.flatcar-linux.net/reboot-in-progress"
"""On a node that Flatcar's update operator reboots: `true`."""

NODE_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
OPENSHIFT_NODE_SELECTOR = "openshift.io/node-selector"
"""On a namespace, the labels of nodes that admission adds to nodeSelector of its pods, such as
`zone=a,disk=ssd`."""
DEFAULT_TOLERATIONS = "scheduler.alpha.kubernetes.io/defaultTolerations"
"""On a namespace, what admission adds to the tolerations of its pods, as JSON."""

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The node for which a claim is being provisioned."""

READ = GANGS | {
    NODE_SELECTOR,
    OPENSHIFT_NODE_SELECTOR,
    DEFAULT_TOLERATIONS,
    BETA_CLASS,
    DEFAULT_CLASS,
    SELECTED_NODE,
    MIRROR,
    SOURCE,
    DELETION_COST,
    OPT_OUT,
    CHECKPOINTED_AT,
    CHECKPOINT_INTERVAL,
    DATASET,
    *GPU_INDICES,
    REQUEST_TARGETS,
    *GANG_SIZES,
    YUNIKORN_APP,
    SAFE_TO_EVICT,
    SAFE_VOLUMES,
    DO_NOT_DISRUPT,
    DO_NOT_EVICT,
    PREFER_NO_EVICTION,
    REQUEST_EVICT_ONLY,
    EVICTION_IN_PROGRESS,
    EVICT,
    EVICTABLE,
    REMOVAL_DISABLED,
    EVICTION_DISABLED,
    RESTRICT_SCALE_DOWN,
    NUMA_OBSERVED,
    KURED_REBOOTING,
    MACHINE_CONFIG_STATE,
    FLATCAR_REBOOTING,
}
"""Every annotation that any part of the rescheduler reads by its name."""


def is_read(name: str) -> bool:
    """Whether an annotation of this name is kept: it is read, or asks to leave a pod alone."""
    return name in READ or about_moving(name)
