"""KubeDescheduler of OpenShift's operator: its profiles, as the policy that the operator makes.

Source: openshift/cluster-kube-descheduler-operator, pkg/apis/descheduler/v1/types_descheduler.go
and pkg/operator/profiles/profiles.go.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict
from rescheduler.documents.file_problems import TextSpan
from rescheduler.documents.label_names import NamespaceName
from rescheduler.documents.strict_yaml import Tree
from rescheduler.documents.validation import validate_part
from rescheduler.policies.conversion.descheduler_policy import convert_policy, fields_of
from rescheduler.policies.conversion.draft import Conversion
from rescheduler.policies.conversion.foreign_fields import Count, GoDuration
from rescheduler.policies.conversion.outcomes import Becomes, Lost, Same, note_of, notes_on

PROTECTED = ["hypershift", "openshift", "openshift-*"]
"""Namespaces that the operator always excludes, beside kube-system."""
LOW = {"Low": (10, 30), "Medium": (20, 50), "": (20, 50), "High": (40, 70)}
DEVIATIONS = {
    "Low": (10, 10),
    "Medium": (20, 20),
    "High": (30, 30),
    "AsymmetricLow": (0, 10),
    "AsymmetricMedium": (0, 20),
    "AsymmetricHigh": (0, 30),
    "": (0, 10),
}
HIGH = {"Minimal": 10, "Modest": 20, "": 20, "Moderate": 30}
QUERIES = {
    "PrometheusCPUUsage": "instance:node_cpu:rate:sum",
    "PrometheusCPUPSIPressure": "rate(node_pressure_cpu_waiting_seconds_total[1m])",
    "PrometheusCPUPSIPressureByUtilization": "node_pressure_cpu_waiting_seconds_total and cpu",
    "PrometheusMemoryPSIPressure": "rate(node_pressure_memory_waiting_seconds_total[1m])",
    "PrometheusIOPSIPressure": "rate(node_pressure_io_waiting_seconds_total[1m])",
    "PrometheusCPUCombined": "descheduler:combined_utilization_and_pressure:avg1m (cpu)",
    "PrometheusCPUMemoryCombinedProfile": "descheduler:node:...:k3:avg1m (cpu, memory)",
}
"""Names of queries, and enough of each to see what it is about."""

_OPERATOR = Same("how the operator itself runs")
_MIGRATION = Lost(
    "Virtual machines are not migrated here: the pods of a VirtualMachineInstance are left alone "
    "(ELG036). Keep OpenShift's descheduler for them."
)
_INCLUDED = Lost(
    "The operator ignores `included` for LowNodeUtilization and HighNodeUtilization, which evict "
    "in all other namespaces there too. Here it holds for all policies. Take `namespaces` out of "
    "the `match` of an Allocation or Utilization to let it act in all namespaces."
)
_UTILIZATION = {"LowNodeUtilization", "HighNodeUtilization"}

ProfileName = Literal[
    "AffinityAndTaints",
    "TopologyAndDuplicates",
    "SoftTopologyAndDuplicates",
    "LifecycleAndUtilization",
    "LongLifecycle",
    "DevPreviewLongLifecycle",
    "CompactAndScale",
    "KubeVirtRelieveAndMigrate",
    "DevKubeVirtRelieveAndMigrate",
    "EvictPodsWithPVC",
    "EvictPodsWithLocalStorage",
]


class _Namespaces(Strict):
    included: Annotated[
        list[NamespaceName] | None,
        Becomes(
            "`namespaces` of the `match`, also for LowNodeUtilization and HighNodeUtilization, for "
            "which the operator ignores it"
        ),
    ] = None
    excluded: Annotated[list[NamespaceName] | None, Becomes("`exclude` of the `match`")] = None

    @model_validator(mode="after")
    def _says_one(self) -> "_Namespaces":
        if self.included and self.excluded:
            raise FieldError("the operator refuses `included` and `excluded` together")
        return self


class _Customizations(Strict):
    podLifetime: Annotated[GoDuration | None, Becomes("`lifetime.above`")] = None
    thresholdPriority: Annotated[int | None, Becomes("`maxPriority`, one less")] = None
    thresholdPriorityClassName: Annotated[str | None, Becomes("`maxPriority`, or Audit")] = None
    namespaces: _Namespaces | None = None
    devLowNodeUtilizationThresholds: Annotated[
        Literal["Low", "Medium", "High", ""] | None,
        Becomes(
            "targets of 30%, 50% or 70%; `mode: Audit`, see `thresholds` of LowNodeUtilization"
        ),
    ] = None
    devDeviationThresholds: Annotated[
        Literal[
            "Low",
            "Medium",
            "High",
            "AsymmetricLow",
            "AsymmetricMedium",
            "AsymmetricHigh",
            "",
        ]
        | None,
        Becomes(
            "`strategy: Balance`; of KubeVirtRelieveAndMigrate alone; `mode: Audit`, see "
            "`thresholds` of LowNodeUtilization"
        ),
    ] = None
    devHighNodeUtilizationThresholds: Annotated[
        Literal["Minimal", "Modest", "Moderate", ""] | None, Becomes("`cold` of 10%, 20% or 30%")
    ] = None
    devActualUtilizationProfile: Annotated[
        str | None, Becomes("Utilization of cpu or memory, which only reports until reviewed")
    ] = None
    devEnableEvictionsInBackground: Annotated[bool | None, _MIGRATION] = None
    devEnableSoftTainter: Annotated[
        bool | None,
        Lost("Replacements are steered by `steering` of the Limits, by SoftTaint too.", (False,)),
    ] = None
    devMigrationCooldown: Annotated[str | None, _MIGRATION] = None
    devMaxMigrationCooldown: Annotated[str | None, _MIGRATION] = None
    devMigrationHistoryWindow: Annotated[str | None, _MIGRATION] = None


class _EvictionLimits(Strict):
    total: Annotated[Count | None, Becomes("`movesPerCycle` of the Limits")] = None
    node: Annotated[Count | None, Becomes("`movesPerNode` of the Limits")] = None


class KubeDeschedulerSpec(Strict):
    """What the operator shall do."""

    managementState: Annotated[str | None, _OPERATOR] = None
    logLevel: Annotated[str | None, _OPERATOR] = None
    operatorLogLevel: Annotated[str | None, _OPERATOR] = None
    unsupportedConfigOverrides: Annotated[dict[str, Any] | None, _OPERATOR] = None
    observedConfig: Annotated[dict[str, Any] | None, _OPERATOR] = None
    profiles: Annotated[
        list[ProfileName], Field(min_length=1), Becomes("a policy for each of its plugins")
    ]
    deschedulingIntervalSeconds: Annotated[
        Count | None, Lost("How often it runs is an option: `rescheduler run --every 5m`.")
    ] = None
    evictionLimits: _EvictionLimits | None = None
    profileCustomizations: _Customizations | None = None
    mode: Annotated[
        Literal["Automatic", "Predictive"] | None, Becomes("Predictive: `mode: Audit`")
    ] = None


class KubeDescheduler(Strict):
    """The whole object."""

    apiVersion: Annotated[str, Becomes("the form of the file")]
    kind: Annotated[str, Becomes("the form of the file")]
    metadata: Annotated[dict[str, Any] | None, Same("of the operator's object")] = None
    status: Annotated[dict[str, Any] | None, Same("what the operator reports")] = None
    spec: KubeDeschedulerSpec


def convert_kube_descheduler(tree: Tree, conversion: Conversion) -> None:
    """Add what the operator's profiles become."""
    made, problems = validate_part(tree, KubeDescheduler)
    conversion.problems += problems
    if made is None:
        return
    conversion.notes += notes_on(made, tree, conversion.paths)
    spec = made.spec
    conversion.notes += [
        note_of(place, conversion.paths, _MIGRATION)
        for place in _list(fields_of(fields_of(tree)["spec"])["profiles"])
        if "KubeVirt" in str(place.value)
    ]
    conversion.reports_only |= spec.mode != "Automatic"
    conversion.limits.others["protectedNamespaces"] = PROTECTED
    branch = fields_of(tree)["spec"]
    profiles = fields_of(branch)["profiles"]
    settings = _Settings(spec, branch, conversion)
    _note_included(spec, branch, conversion)
    policy: dict[str, Any] = settings.limits()
    policy["profiles"] = [
        conversion.tree_at({"name": name, **settings.profile(name)}, place)
        for name, place in zip(spec.profiles, _list(profiles), strict=True)
        if name in PROFILES
    ]
    if settings.kubevirt:
        policy["nodeSelector"] = "kubevirt.io/schedulable=true"
    convert_policy(conversion.tree_at(policy, profiles), conversion)


