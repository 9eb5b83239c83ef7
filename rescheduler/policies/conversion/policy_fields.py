"""The fields of a DeschedulerPolicy of v1alpha2 around its plugins, and what becomes of each.

Source: sigs.k8s.io/descheduler v0.36, pkg/api/v1alpha2/types.go.
"""

from typing import Annotated, Any

from pydantic import Field

from rescheduler.documents.fields import Strict
from rescheduler.policies.conversion.foreign_fields import Count, SelectorText
from rescheduler.policies.conversion.outcomes import Becomes, Lost, Same

_NAMED = Becomes("the form of the file")
_NO_SORTING = Lost("descheduler has this extension point and does nothing at it.", ({},))
_FILTERS = Becomes("DefaultEvictor, which always filters")


class EnabledPlugins(Strict):
    """Plugins of one extension point."""

    enabled: Annotated[list[str] | None, Becomes("a policy for each plugin")] = None
    disabled: Annotated[list[str] | None, Same("descheduler does not read it")] = None


class ForeignPlugins(Strict):
    """Plugins by extension point."""

    deschedule: EnabledPlugins | None = None
    balance: EnabledPlugins | None = None
    filter: Annotated[EnabledPlugins | None, _FILTERS] = None
    preEvictionFilter: Annotated[EnabledPlugins | None, _FILTERS] = None
    preevictionfilter: Annotated[EnabledPlugins | None, _FILTERS] = None
    evict: Annotated[
        EnabledPlugins | None, Becomes("the Eviction API, always; Koordinator alone has it")
    ] = None
    sort: Annotated[EnabledPlugins | None, _NO_SORTING] = None
    presort: Annotated[EnabledPlugins | None, _NO_SORTING] = None
    preSort: Annotated[EnabledPlugins | None, _NO_SORTING] = None


class ForeignPluginConfig(Strict):
    """Arguments of one plugin."""

    name: Annotated[str, Becomes("which plugin")]
    args: Annotated[dict[str, Any] | None, Becomes("fields of the policy")] = None


class ForeignProfile(Strict):
    """Plugins with their arguments."""

    name: Annotated[str | None, Becomes("the names of the policies, of several profiles")] = None
    nodeSelector: Annotated[
        SelectorText | None, Becomes("`nodes` of the policies; Koordinator alone has it")
    ] = None
    pluginConfig: list[ForeignPluginConfig] | None = None
    plugins: ForeignPlugins | None = None


class DeschedulerPolicy(Strict):
    """The whole file."""

    apiVersion: Annotated[str | None, _NAMED] = None
    kind: Annotated[str | None, _NAMED] = None
    metadata: Annotated[dict[str, Any] | None, _NAMED] = None
    nodeSelector: Annotated[SelectorText | None, Becomes("`nodes` of every policy")] = None
    maxNoOfPodsToEvictPerNode: Annotated[Count | None, Becomes("`movesPerNode` of the Limits")] = (
        None
    )
    maxNoOfPodsToEvictPerNamespace: Annotated[
        Count | None, Becomes("`movesPerNamespace` of the Limits")
    ] = None
    maxNoOfPodsToEvictTotal: Annotated[Count | None, Becomes("`movesPerCycle` of the Limits")] = (
        None
    )
    gracePeriodSeconds: Annotated[
        Count | None,
        Lost(
            "An eviction never changes how long a pod may take to end. Set "
            "terminationGracePeriodSeconds in the workload."
        ),
    ] = None
    evictionFailureEventNotification: Annotated[
        bool | None, Same("each refused eviction is in the outcome, with its reason")
    ] = None
    metricsCollector: Annotated[
        dict[str, Any] | None,
        Lost("Loads are read from Prometheus: run with `--prometheus-url`, or let it be found."),
    ] = None
    metricsProviders: Annotated[
        list[dict[str, Any]] | None,
        Lost(
            "Where Prometheus is, and its token, is said by options: `--prometheus-url` and "
            "`--prometheus-token-file`."
        ),
    ] = None
    profiles: Annotated[list[ForeignProfile] | None, Field(min_length=1)] = None


LENIENT: dict[type[Strict], dict[str, type[Strict]]] = {
    DeschedulerPolicy: {"profiles": ForeignProfile},
    ForeignProfile: {"pluginConfig": ForeignPluginConfig, "plugins": ForeignPlugins},
    ForeignPlugins: dict.fromkeys(ForeignPlugins.model_fields, EnabledPlugins),
}
"""Models of which descheduler ignores unknown fields, and the models in their fields."""
