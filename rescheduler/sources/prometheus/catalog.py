"""The built-in readings, as the documents that ship with the package define them."""

from collections.abc import Iterable

from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.policies.own_readings.definition import (
    LINKS,
    NODE_LABELS,
    OWNER_LABELS,
    OwnReading,
)
from rescheduler.policies.own_readings.readings_document import built_in


def holders_of(definitions: Iterable[OwnReading]) -> str:
    """The query for the newest sample of each device and pod that has it, of all makers."""
    return " or ".join(definition.holders for definition in definitions if definition.holders)


def unit_of(name: str, parts: Iterable[OwnReading]) -> str:
    """The unit of a reading's values; of a node's health it is "", whatever counts its faults."""
    first = next(iter(parts))
    if first.holders is not None:
        return ""
    return "ratio" if name.startswith("node.") and first.relative else first.unit


def _catalog() -> dict[str, tuple[OwnReading, ...]]:
    definitions: dict[str, tuple[OwnReading, ...]] = {}
    for document in built_in():
        for name, reading in document.own_readings.items():
            definitions[name] = (*definitions.get(name, ()), reading)
    return definitions


CATALOG = _catalog()
"""What the document of each exporter defines every built-in reading by, by its name."""


def definitions_of(
    request: ReadingRequest,
) -> tuple[tuple[OwnReading, ...], tuple[OwnReading, ...]]:
    """What a reading is defined by: what operators define, and what is built in for the rest.

    Nothing built in is left where one of theirs is about every node or pod, and where it is about
    the devices of a maker, nothing for those.
    """
    own: tuple[OwnReading, ...] = request.own or ()
    shipped_definitions = CATALOG.get(request.name, ())
    if not all(reading.resources or reading.devices for reading in own):
        return own, ()
    makers = {reading.devices for reading in own if reading.devices}
    return own, tuple(reading for reading in shipped_definitions if reading.devices not in makers)


_NAMES = {
    "$node": ",".join(("cluster", "job", "instance", *NODE_LABELS)),
    "$pod": ",".join(("namespace", "pod", *OWNER_LABELS)),
    "$links": LINKS,
}


def fill(template: str, window: float, match: str) -> str:
    """The query of a template. window: seconds. match: matchers with a trailing comma, or "".

    `$step` is a tenth of the window, and `$span` two of them: for quantiles over many short rates.
    `$node` and `$pod` are the labels that may tell a node and a pod, `$links` the names of the
    node's own network devices.
    """
    for name, text in _NAMES.items():
        template = template.replace(name, text)
    spans = {"$window": window, "$step": window / 10, "$span": window / 5}
    for name, seconds in spans.items():
        template = template.replace(name, _span(seconds))
    # A brace that is left with nothing but the matchers' trailing comma is valid PromQL.
    return template.replace("$match ", match).replace("$match", match)


def _span(seconds: float) -> str:
    milliseconds = round(seconds * 1000)
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"
