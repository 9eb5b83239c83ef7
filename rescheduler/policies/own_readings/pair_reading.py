"""Readings of pairs: traffic of each workload with another one or with a domain."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from rescheduler.documents.fields import Strict, exactly_one_of
from rescheduler.documents.promql import OwnQuery, PrometheusLabel, SeriesSelector, require_match

PAIR_FIELDS = ("series", "query", "source", "destination", "destinationDomain")
"""What defines a reading of pairs, here and in a policy that defines its own."""

SERIES = (
    "A PromQL selector of the counter of bytes or requests; the age comes from it too. `$match` is "
    "replaced by the matchers of the metric source, and must be there if it has any."
)
QUERY = (
    "PromQL for one row per pair, `$window` is the window and `$match` as in `series`. Unless "
    "given, the rate of `series`, summed by the labels below."
)
DOMAIN = (
    "Instead of `destination`: the label with the domain at the other end of the traffic. `source` "
    "then names the labels of the workload at this end."
)


class End(Strict):
    """The labels of a traffic series that name one end of it."""

    namespace: PrometheusLabel = Field(description="The label with the namespace.")
    name: PrometheusLabel = Field(description="The label with the name.")
    kind: Literal["Workload", "Pod"] = Field(
        "Workload", description="Whether it is the name of a workload (a Deployment) or of a pod."
    )


class PairReading(Strict):
    """Traffic of workloads, for the `traffic` of Locality."""

    model_config = ConfigDict(json_schema_extra=exactly_one_of("destination", "destinationDomain"))

    series: Annotated[SeriesSelector, AfterValidator(require_match)] = Field(description=SERIES)
    query: OwnQuery | None = Field(None, description=QUERY)
    source: End = Field(description="The workload or pod at one end of the traffic.")
    destination: End | None = Field(None, description="The workload or pod at the other end.")
    destinationDomain: PrometheusLabel | None = Field(None, description=DOMAIN)

    @model_validator(mode="after")
    def _has_one_other_end(self) -> "PairReading":
        if (self.destination is None) == (self.destinationDomain is None):
            raise ValueError("exactly one of destination, destinationDomain is required")
        return self