def _note_included(spec: KubeDeschedulerSpec, branch: Tree, conversion: Conversion) -> None:
    """Say that `included` holds for more plugins here than there."""
    customizations = fields_of(fields_of(branch).get("profileCustomizations"))
    included = fields_of(customizations.get("namespaces")).get("included")
    plugins = {name for profile in spec.profiles for name in profile_plugins(profile)}
    if included is not None and included.value and plugins & _UTILIZATION:
        conversion.notes.append(note_of(included, conversion.paths, _INCLUDED))


def _list(tree: Tree) -> list[Tree]:
    return tree.value if isinstance(tree.value, list) else []


class _Settings:
    """What the object says beside its profiles."""

    def __init__(self, spec: KubeDeschedulerSpec, branch: Tree, conversion: Conversion) -> None:
        self._spec = spec
        self._conversion = conversion
        self._branch = branch
        self.custom = spec.profileCustomizations or _Customizations()
        self._custom_fields = fields_of(fields_of(branch).get("profileCustomizations"))
        self.kubevirt = any("KubeVirt" in name for name in spec.profiles)

    def limits(self) -> dict[str, Any]:
        """Limits on evictions, as the policy has them."""
        fields = fields_of(fields_of(self._branch).get("evictionLimits"))
        total, node = (fields.get(name) for name in ("total", "node"))
        named = {
            "maxNoOfPodsToEvictTotal": total if total is not None else 5,
            "maxNoOfPodsToEvictPerNode": node if node is not None else 2,
        }
        return {
            name: value for name, value in named.items() if isinstance(value, Tree) or self.kubevirt
        }

    def profile(self, name: str) -> dict[str, Any]:
        """One profile of the policy."""
        points: dict[str, dict[str, Any]] = PROFILES[name](self)
        plugins = {point: {"enabled": list(of_point)} for point, of_point in points.items()}
        configs = [
            {"name": plugin, "args": arguments}
            for of_point in points.values()
            for plugin, arguments in of_point.items()
        ]
        evictor = {"name": "DefaultEvictor", "args": self._evictor(name)}
        return {"pluginConfig": [*configs, evictor], "plugins": plugins}

    def _evictor(self, name: str) -> dict[str, Any]:
        profiles, virtual = self._spec.profiles, "KubeVirt" in name
        arguments: dict[str, Any] = {
            "ignorePvcPods": not virtual and "EvictPodsWithPVC" not in profiles,
            "evictLocalStoragePods": virtual or "EvictPodsWithLocalStorage" in profiles,
        }
        for key, field in (("value", "thresholdPriority"), ("name", "thresholdPriorityClassName")):
            if field in self._custom_fields:
                threshold = arguments.setdefault("priorityThreshold", {})
                threshold[key] = self._custom_fields[field]
        return arguments

    def namespaces(self, field: str = "namespaces") -> dict[str, Any]:
        """Of the arguments of a plugin."""
        fields = fields_of(self._custom_fields.get("namespaces"))
        names = {key[:-1]: fields[key] for key in ("included", "excluded") if key in fields}
        return {field: names} if names else {}

    def low_utilization(self, profile: str = "", *, deviating: bool = False) -> dict[str, Any]:
        """Arguments of LowNodeUtilization. profile: of the load, unless the object names one."""
        custom = self.custom
        low, high = LOW[custom.devLowNodeUtilizationThresholds or ""]
        if deviating:
            low, high = DEVIATIONS[custom.devDeviationThresholds or ""]
        names, more = ["cpu", "memory", "pods"], {}
        profile = custom.devActualUtilizationProfile or profile
        if profile:
            names = ["MetricResource"]
            query = QUERIES.get(profile, profile.removeprefix("query:"))
            placed = self._place_at(query, "devActualUtilizationProfile")
            source = {"source": "Prometheus", "prometheus": {"query": placed}}
            more["metricsUtilization"] = source
        setting = "devDeviationThresholds" if deviating else "devLowNodeUtilizationThresholds"
        return {
            "thresholds": self._place_at(dict.fromkeys(names, low), setting),
            "targetThresholds": dict.fromkeys(names, high),
            "useDeviationThresholds": deviating,
            **more,
            **self.namespaces("evictableNamespaces"),
        }

    def _place_at(self, value: Any, setting: str) -> Any:
        """The value, at the place of the setting that it follows from where the object has it."""
        cause = self._custom_fields.get(setting)
        return self._conversion.tree_at(value, cause) if cause and cause.value else value


