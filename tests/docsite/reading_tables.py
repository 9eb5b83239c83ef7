"""The tables of all readings, written from their documents so that they cannot be wrong."""

from collections.abc import Iterable, Iterator

from rescheduler.policies.own_readings.readings_document import (
    ReadingsDocument,
    built_in,
    preset_of,
)
from rescheduler.policies.own_readings.shipped_documents import PRESETS
from rescheduler.sources.reading_series import series_of

_INTRODUCTION = """\
## Built-in readings

What the policies measure with, exporter by exporter. Each is a document of kind
[Readings](#readings) that ships with the program. A reading of yours with the name of a built-in
one replaces it.

What is absent stays absent. Of several series in a row the first that a node has counts, and the
next completes what it lacks. `--prometheus-selector` adds its matchers to every selector.

Traffic between pods (`pair.traffic`) and distances (`pair.distance`) are queries of your own: see
[Locality](locality.md).
"""

_PRESETS = """\
## Presets

Documents that ship with the program too, and are read where a document of kind
[Readings](#readings) names them in `presets`. A reading with the name of a built-in one replaces it
for the nodes that offer the devices, and for the pods that ask for them.
"""


def reading_tables() -> str:
    """What each reading is, exporter by exporter."""
    parts = [_INTRODUCTION, *_tables(built_in()), _PRESETS, *_tables(map(preset_of, PRESETS))]
    return "\n".join(parts).rstrip() + "\n"


def _tables(documents: Iterable[ReadingsDocument]) -> Iterator[str]:
    for document in documents:
        yield from (f"### Readings of {document.name}", "", document.about, "")
        yield from ("| reading | unit | series | needs |", "|---|---|---|---|")
        for name, own in document.readings.items():
            needs = own.needs
            series = "<br>".join(f"`{one}`" for one in series_of(own))
            yield f"| `{name}` | {own.unit} | {series} | {needs} |"
        yield ""
