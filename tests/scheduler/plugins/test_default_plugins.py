"""What the plugins' classes say of themselves, held against Kubernetes' own default profiles."""

import importlib
import pkgutil

import rescheduler.scheduler.plugins
from rescheduler.scheduler.config.default_profile import default_profile, profile_of
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.plugin import Plugin
from rescheduler.scheduler.plugins.default_plugins import (
    FILTERS,
    GATES,
    PLUGINS,
    STATIC,
    UNRESOLVABLE,
    WEIGHTS,
)
from tests.cases import every

OLD_FILTERS = {
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
}
"""Of Kubernetes 1.33; what came later is said where it came."""
OLD_WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
DEVICES, FEATURES = "DynamicResources", "NodeDeclaredFeatures"
SWITCHED = (
    "declared_features",
    "extended_devices",
    "consumable_capacity",
    "capacity_scoring",
    "drivers_required",
)


@every(
    [
        (33, set(), set()),
        (34, {DEVICES}, set()),
        (35, {DEVICES}, set()),
        (36, {DEVICES, FEATURES}, set(SWITCHED[:3])),
        (37, {DEVICES, FEATURES}, set(SWITCHED)),
        (38, {DEVICES, FEATURES}, set(SWITCHED)),
    ]
)
def test_the_default_profile_of_each_version_is_that_of_kubernetes(
    minor: int, came: set[str], switched: set[str]
) -> None:
    """Source: pkg/scheduler/apis/config/v1/default_plugins.go, pkg/features/kube_features.go."""
    profile = profile_of(f"v1.{minor}.0")
    assert profile is not None
    assert profile.filters == OLD_FILTERS | came
    assert profile.weights == OLD_WEIGHTS | ({DEVICES: 2} if minor >= 35 else {})
    assert {field for field in SWITCHED if getattr(profile, field)} == switched


def test_preemption_cannot_help_where_kubernetes_calls_it_unresolvable() -> None:
    """Plugins whose Filter answers only UnschedulableAndUnresolvable."""
    fixed = {
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "VolumeBinding",
        "VolumeZone",
        FEATURES,
    }
    assert fixed == STATIC
    assert fixed | {DEVICES} == UNRESOLVABLE


def test_a_plugin_on_at_some_of_its_joint_points_is_a_problem() -> None:
    alone = {"NodeUnschedulable", "NodeName", "TaintToleration"}
    assert {
        plugin.name for plugin in PLUGINS if plugin.filters() and not plugin.needs_pre_filter
    } == alone
    assert {plugin.name for plugin in PLUGINS if plugin.weight and plugin.needs_pre_score} == {
        "TaintToleration",
        "NodeAffinity",
        "PodTopologySpread",
        "InterPodAffinity",
    }


def test_the_words_of_a_rejection_are_those_of_kubernetes() -> None:
    """Source: ErrReason of pkg/scheduler/framework/plugins."""
    assert {plugin.name: plugin.rejection for plugin in PLUGINS if plugin.rejection} == {
        "NodeUnschedulable": "node(s) were unschedulable",
        "NodeName": "node(s) didn't match the requested node name",
        "TaintToleration": "node(s) had untolerated taint(s)",
        "NodeAffinity": "node(s) didn't match Pod's node affinity/selector",
        "NodePorts": "node(s) didn't have free ports for the requested pod ports",
        "NodeVolumeLimits": "node(s) exceed max volume count",
        "VolumeZone": "node(s) had no available volume zone",
        FEATURES: "node(s) didn't match Pod's required features",
    }


def test_the_gates_and_since_when_they_are_on() -> None:
    """Source: pkg/features/kube_features.go."""
    assert {gate.name: (gate.since, gate.field) for gate in GATES} == {
        "NodeDeclaredFeatures": (36, "declared_features"),
        "DRAExtendedResource": (36, "extended_devices"),
        "DRAConsumableCapacity": (36, "consumable_capacity"),
        "DRAPartitionableDevices": (36, "partitions"),
        "DRADeviceTaintRules": (37, "device_taint_rules"),
        "StorageCapacityScoring": (37, "capacity_scoring"),
        "VolumeLimitScaling": (37, "drivers_required"),
        "InPlacePodVerticalScaling": (33, ""),
        "InPlacePodLevelResourcesVerticalScaling": (36, ""),
        "PodLevelResources": (34, ""),
        "SidecarContainers": (0, ""),
        "MatchLabelKeysInPodTopologySpread": (0, ""),
        "NodeInclusionPolicyInPodTopologySpread": (0, ""),
        "DynamicResourceAllocation": (34, ""),
        "TaintTolerationComparisonOperators": (None, ""),
    }


def test_every_plugin_is_registered_once() -> None:
    package = rescheduler.scheduler.plugins
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    written = [
        subclass
        for subclass in Plugin.__subclasses__()
        if subclass.__module__.startswith(package.__name__)
    ]
    assert sorted(plugin.name for plugin in written) == sorted(plugin.name for plugin in PLUGINS)
    assert len({plugin.name for plugin in PLUGINS}) == len(PLUGINS)


def test_every_plugin_filters_or_scores_as_its_class_says() -> None:
    for plugin in PLUGINS:
        assert plugin.filters() or plugin.weight, plugin.name
        if plugin.score is not Plugin.score:
            assert plugin.weight, plugin.name
        if plugin.rejection or plugin.unresolvable or plugin.static:
            assert plugin.filters(), plugin.name
        for gate in (plugin.gate, *plugin.gates):
            if gate is not None and gate.field:
                assert isinstance(getattr(default_profile("v1.36.3"), gate.field), bool), gate.name


def test_operators_may_name_each_plugin_that_filters_or_scores_only() -> None:
    written = Scheduler.model_json_schema()["properties"]
    assert set(written["disabledFilters"]["items"]["enum"]) == FILTERS
    assert set(written["disabledScores"]["items"]["enum"]) == set(WEIGHTS)
    assert set(written["weights"]["propertyNames"]["enum"]) == set(WEIGHTS)