def _affinity(settings: _Settings) -> dict[str, dict[str, Any]]:
    names, kinds = settings.namespaces(), ["requiredDuringSchedulingIgnoredDuringExecution"]
    return {
        "deschedule": {
            "RemovePodsViolatingInterPodAntiAffinity": names,
            "RemovePodsViolatingNodeTaints": names,
            "RemovePodsViolatingNodeAffinity": {"nodeAffinityType": kinds, **names},
        }
    }


def _topology(*constraints: str) -> Callable[[_Settings], dict[str, dict[str, Any]]]:
    def profile(settings: _Settings) -> dict[str, dict[str, Any]]:
        names = settings.namespaces()
        spread = {"constraints": list(constraints), **names}
        plugin = "RemovePodsViolatingTopologySpreadConstraint"
        return {"balance": {plugin: spread, "RemoveDuplicates": names}}

    return profile


def _long_lifecycle(settings: _Settings) -> dict[str, dict[str, Any]]:
    restarts = {"podRestartThreshold": 100, "includingInitContainers": True}
    return {
        "deschedule": {"RemovePodsHavingTooManyRestarts": {**restarts, **settings.namespaces()}},
        "balance": {"LowNodeUtilization": settings.low_utilization()},
    }


def _lifecycle(settings: _Settings) -> dict[str, dict[str, Any]]:
    age = settings.custom.podLifetime
    seconds = 86_400 if age is None else int(age.total_seconds())
    points = _long_lifecycle(settings)
    lifetime = {"maxPodLifeTimeSeconds": seconds, **settings.namespaces()}
    points["deschedule"] = {"PodLifeTime": lifetime, **points["deschedule"]}
    return points


