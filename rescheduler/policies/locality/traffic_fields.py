"""Measured traffic: what operators write about it in a Locality policy."""

from datetime import timedelta
from typing import Any

from pydantic import ConfigDict, Field, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import PositiveDuration, Ratio, Strict
from rescheduler.documents.promql import PrometheusLabel, Query, SeriesSelector
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.policies.own_readings.pair_reading import (
    DOMAIN,
    PAIR_FIELDS,
    QUERY,
    SERIES,
    End,
    PairReading,
)

_ABSENT: dict[str, Any] = {"type": "null"}
_GIVEN: dict[str, Any] = {"not": _ABSENT}
_ENDS = ("destination", "destinationDomain")
_FORMS: list[Any] = [
    *(
        {
            "required": ["series", "source", end_field],
            "properties": {
                **dict.fromkeys(("series", "source", end_field), _GIVEN),
                **dict.fromkeys(("reading", *(end for end in _ENDS if end != end_field)), _ABSENT),
            },
        }
        for end_field in _ENDS
    ),
    {
        "required": ["reading"],
        "properties": {"reading": _GIVEN, **dict.fromkeys(PAIR_FIELDS, _ABSENT)},
    },
]


class TrafficFields(Strict):
    """Measured traffic, from each workload to another one or to a domain."""

    model_config = ConfigDict(json_schema_extra={"oneOf": _FORMS})

    reading: str | None = Field(
        None,
        min_length=1,
        description="A reading of `traffic` in a document of kind Readings, by its name. It "
        "then has the fields from `series` to `destinationDomain`; leave them out here.",
    )
    series: SeriesSelector | None = Field(None, description=SERIES)
    query: Query | None = Field(None, description=QUERY)
    source: End | None = Field(None, description="The workload or pod at one end of the traffic.")
    destination: End | None = Field(None, description="The workload or pod at the other end.")
    destinationDomain: PrometheusLabel | None = Field(None, description=DOMAIN)
    destinationLevel: str = Field(
        "zone", min_length=1, description="The level of the domains of `destinationDomain`."
    )
    window: PositiveDuration = Field(
        timedelta(minutes=30), description="Over what time traffic is averaged."
    )
    maxAge: PositiveDuration = Field(
        timedelta(minutes=5), description="An older series counts as absent."
    )
    minCoverage: Ratio = Field(
        0.9, description="The share of the known pairs that must have a fresh value."
    )
    weight: float = Field(1.0, gt=0, le=1000, description="What a pod with average traffic counts.")

    @model_validator(mode="after")
    def _has_its_ends(self) -> "TrafficFields":
        pair_fields = [name for name in PAIR_FIELDS if getattr(self, name) is not None]
        if self.reading is not None:
            if pair_fields:
                raise ValueError(
                    f"{pair_fields[0]} belongs in the document that defines the reading"
                )
            return self
        for name in ("series", "source"):
            if name not in pair_fields:
                raise FieldError("is required; or set `reading`", (name,))
        if (self.destination is None) == (self.destinationDomain is None):
            raise ValueError("exactly one of destination, destinationDomain is required")
        return self

    def defined_by(self, reading: PairReading) -> "TrafficFields":
        """The same with what the definition of its reading gives."""
        pair_fields = {name: getattr(reading, name) for name in PAIR_FIELDS}
        return self.model_copy(update={**pair_fields, "reading": None})

    def request(self) -> ReadingRequest:
        """The reading of pairs that it needs."""
        other: tuple[str, ...] = ("", self.destinationDomain or "", "Domain")
        if self.destination is not None:
            end = self.destination
            other = (end.namespace, end.name, end.kind)
        source = ("", "", "Workload")
        if self.source is not None:
            source = (self.source.namespace, self.source.name, self.source.kind)
        return ReadingRequest(
            "pair.traffic",
            window=self.window.total_seconds(),
            max_age=self.maxAge.total_seconds(),
            min_coverage=self.minCoverage,
            query=self.query or "",
            series=self.series or "",
            columns=(*source, *other),
        )
