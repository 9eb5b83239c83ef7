"""KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1), strictly read.

An operator's own file, and what a running scheduler answers under /configz. What does not decide a
placement (leader election, client, backoff) is accepted and ignored; what is not known at all
is an error, because it might.
"""

from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from rescheduler.documents.fields import Strict
from rescheduler.scheduler.config.plugin_arguments import Arguments

GROUP = "kubescheduler.config.k8s.io/v1"

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
    "placementScore",
)


class PluginEntry(Strict):
    """One plugin at one extension point."""

    name: str = Field(min_length=1)
    weight: int | None = Field(None, ge=0)


class PluginSet(Strict):
    """What one extension point turns on and off."""

    enabled: list[PluginEntry] | None = None
    disabled: list[PluginEntry] | None = None


class Plugins(Strict):
    """The plugins of a profile by extension point."""

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
    placementScore: PluginSet = PluginSet()


class PluginConfig(Strict):
    """The arguments of one plugin."""

    name: str = Field(min_length=1)
    args: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _args_are_known(self) -> "PluginConfig":
        self.parsed()
        return self

    def parsed(self) -> Arguments:
        """The arguments, where they decide a placement."""
        if self.name not in Arguments.model_fields or self.args is None:
            return Arguments()
        given = {key: each for key, each in self.args.items() if key not in ("apiVersion", "kind")}
        if self.args.get("apiVersion", GROUP) != GROUP:
            raise ValueError(f"args of {self.name}: apiVersion must be {GROUP}")
        if self.args.get("kind", f"{self.name}Args") != f"{self.name}Args":
            raise ValueError(f"args of {self.name}: kind must be {self.name}Args")
        try:
            return Arguments.model_validate({self.name: given})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"][1:])
            raise ValueError(f"args of {self.name}: {place}: {first['msg']}") from None


class KubeSchedulerProfile(Strict):
    """One profile; pods choose it by its schedulerName."""

    schedulerName: str | None = Field(None, min_length=1)
    percentageOfNodesToScore: int | None = Field(None, ge=0, le=100)
    plugins: Plugins | None = None
    pluginConfig: list[PluginConfig] | None = None

    @field_validator("pluginConfig")
    @classmethod
    def _once_each(cls, value: list[PluginConfig] | None) -> list[PluginConfig] | None:
        names = [each.name for each in value or ()]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"plugin {repeated[0]} has two sets of arguments")
        return value


class ManagedResource(Strict):
    """A resource that an extender manages."""

    name: str = Field(min_length=1)
    ignoredByScheduler: bool = False


class Extender(Strict):
    """A web service that the scheduler asks."""

    urlPrefix: str
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


class KubeSchedulerConfiguration(Strict):
    """The configuration of one kube-scheduler process."""

    apiVersion: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    parallelism: int | None = None
    leaderElection: dict[str, Any] | None = None
    clientConnection: dict[str, Any] | None = None
    enableProfiling: bool | None = None
    enableContentionProfiling: bool | None = None
    percentageOfNodesToScore: int | None = Field(None, ge=0, le=100)
    podInitialBackoffSeconds: int | None = None
    podMaxBackoffSeconds: int | None = None
    delayCacheUntilActive: bool | None = None
    profiles: list[KubeSchedulerProfile] | None = None
    extenders: list[Extender] | None = None

    @model_validator(mode="after")
    def _names_differ(self) -> "KubeSchedulerConfiguration":
        names = self.names
        if len(set(names)) < len(names):
            raise ValueError("two profiles have the same schedulerName, or one has none")
        return self

    @property
    def profiles_in_force(self) -> list[tuple[str, KubeSchedulerProfile]]:
        """Every profile with its name; without any there is the default one."""
        profiles = self.profiles or [KubeSchedulerProfile()]
        usual = "default-scheduler" if len(profiles) == 1 else ""
        return [(each.schedulerName or usual, each) for each in profiles]

    @property
    def names(self) -> list[str]:
        """The schedulerName of each profile."""
        return [name for name, _ in self.profiles_in_force]
