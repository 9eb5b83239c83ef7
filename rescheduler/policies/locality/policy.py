"""Locality: keep pods near the pods, and the data, that they exchange traffic with."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from rescheduler.documents.field_problems import FieldError, FieldPath
from rescheduler.documents.fields import PositiveDuration, Ratio, Strict
from rescheduler.documents.label_names import LabelKeyTemplate
from rescheduler.documents.promql import PrometheusLabel, Query, SeriesSelector
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.base import Policy
from rescheduler.policies.locality.domain_tree import KNOWN, Level
from rescheduler.policies.locality.preferences import Preferences
from rescheduler.policies.locality.term import LocalityTerm
from rescheduler.policies.locality.traffic_fields import TrafficFields
from rescheduler.policies.match import Match
from rescheduler.policies.own_readings.pair_reading import PairReading
from rescheduler.policies.shared.absent_names import absent_in_pods, absent_labels

_SOURCES = ("pairs", "groups", "traffic", "podAffinity", "datasets")

_Weight = Field(1.0, gt=0, le=1000, description="What each pod of it counts.")


class PodPair(Strict):
    """Two sets of pods that exchange traffic with each other; a pod in both belongs to `pods`."""

    pods: Match = Field(description="One side.")
    near: Match = Field(description="The other side.")
    weight: float = _Weight


class PodGroup(Strict):
    """Pods that belong together, such as those of one job."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {field: {"type": "string"}}, "required": [field]}
                for field in ("together", "apart")
            ]
        }
    )

    pods: Match = Field(description="The pods to evaluate.")
    by: Literal["Workload", "Gang", "All"] = Field(
        "Workload",
        description="Whether each workload is a group, each gang (pods in none by their workload), "
        "or all of them are one. Gangs are moved only where the Limits have `gangs: Surplus` or "
        "`gangs: Whole`.",
    )
    together: str | None = Field(
        None, min_length=1, description="The level within which they shall be, such as `rack`."
    )
    apart: str | None = Field(
        None, min_length=1, description="The level that no two shall share, such as `host`."
    )
    weight: float = _Weight

    @model_validator(mode="after")
    def _wants_something(self) -> "PodGroup":
        if self.together is None and self.apart is None:
            raise ValueError("at least one of together, apart is required")
        return self


class Distances(Strict):
    """How far the domains of a level are from each other: measured, not the same for each pair.

    Each row is for two domains: bytes between zones, seconds of a round trip, a price. The
    pair with the most is as far as the level's `weight`, each other pair its share of that. Of
    both directions the mean counts. What is measured within a domain does not count. Traffic
    changes with every move: over a long window, or better by round trips or prices, distances stay.
    """

    level: str = Field("zone", min_length=1, description="The level of the domains.")
    series: SeriesSelector = Field(
        description="A PromQL selector of a counter, such as of bytes; the age comes from it too. "
        "`$match` is replaced by the matchers of the metric source, and must be there if it has "
        "any.",
    )
    query: Query | None = Field(
        None,
        description="PromQL for one row per pair, `$window` is the window and `$match` as in "
        "`series`; needed where `series` is no counter. Unless given, the rate of `series`, summed "
        "by the labels below.",
    )
    source: PrometheusLabel = Field(description="The label with the one domain.")
    destination: PrometheusLabel = Field(description="The label with the other.")
    window: PositiveDuration = Field(
        timedelta(minutes=30), description="Over what time is averaged."
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=5), description="An older series counts as absent."
    )
    minCoverage: Ratio = Field(
        1.0,
        description="The share of all pairs of domains that must have a value, else the policy "
        "is not evaluated; a pair without one is as far as the farthest.",
    )

    def request(self) -> ReadingRequest:
        """The reading of pairs that it needs; its coverage is evaluated by the nodes' domains."""
        return ReadingRequest(
            "pair.distance",
            window=self.window.total_seconds(),
            max_age=self.maxAge.total_seconds(),
            min_coverage=0.0,
            query=self.query or "",
            series=self.series,
            columns=("", self.source, "Domain", "", self.destination, "Domain"),
        )


