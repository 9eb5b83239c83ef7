"""What a `*_test.yaml` may hold: small clusters, and what is expected of them."""

from datetime import timedelta
from typing import Any

from pydantic import Field, model_validator

from rescheduler.documents.fields import PositiveDuration, Strict


class Expectation(Strict):
    """What the policies make of the cluster. Only what is given is checked."""

    cost: dict[str, float] | None = Field(
        None, description="Cost of each policy by name, unweighted, to two decimals."
    )
    candidates: dict[str, list[str]] | None = Field(
        None, description="Workloads with a pod whose move could lower the cost, by policy."
    )
    findings: dict[str, list[str]] | None = Field(
        None, description="What each policy finds before anything moves: `CODE SUBJECT`."
    )
    moves: list[str] | None = Field(
        None, description="The plan's moves in order: `WORKLOAD NODE -> LIKELIEST NODE`."
    )
    refused: dict[str, str] | None = Field(
        None, description="Workload to the reason code for which its pods stay."
    )
    problem: dict[str, str] | None = Field(
        None, description="Policy to the reason code for which it is not evaluated."
    )

    @model_validator(mode="after")
    def _expects_something(self) -> "Expectation":
        if not self.model_fields_set:
            raise ValueError("nothing is expected, so the test could not fail")
        return self


class PolicyTest(Strict):
    """One cluster, drawn or listed, with its readings."""

    name: str = Field(min_length=1, description="What the policy test shows, in a sentence.")
    cluster: str | None = Field(
        None,
        min_length=1,
        description="A drawing: one row a node, `zone a | n1 gpu 8 | web (web) api!`: "
        "`(web)` is being deleted, `api!` crash-loops.",
    )
    objects: list[dict[str, Any]] | None = Field(
        None, min_length=1, description="Instead of a drawing: Kubernetes objects, as kubectl -o."
    )
    requests: dict[str, dict[str, str | int | float]] = Field(
        default_factory=dict, description="Drawn: what each pod of a workload requests."
    )
    specs: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Drawn: further fields of the pods' spec, by workload."
    )
    budgets: dict[str, int] = Field(
        default_factory=dict, description="Drawn: disruptions that a workload's budget allows."
    )
    zones: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="NUMA zones by node: policy, scope, and zones."
    )
    readings: dict[str, dict[str, str | int | float | None]] = Field(
        default_factory=dict,
        description="Reading to the series of each node, of each pod by workload, or of each pair "
        "as `ONE -> OTHER`.",
    )
    devices: dict[str, dict[str, dict[str, list[str | int | float]]]] = Field(
        default_factory=dict,
        description="Of a reading, by node and device: its value, and the pods that have it, "
        "such as `GPU-1: [79, train-0]`, or `GPU-1: [0.9, a-0=0.6, b-0=0.3]` with what each uses.",
    )
    interval: PositiveDuration = Field(
        timedelta(minutes=1), description="Time between two samples of a series."
    )
    foundFor: PositiveDuration | None = Field(
        None,
        description="For how long each cycle before has had the findings of now, for policies with "
        "`stableFor`. Not for load and signs: their series show it.",
    )
    expect: Expectation

    @model_validator(mode="after")
    def _one_cluster(self) -> "PolicyTest":
        if (self.cluster is None) == (self.objects is None):
            raise ValueError("write either `cluster` (a drawing) or `objects` (a list)")
        drawn = (self.requests, self.specs, self.budgets)
        if self.objects is not None and any(drawn):
            raise ValueError("`requests`, `specs` and `budgets` belong to a drawing")
        return self


class PolicyTestFile(Strict):
    """A file of policy tests about the policies of one file."""

    policy: str = Field(min_length=1, description="The policy file, relative to this one.")
    tests: list[PolicyTest] = Field(min_length=1, description="The policy tests.")
