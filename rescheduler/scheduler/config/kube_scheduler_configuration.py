"""KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1), strictly read.

An operator's own file, and what a running scheduler answers under /configz. What does not decide a
placement (leader election, client, backoff) is accepted and ignored; what is not known at all
is an error in a file, because it might. What a newer scheduler answers is read by `newer`.
"""

from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict
from rescheduler.scheduler.config.known_plugins import PARTS, REMOVED
from rescheduler.scheduler.config.plugin_arguments import Arguments, arguments_of

GROUP = "kubescheduler.config.k8s.io/v1"

_KIND = "KubeSchedulerConfiguration"
_WRAPPERS = {
    "SchedulerConfiguration": "give the text of spec.rawConfig as the file",
    "ConfigMap": "give the text that its data holds as the file",
    "Secret": "give the text that its data holds, decoded, as the file",
}
"""Objects that have a configuration as text inside of them."""


class PluginEntry(Strict):
    """One plugin at one extension point."""

    name: str = Field(min_length=1)
    weight: int | None = Field(None, ge=0)


class PluginSet(Strict):
    """What one extension point turns on and off."""

    enabled: list[PluginEntry] | None = None
    disabled: list[PluginEntry] | None = None


class Plugins(Strict):
    """The plugins of a profile by extension point.

    With some of these kube-scheduler does not start, and they are refused.
    Source: pkg/scheduler/framework/runtime/framework.go, expandMultiPointPlugins and
    updatePluginList.
    """

    multiPoint: PluginSet = PluginSet()
    preEnqueue: PluginSet = PluginSet()
    queueSort: PluginSet = PluginSet()
    preFilter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    postFilter: PluginSet = PluginSet()
    preScore: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    preBind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    postBind: PluginSet = PluginSet()
    placementGenerate: PluginSet = PluginSet()
    placementFeasible: PluginSet = PluginSet()
    placementScore: PluginSet = PluginSet()
    podGroupPostFilter: PluginSet = PluginSet()

    @field_validator("*")
    @classmethod
    def _can_be_enabled(cls, value: PluginSet, info: ValidationInfo) -> PluginSet:
        point, before = info.field_name or "", set[str]()
        for number, name in enumerate(plugin_entry.name for plugin_entry in value.enabled or ()):
            at = ("enabled", number, "name")
            if name in REMOVED:
                message = (
                    f"Kubernetes has no plugin `{name}` any more; kube-scheduler does not start"
                )
                raise FieldError(message, at, hint=REMOVED[name])
            if name in PARTS and point not in ("multiPoint", *PARTS[name]):
                parts = ", ".join(sorted(PARTS[name]))
                message = f"`{name}` has no part at {point}; kube-scheduler does not start"
                raise FieldError(message, at, hint=f"enable it at {parts} or multiPoint")
            if name in before:
                message = f"`{name}` is enabled twice; kube-scheduler does not start"
                raise FieldError(message, at, hint="drop one")
            before.add(name)
        return value


class PluginConfig(Strict):
    """The arguments of one plugin."""

    name: str = Field(min_length=1)
    args: dict[str, Any] | None = None

    @field_validator("args")
    @classmethod
    def _are_known(
        cls, value: dict[str, Any] | None, info: ValidationInfo
    ) -> dict[str, Any] | None:
        name = info.data.get("name", "")
        if value is not None and name in Arguments.model_fields:
            _in_form(name, value)
            arguments_of(name).model_validate(_without_type_meta(value))
        return value

    def parse_arguments(self) -> Arguments:
        """The arguments, where they decide a placement."""
        if self.name not in Arguments.model_fields or self.args is None:
            return Arguments()
        return Arguments.model_validate({self.name: _without_type_meta(self.args)})


def _without_type_meta(args: dict[str, Any]) -> dict[str, Any]:
    return {key: arg for key, arg in args.items() if key not in ("apiVersion", "kind")}


def _in_form(name: str, args: dict[str, Any]) -> None:
    """Refuses what is not of the type that the plugin's arguments have."""
    for field, wanted in (("apiVersion", GROUP), ("kind", f"{name}Args")):
        if args.get(field, wanted) != wanted:
            raise FieldError(f"must be {wanted}", (field,), hint=f"`{wanted}`, or leave it out")
    scoring = args.get("scoringStrategy") if name == "NodeResourcesFit" else None
    if isinstance(scoring, dict) and "type" not in scoring:
        raise FieldError("is required", ("scoringStrategy", "type"), hint="`LeastAllocated`")


class KubeSchedulerProfile(Strict):
    """One profile; pods choose it by its schedulerName."""

    schedulerName: str | None = Field(None, min_length=1)
    percentageOfNodesToScore: int | None = Field(None, ge=0, le=100)
    percentageOfPlacementsToScore: int | None = Field(None, ge=0, le=100)
    plugins: Plugins | None = None
    pluginConfig: list[PluginConfig] | None = None

    @field_validator("pluginConfig")
    @classmethod
    def _once_each(cls, value: list[PluginConfig] | None) -> list[PluginConfig] | None:
        names = [config.name for config in value or ()]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"plugin {repeated[0]} has two sets of arguments")
        return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(child) for key, child in value.items() if child is not None}
    return [_without_nulls(element) for element in value] if isinstance(value, list) else value


