"""Plugins that a KubeSchedulerConfiguration may name beside those that are modelled.

Sources: `var _ fwk.XPlugin` of each plugin in pkg/scheduler/framework/plugins, Kubernetes 1.34 to
1.38.0-beta.0; pkg/scheduler/apis/config/validation, invalidPluginsByVersion; and
sigs.k8s.io/scheduler-plugins 0.34.7, cmd/scheduler/main.go and pkg/*.
"""

from collections.abc import Mapping

EXTENSION_POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementFeasible",
    "placementScore",
    "podGroupPostFilter",
)

_FILTER = ("preFilter", "filter")
_SCORE = ("preScore", "score")

PARTS: Mapping[str, frozenset[str]] = {
    name: frozenset(points)
    for name, points in {
        "SchedulingGates": ("preEnqueue",),
        "PrioritySort": ("queueSort",),
        "NodeUnschedulable": _FILTER,
        "NodeName": _FILTER,
        "TaintToleration": (*_FILTER, *_SCORE),
        "NodeAffinity": (*_FILTER, *_SCORE),
        "NodePorts": _FILTER,
        "NodeResourcesFit": (*_FILTER, *_SCORE, "placementScore"),
        "VolumeRestrictions": _FILTER,
        "NodeVolumeLimits": _FILTER,
        "VolumeBinding": (*_FILTER, *_SCORE, "reserve", "preBind"),
        "VolumeZone": _FILTER,
        "PodTopologySpread": (*_FILTER, *_SCORE),
        "InterPodAffinity": (*_FILTER, *_SCORE),
        "DynamicResources": (
            "preEnqueue",
            *_FILTER,
            "postFilter",
            *_SCORE,
            "reserve",
            "preBind",
            "podGroupPostFilter",
        ),
        "DefaultPreemption": ("preEnqueue", "postFilter", "reserve", "podGroupPostFilter"),
        "NodeResourcesBalancedAllocation": _SCORE,
        "ImageLocality": _SCORE,
        "DefaultBinder": ("bind",),
        "NodeDeclaredFeatures": _FILTER,
        "DeferredPodScheduling": (*_FILTER, "permit"),
        "GangScheduling": ("preEnqueue", "reserve", "permit", "placementFeasible"),
        "TopologyPlacementGenerator": ("placementGenerate",),
        "PodGroupPodsCount": ("placementScore",),
    }.items()
}
"""Kubernetes' own plugins, each with its extension points in any version."""

_QUEUE = frozenset(
    ("preEnqueue", "queueSort", "preFilter", "postFilter", "reserve", "permit", "postBind")
)

PLACELESS: Mapping[str, frozenset[str]] = {
    **{
        name: PARTS[name]
        for name in (
            "SchedulingGates",
            "PrioritySort",
            "DefaultPreemption",
            "DefaultBinder",
            "GangScheduling",
            "TopologyPlacementGenerator",
            "PodGroupPodsCount",
        )
    },
    **dict.fromkeys(
        (
            "Coscheduling",
            "CapacityScheduling",
            "CrossNodePreemption",
            "ElasticQuota",
            "PreemptionToleration",
            "QOSSort",
            "TopologicalSort",
        ),
        _QUEUE,
    ),
}
"""Plugins that never choose the node of a pod outside of a scheduling group, with the extension
points at which that is so. They only decide when a pod is tried or admitted.

A quota or a gang may keep a replacement waiting, but the eviction released what the old pod held.
"""

_FIT = "use NodeResourcesFit with scoringStrategy.type: {} in its pluginConfig"
_SPREAD = "use PodTopologySpread, whose default constraints spread the pods of a Service or owner"
_LIMITS = "use NodeVolumeLimits, which counts the volumes of CSI drivers"

REMOVED: Mapping[str, str] = {
    "NodeResourcesLeastAllocated": _FIT.format("LeastAllocated"),
    "NodeResourcesMostAllocated": _FIT.format("MostAllocated"),
    "RequestedToCapacityRatio": _FIT.format("RequestedToCapacityRatio"),
    "NodeResourceLimits": "leave it out; nothing replaces it",
    "NodeLabel": "use NodeAffinity with addedAffinity in its pluginConfig",
    "NodePreferAvoidPods": "use taints of the effect PreferNoSchedule",
    "ServiceAffinity": "use InterPodAffinity: podAffinity in the pods' specs",
    "SelectorSpread": _SPREAD,
    "DefaultPodTopologySpread": _SPREAD,
    "EvenPodsSpread": _SPREAD,
    "AzureDiskLimits": _LIMITS,
    "CinderLimits": _LIMITS,
    "EBSLimits": _LIMITS,
    "GCEPDLimits": _LIMITS,
}
"""Plugins that kubescheduler.config.k8s.io/v1 has removed, each with what replaces it."""