def _compact(settings: _Settings) -> dict[str, dict[str, Any]]:
    cold = HIGH[settings.custom.devHighNodeUtilizationThresholds or ""]
    thresholds = dict.fromkeys(("cpu", "memory", "pods"), cold)
    names = settings.namespaces("evictableNamespaces")
    return {"balance": {"HighNodeUtilization": {"thresholds": thresholds, **names}}}


def _kubevirt(settings: _Settings) -> dict[str, dict[str, Any]]:
    fixed = settings.custom.devLowNodeUtilizationThresholds
    profile = "PrometheusCPUMemoryCombinedProfile"
    arguments = settings.low_utilization(profile, deviating=not fixed)
    return {"balance": {"LowNodeUtilization": arguments}}


PROFILES: dict[str, Callable[[_Settings], dict[str, dict[str, Any]]]] = {
    "AffinityAndTaints": _affinity,
    "TopologyAndDuplicates": _topology("DoNotSchedule"),
    "SoftTopologyAndDuplicates": _topology("DoNotSchedule", "ScheduleAnyway"),
    "LifecycleAndUtilization": _lifecycle,
    "LongLifecycle": _long_lifecycle,
    "DevPreviewLongLifecycle": _long_lifecycle,
    "CompactAndScale": _compact,
    "KubeVirtRelieveAndMigrate": _kubevirt,
    "DevKubeVirtRelieveAndMigrate": _kubevirt,
}
"""Profiles that have plugins; the two others say which pods may be evicted."""


def profile_plugins(name: str) -> list[str]:
    """The plugins of a profile; none of one that says which pods may be evicted."""
    spec = KubeDeschedulerSpec(profiles=[name])  # type: ignore[list-item]  # a key of the table
    if name not in PROFILES:
        return []
    points = PROFILES[name](_Settings(spec, Tree({}, TextSpan(), {}), Conversion({})))
    return [plugin for of_point in points.values() for plugin in of_point]