class Datasets(Strict):
    """Pods that annotation `rescheduler.io/dataset` ties to data, and where that data is."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {field: {"type": "string"}}, "required": [field]}
                for field in ("nodeLabel", "catalog")
            ]
        }
    )

    nodeLabel: LabelKeyTemplate | None = Field(
        None,
        description="The key of the label of nodes that hold a dataset; `{dataset}` and "
        "`{namespace}` are filled in, as in `fluid.io/s-{namespace}-{dataset}`.",
    )
    catalog: str | None = Field(
        None,
        pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$",
        description="The name of a catalog, whose address --dataset-catalogs gives: a JSON "
        "document `{datasets: {NAME: {LEVEL: [DOMAIN]}}}`.",
    )
    timeout: PositiveDuration = Field(
        timedelta(seconds=5), description="How long the catalog may take to answer."
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=10), description="How long its last answer counts while it is down."
    )
    weight: float = _Weight

    @field_validator("catalog", mode="before")
    @classmethod
    def _is_a_name(cls, catalog: Any) -> Any:
        if isinstance(catalog, str) and "://" in catalog:
            hint = "a name here, and `--dataset-catalogs NAME=URL`"
            raise FieldError("must be the name of a catalog, not its address", hint=hint)
        return catalog

    @model_validator(mode="after")
    def _knows_where(self) -> "Datasets":
        if self.nodeLabel is None and self.catalog is None:
            raise ValueError("at least one of nodeLabel, catalog is required")
        return self

    def request(self) -> ReadingRequest | None:
        """The reading of the catalog, if one is named."""
        if self.catalog is None:
            return None
        return ReadingRequest(
            "pair.dataset",
            window=self.timeout.total_seconds(),
            max_age=self.maxAge.total_seconds(),
            min_coverage=0.0,
            query=self.catalog,
        )


class Locality(Policy):
    """Charge 1.0 for every pod that is as far as can be from its partners, less where nearer.

    The distance of two nodes is the sum of the steps of all levels that they do not share, 0 on
    one host and 1 where nothing is shared; a host without a label of a level shares it with itself
    alone; levels without labels, or alike everywhere, are left out. With `distances` the step
    between two domains of that level is their measured share of the farthest two. What each source
    of preferences costs:

    - `pairs`: pods of the smaller side, times the mean distance of the traffic: over the levels
      the sum of step * (1 - G), where G = sum over domains of min(share of one side, share of the
      other) is the gained affinity (RASA, ICDE 2024); with `distances`, 1 - G is multiplied by the
      mean share of what leaves a domain, spread over the domains that lack some in proportion;
    - `traffic`: the same, with the measured traffic of a pair divided by that of an average pod;
    - `groups`: the pods outside of the domain that holds most of the group (`together`), and those
      that share a domain with one before them (`apart`); half each if both are set;
    - `podAffinity`: of each pod the share of its terms, by weight, that are not met; pods of
      another namespace are not moved for it;
    - `datasets`: the distance to the nearest node that holds the data.

    A source without data is not evaluated, and the report warns of it. Without its `distances` the
    whole policy is not evaluated: everything would seem farther than it is.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"pairs": {"minItems": 1}}, "required": ["pairs"]},
                {"properties": {"groups": {"minItems": 1}}, "required": ["groups"]},
                {"properties": {"traffic": {"type": "object"}}, "required": ["traffic"]},
                {"properties": {"podAffinity": {"const": True}}, "required": ["podAffinity"]},
                {"properties": {"datasets": {"type": "object"}}, "required": ["datasets"]},
            ]
        }
    )

    summary: ClassVar[str] = "Keep pods near the pods and the data that they exchange traffic with."
    codes: ClassVar[tuple[str, ...]] = ("LOC", "RDG011")

    kind: Literal["Locality"] = "Locality"
    match: Match = Field(description="The pods that may be moved. Every pod counts as a partner.")
    levels: list[Level] = Field(
        default_factory=lambda: list(KNOWN),
        min_length=1,
        description="The tree of domains, nearest level first.",
    )
    distances: Distances | None = Field(
        None, description="How far the domains of one level are from each other, as measured."
    )
    pairs: list[PodPair] = Field(default_factory=list, description="Declared pairs.")
    groups: list[PodGroup] = Field(default_factory=list, description="Declared groups.")
    traffic: TrafficFields | None = Field(None, description="Measured traffic.")
    podAffinity: bool = Field(
        default=False, description="Whether the podAffinity of the pods themselves counts."
    )
    datasets: Datasets | None = Field(None, description="Where the pods' data is.")

    @model_validator(mode="after")
    def _has_a_source(self) -> "Locality":
        if not any(getattr(self, source) for source in _SOURCES):
            raise ValueError(f"at least one of {', '.join(_SOURCES)} is required")
        names = [level.name for level in self.levels]
        for number, name in enumerate(names):
            if (first := names.index(name)) < number:
                own: FieldPath = ("levels", number, "name")
                other: FieldPath = ("levels", first, "name")
                raise FieldError("another level has the same name", own, others=[other])
        for at, wanted in self._levels_named():
            if wanted not in names:
                message = f"there is no level `{wanted}`; levels are {', '.join(names)}"
                raise FieldError(message, at, choices=names)
        return self

    def _levels_named(self) -> Iterator[tuple[FieldPath, str]]:
        """Where a level is named, and its name."""
        for number, group in enumerate(self.groups):
            for field, name in (("together", group.together), ("apart", group.apart)):
                if name is not None:
                    yield ("groups", number, field), name
        if self.traffic is not None and self.traffic.destinationDomain is not None:
            yield ("traffic", "destinationLevel"), self.traffic.destinationLevel
        if self.distances is not None:
            yield ("distances", "level"), self.distances.level

    def grouped_by_gang(self) -> Iterator[FieldPath]:
        """The groups that are gangs."""
        for number, group in enumerate(self.groups):
            if group.by == "Gang":
                yield "groups", number, "by"

    def absent(self, snapshot: Snapshot) -> Iterator[str]:
        """Levels whose labels no node has, and podAffinity that no pod has."""
        if self.podAffinity and not (self.pairs or self.groups or self.traffic or self.datasets):
            yield from absent_in_pods(
                "podAffinity",
                "podAffinity",
                self.match,
                snapshot,
                lambda spec: bool(spec.affinity and spec.affinity.podAffinity),
            )
        if "levels" in self.model_fields_set:
            for number, level in enumerate(self.levels):
                yield from absent_labels(f"levels.{number}.labels", level.labels, snapshot)

    def without_effect(self) -> Iterator[str]:
        """Besides, distances where every source counts only domains."""
        yield from super().without_effect()
        if self.distances and not (self.pairs or self.traffic or self.datasets):
            yield "no pairs, traffic or datasets, so distances have no effect"

    def resolve_readings(self, traffic: Mapping[str, PairReading]) -> "Locality":
        """The policy with its traffic as it is defined."""
        name = None if self.traffic is None else self.traffic.reading
        if self.traffic is None or name is None:
            return self
        if name not in traffic:
            message = f"no document of kind Readings has traffic `{name}`"
            raise FieldError(message, ("traffic", "reading"), choices=traffic)
        return self.model_copy(update={"traffic": self.traffic.defined_by(traffic[name])})

    def requests(self) -> list[ReadingRequest]:
        """The readings of distances, of traffic and of the catalog."""
        wanted = [
            self.distances.request() if self.distances is not None else None,
            self.traffic.request() if self.traffic is not None else None,
            self.datasets.request() if self.datasets is not None else None,
        ]
        return [request for request in wanted if request is not None]

    def compile(self, snapshot: Snapshot) -> LocalityTerm | Problem:
        """The term, or why none of its sources can be evaluated."""
        preferences = Preferences(self.levels, snapshot)
        if self.distances is not None:
            far = self.distances
            problem = preferences.measure(far.request(), far.level, far.minCoverage)
            if problem is not None:
                return problem
        for pair in self.pairs:
            preferences.add_pair(pair.pods, pair.near, pair.weight)
        for group in self.groups:
            preferences.add_groups(
                group.pods,
                by=group.by,
                together=group.together,
                apart=group.apart,
                weight=group.weight,
            )
        if self.podAffinity:
            preferences.add_affinity()
        if self.traffic is not None:
            traffic = self.traffic
            level = traffic.destinationLevel if traffic.destination is None else None
            preferences.add_traffic(traffic.request(), level, traffic.weight)
        if self.datasets is not None:
            data = self.datasets
            preferences.add_datasets(data.nodeLabel, data.request(), data.weight)
        return preferences.term(self.match)
