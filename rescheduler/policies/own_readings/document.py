"""Readings: what operators measure with, beside or instead of what is built in."""

import functools
import json
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from rescheduler.documents.envelope import Document
from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import NO_OTHERS, Strict, at_least_one_of
from rescheduler.documents.promql import PrometheusLabel
from rescheduler.policies.own_readings.definition import LINKS, OwnReading, ReadingName, RejectRule
from rescheduler.policies.own_readings.pairs import PairReading
from rescheduler.policies.own_readings.shipped import BUILT_IN, PRESETS, shipped


def _one_of(names: Iterable[str]) -> tuple[AfterValidator, WithJsonSchema]:
    """A name among these, with what was meant instead of another one."""
    known = tuple(names)

    def check(value: str) -> str:
        if value not in known:
            raise FieldError(f"must be one of {', '.join(known)}", known=known)
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "enum": list(known)})


_SHIPPED = {**dict.fromkeys(PRESETS, "presets"), **dict.fromkeys(BUILT_IN, "builtin")}


class Exporter(Strict):
    """A document that ships with the program, as the exporter runs in your cluster."""

    name: Annotated[str, *_one_of(_SHIPPED)] = Field(
        description="The document's name, such as node-exporter."
    )
    matchers: dict[PrometheusLabel, str] = Field(
        default_factory=dict,
        description="Labels that its series must have, such as `job: dcgm-exporter`: series of "
        "these names from other exporters do not count.",
    )
    prefix: str = Field(
        "",
        pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$|^$",
        description="What a collector puts before the names of its metrics, such as `otel_`.",
    )
    links: str = Field(
        "",
        pattern=r"^[^\"\\\\]*$",
        description="A regular expression for the names of the network devices that count, instead "
        f"of `{LINKS}`.",
    )

    def adapted(self) -> dict[str, OwnReading]:
        """The readings of the document, with these matchers, names and devices."""

        def own(value: Any, query: bool = False) -> Any:
            if isinstance(value, dict):
                return {key: own(each, key in _QUERIES) for key, each in value.items()}
            if isinstance(value, list):
                return [own(each) for each in value]
            return self._query(value) if query else value

        spec = shipped(_SHIPPED[self.name], self.name)["spec"]
        return Readings(name=self.name, **{**own(spec), "about": ""}).own_readings

    def _query(self, text: str) -> str:
        said = "".join(f"{label}={json.dumps(value)}," for label, value in self.matchers.items())
        if self.prefix:
            text = _NAMED.sub(rf"{self.prefix}\1\2", text)
        if self.links:
            text = text.replace("$links", self.links)
        return text.replace("$match", f"$match {said}") if said else text


_QUERIES = frozenset({"value", "count", "fresh", "query", "holders"})
"""Fields that hold PromQL."""
_NAMED = re.compile(r"([a-zA-Z_:][\w:]*)(\{[^{}]*\$match)")


class Readings(Document):
    """Readings of your own, by name: beside the built-in ones or instead of them.

    The name of a [built-in reading](#built-in-readings) replaces it for all policies; any other
    name is new. `node.NAME` and `pod.NAME` together are a resource that Utilization can keep
    below a target (`targets.own`); any reading of nodes can be a sign of Health (`signs.own`). What
    `traffic` defines, Locality follows (`traffic.reading`).

    They are guarded like the built-in ones: by age, coverage, legal values and one series for each
    node, pod or device. `rescheduler check --prometheus-url` shows what each of them answers.
    """

    model_config = ConfigDict(
        json_schema_extra=at_least_one_of("presets", "exporters", "readings", "traffic")
    )

    kind: Literal["Readings"] = "Readings"
    about: str = Field("", description="What it reads, and from which exporter: for people.")
    presets: list[Annotated[str, *_one_of(PRESETS)]] = Field(
        default_factory=list,
        description="Ready definitions for an exporter, see [Presets](#presets). Where two have a "
        "reading of the same name, each counts for the devices that it is about.",
    )
    exporters: list[Exporter] = Field(
        default_factory=list,
        description="Documents that ship with the program, adapted: which job is read, a prefix of "
        "its metrics, which network devices count.",
    )
    readings: dict[ReadingName, OwnReading] = Field(
        default_factory=dict,
        json_schema_extra=NO_OTHERS,
        description="Definitions by the name of the reading; they replace those of the presets.",
    )

    rejectWhen: list[RejectRule] = Field(
        default_factory=list, description="As those of a reading, for all `readings` here."
    )
    traffic: dict[str, PairReading] = Field(
        default_factory=dict,
        description="Traffic of workloads, by the name that `traffic.reading` of Locality gives.",
    )

    @model_validator(mode="after")
    def _defines_something(self) -> "Readings":
        if not (self.presets or self.exporters or self.readings or self.traffic):
            raise ValueError("at least one of presets, exporters, readings, traffic is required")
        for name, each in self.readings.items():
            subject = name.partition(".")[0]
            wrong = {"node": "pods", "pod": "nodes"}[subject]
            if getattr(each, wrong) is not None:
                message = f"`{wrong}` has no meaning for a reading of {subject}s"
                raise FieldError(message, ("readings", name, wrong))
            if subject == "pod" and each.capacity is not None:
                message = "pods have no capacity; define that of the node's reading"
                raise FieldError(message, ("readings", name, "capacity"))
        return self

    @property
    def own_readings(self) -> dict[str, OwnReading]:
        """Its readings by name, each with the rules for all of them."""
        if not self.rejectWhen:
            return self.readings
        return {
            name: each.model_copy(update={"rejectWhen": [*each.rejectWhen, *self.rejectWhen]})
            for name, each in self.readings.items()
        }

    def definitions(self) -> dict[str, tuple[OwnReading, ...]]:
        """All readings that it defines; of several for one name the first that applies counts."""
        answer: dict[str, tuple[OwnReading, ...]] = {}
        found = [preset_of(each).own_readings for each in self.presets]
        for readings in (*found, *(each.adapted() for each in self.exporters)):
            for name, each in readings.items():
                answer[name] = (*answer.get(name, ()), each)
        return answer | {name: (each,) for name, each in self.own_readings.items()}


@functools.cache
def preset_of(name: str) -> Readings:
    """The document of a preset.

    Raises:
        KeyError: there is none of that name.
    """
    return Readings(name=name, **shipped("presets", name)["spec"])


@functools.cache
def built_in() -> tuple[Readings, ...]:
    """The documents of all that nobody needs to define, in the order of their names."""
    found = (shipped("builtin", each) for each in BUILT_IN)
    return tuple(Readings(name=each["metadata"]["name"], **each["spec"]) for each in found)