class ManagedResource(Strict):
    """A resource that an extender manages."""

    name: str = Field(min_length=1)
    ignoredByScheduler: bool = False


class Extender(Strict):
    """A web service that the scheduler asks."""

    urlPrefix: str = ""
    filterVerb: str = ""
    preemptVerb: str = ""
    prioritizeVerb: str = ""
    weight: int = 0
    bindVerb: str = ""
    enableHTTPS: bool = False
    tlsConfig: dict[str, Any] | None = Field(None, exclude=True)
    """May hold a private key, so it is never written out."""
    httpTimeout: str | None = None
    nodeCacheCapable: bool = False
    managedResources: list[ManagedResource] | None = None
    ignorable: bool = False

    @model_validator(mode="after")
    def _counts(self) -> "Extender":
        if self.prioritizeVerb and self.weight < 1:
            message = "must be 1 or more where there is a `prioritizeVerb`"
            raise FieldError(message, ("weight",), hint="add `weight: 1`")
        return self


class KubeSchedulerConfiguration(Strict):
    """The configuration of one kube-scheduler process."""

    apiVersion: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    parallelism: int | None = Field(None, ge=1)
    leaderElection: dict[str, Any] | None = None
    clientConnection: dict[str, Any] | None = None
    enableProfiling: bool | None = None
    enableContentionProfiling: bool | None = None
    percentageOfNodesToScore: int | None = Field(None, ge=0, le=100)
    percentageOfPlacementsToScore: int | None = Field(None, ge=0, le=100)
    podInitialBackoffSeconds: int | None = Field(None, ge=1)
    podMaxBackoffSeconds: int | None = Field(None, ge=1)
    delayCacheUntilActive: bool | None = None
    profiles: list[KubeSchedulerProfile] | None = None
    extenders: list[Extender] | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_go_decodes_it(cls, value: Any) -> Any:
        """Of the one version that Kubernetes reads, and null as what is not said."""
        if not isinstance(value, dict):
            return value
        kind, version = value.get("kind", _KIND), value.get("apiVersion", GROUP)
        if kind != _KIND and isinstance(kind, str):
            hint = _WRAPPERS.get(
                kind, f"give the file that kube-scheduler has as --config: `{_KIND}`"
            )
            raise FieldError(f"must be {_KIND} (got {kind!r})", ("kind",), hint=hint)
        if version != GROUP:
            since = ""
            if isinstance(version, str) and version.startswith((f"{GROUP}alpha", f"{GROUP}beta")):
                since = ", the only version since Kubernetes 1.29"
            message = f"must be {GROUP} (got {version!r})"
            raise FieldError(message, ("apiVersion",), hint=f"`{GROUP}`{since}")
        return _without_nulls(value)

    @model_validator(mode="after")
    def _names_differ(self) -> "KubeSchedulerConfiguration":
        names = self.names
        if len(set(names)) < len(names) or "" in names:
            message = "two profiles have the same schedulerName, or one has none"
            raise FieldError(message, ("profiles",))
        return self

    @model_validator(mode="after")
    def _queue_is_one(self) -> "KubeSchedulerConfiguration":
        queues = [(profile.plugins or Plugins()).queueSort for profile in self.profiles or ()]
        for number, queue in enumerate(queues):
            if queue != queues[0]:
                at = ("profiles", number, "plugins", "queueSort")
                raise FieldError("must be the same in all profiles", at)
        return self

    @model_validator(mode="after")
    def _backoff_grows(self) -> "KubeSchedulerConfiguration":
        first, most = self.podInitialBackoffSeconds or 1, self.podMaxBackoffSeconds or 10
        if most < first:
            message = f"must be podInitialBackoffSeconds, {first}, or more"
            raise FieldError(message, ("podMaxBackoffSeconds",))
        return self

    @model_validator(mode="after")
    def _extenders_go_together(self) -> "KubeSchedulerConfiguration":
        extenders = self.extenders or []
        if sum(bool(extender.bindVerb) for extender in extenders) > 1:
            raise FieldError("only one extender can have a `bindVerb`", ("extenders",))
        managed = [one.name for extender in extenders for one in extender.managedResources or ()]
        twice = sorted({name for name in managed if managed.count(name) > 1})
        if twice:
            raise FieldError(f"`{twice[0]}` is managed twice", ("extenders",))
        return self

    @property
    def profiles_in_force(self) -> list[tuple[str, KubeSchedulerProfile]]:
        """Every profile with its name; without any there is the default one."""
        profiles = self.profiles or [KubeSchedulerProfile()]
        usual = "default-scheduler" if len(profiles) == 1 else ""
        return [(profile.schedulerName or usual, profile) for profile in profiles]

    @property
    def names(self) -> list[str]:
        """The schedulerName of each profile."""
        return [name for name, _ in self.profiles_in_force]
