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
from rescheduler.policies.own_readings.pair_reading import PairReading
from rescheduler.policies.own_readings.shipped_documents import BUILT_IN, PRESETS, load_shipped


def _one_of(names: Iterable[str]) -> tuple[AfterValidator, WithJsonSchema]:
    """A name among these, with what was meant instead of another one."""
    choices = tuple(names)

    def check(value: str) -> str:
        if value not in choices:
            raise FieldError(f"must be one of {', '.join(choices)}", choices=choices)
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "enum": list(choices)})


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

    def adapted_readings(self) -> dict[str, OwnReading]:
        """The readings of the document, with these matchers, names and devices."""

        def adapt(value: Any, query: bool = False) -> Any:
            if isinstance(value, dict):
                return {key: adapt(child, key in _QUERIES) for key, child in value.items()}
            if isinstance(value, list):
                return [adapt(element) for element in value]
            return self._query(value) if query else value

        spec = load_shipped(_SHIPPED[self.name], self.name)["spec"]
        return ReadingsDocument(name=self.name, **{**adapt(spec), "about": ""}).own_readings

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


class ReadingsDocument(Document):
    """Readings of your own, by name: beside the built-in ones or instead of them.

    The name of a [built-in reading](#built-in-readings) replaces it for all policies; any other
    name is new. `node.NAME` and `pod.NAME` together are a resource that Utilization can keep
    below a target (`targets.adapt`); any reading of nodes can be a sign of Health (`signs.adapt`).
    What `traffic` defines, Locality follows (`traffic.reading`).

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
    def _defines_something(self) -> "ReadingsDocument":
        if not (self.presets or self.exporters or self.readings or self.traffic):
            raise ValueError("at least one of presets, exporters, readings, traffic is required")
        for name, reading in self.readings.items():
            subject = name.partition(".")[0]
            wrong = {"node": "pods", "pod": "nodes"}[subject]
            if getattr(reading, wrong) is not None:
                message = f"`{wrong}` has no meaning for a reading of {subject}s"
                raise FieldError(message, ("readings", name, wrong))
            if subject == "pod" and reading.capacity is not None:
                message = "pods have no capacity; define that of the node's reading"
                raise FieldError(message, ("readings", name, "capacity"))
        return self

    @property
    def own_readings(self) -> dict[str, OwnReading]:
        """Its readings by name, each with the rules for all of them."""
        if not self.rejectWhen:
            return self.readings
        return {
            name: reading.model_copy(update={"rejectWhen": [*reading.rejectWhen, *self.rejectWhen]})
            for name, reading in self.readings.items()
        }

    def definitions(self) -> dict[str, tuple[OwnReading, ...]]:
        """All readings that it defines; of several for one name the first that applies counts."""
        answer: dict[str, tuple[OwnReading, ...]] = {}
        preset_readings = [preset_of(preset).own_readings for preset in self.presets]
        for readings in (
            *preset_readings,
            *(exporter.adapted_readings() for exporter in self.exporters),
        ):
            for name, reading in readings.items():
                answer[name] = (*answer.get(name, ()), reading)
        return answer | {name: (reading,) for name, reading in self.own_readings.items()}


@functools.cache
def preset_of(name: str) -> ReadingsDocument:
    """The document of a preset.

    Raises:
        KeyError: there is none of that name.
    """
    return ReadingsDocument(name=name, **load_shipped("presets", name)["spec"])


@functools.cache
def built_in() -> tuple[ReadingsDocument, ...]:
    """The documents of all that nobody needs to define, in the order of their names."""
    documents = (load_shipped("builtin", name) for name in BUILT_IN)
    return tuple(
        ReadingsDocument(name=document["metadata"]["name"], **document["spec"])
        for document in documents
    )
