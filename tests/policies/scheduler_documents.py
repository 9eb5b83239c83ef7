"""Scheduler documents that use every field."""

from typing import Any

GROUP = "kubescheduler.config.k8s.io/v1"
USUAL = "default-scheduler"

ARGUMENTS: dict[str, Any] = {
    "NodeResourcesFit": {
        "ignoredResources": ["example.com/a"],
        "scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "resources": [{"name": "cpu", "weight": 3}],
            "requestedToCapacityRatio": {
                "shape": [{"utilization": 0}, {"utilization": 90, "score": 10}]
            },
        },
    },
    "NodeResourcesBalancedAllocation": {"resources": [{"name": "cpu"}, {"name": "x/y"}]},
    "PodTopologySpread": {
        "defaultingType": "List",
        "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
    },
    "InterPodAffinity": {"hardPodAffinityWeight": 5},
    "NodeAffinity": {
        "addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "a", "operator": "Exists"},
                            {"key": "b", "operator": "In", "values": ["c"]},
                            {"key": "d", "operator": "Lt", "values": ["9"]},
                        ]
                    }
                ]
            }
        }
    },
}


def document(name: str = "packing", **spec: Any) -> dict[str, Any]:
    """A Scheduler document with this spec."""
    return {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": name},
        "spec": spec,
    }


def configuration(*profiles: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration with these profiles."""
    kind = {"apiVersion": GROUP, "kind": "KubeSchedulerConfiguration"}
    return {**kind, "profiles": list(profiles), **more}


SCHEDULERS = [
    document(
        schedulerName="packer",
        version="v1.36.3",
        percentageOfNodesToScore=10,
        weights={"ImageLocality": 2},
        disabledFilters=["NodePorts"],
        disabledScores=["VolumeBinding"],
        addedPlugins=[{"name": "Coscheduling", "affectsPlacement": False}],
        featureGates={"StorageCapacityScoring": True},
        arguments=ARGUMENTS,
    ),
    document("filed", configFile="kube-scheduler.yaml", harmlessExtenders=["http://x"]),
]
CONTRADICTIONS = (
    "must have increasing utilization",
    "is required for type RequestedToCapacityRatio",
    "is given for type RequestedToCapacityRatio alone",
    " is given twice",
    "must be List where there are `defaultConstraints`",
    "must not repeat a topologyKey with the same whenUnsatisfiable",
)
"""What JSON Schema cannot express of them."""
