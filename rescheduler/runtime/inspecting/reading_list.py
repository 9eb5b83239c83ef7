"""Which readings are defined, by which documents, and what a metric source has of their series."""

from collections.abc import Iterator
from dataclasses import dataclass

from rescheduler.documents.validation import near
from rescheduler.model.errors import SettingsError
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.policies.own_readings.readings_document import (
    ReadingsDocument,
    built_in,
    preset_of,
)
from rescheduler.policies.own_readings.shipped_documents import BUILT_IN, PRESETS, text_of
from rescheduler.runtime.reading_sources import series_counts
from rescheduler.runtime.settings import Settings
from rescheduler.sources.reading_series import series_of


@dataclass(frozen=True)
class Defined:
    """A reading by one definition. place: the document that has it, and whose that is."""

    name: str
    place: str
    own: OwnReading


def all_definitions(policies: PolicySet | None) -> Iterator[Defined]:
    """Every definition: those of operators, those built in, those of presets."""
    for document in policies.readings if policies is not None else ():
        place = f"{document.name} ({policies.files[document.name]})" if policies else ""
        for name, owns in document.definitions().items():
            yield from (Defined(name, place, own) for own in owns)
    for place, documents in (
        ("built in", built_in()),
        ("preset", tuple(map(preset_of, PRESETS))),
    ):
        for shipped_document in documents:
            yield from (
                Defined(name, f"{shipped_document.name} ({place})", own)
                for name, own in shipped_document.own_readings.items()
            )


def document_text(name: str) -> str:
    """The shipped document of that name, or those that define the reading of that name.

    Raises:
        SettingsError: there is neither.
    """
    for folder, names in (("builtin", BUILT_IN), ("presets", PRESETS)):
        if name in names:
            return text_of(folder, name)
    parts = [
        text
        for folder, documents in (("builtin", built_in()), ("presets", map(preset_of, PRESETS)))
        for document in documents
        if (text := _part(folder, document, name))
    ]
    if not parts:
        all_names = [
            *BUILT_IN,
            *PRESETS,
            *(definition.name for definition in all_definitions(None)),
        ]
        hint = near(name, all_names)
        raise SettingsError(
            f"there is no reading and no document `{name}`",
            f"{hint} is meant." if hint else "`rescheduler readings` prints all of them.",
        )
    return "---\n".join(parts)


def _part(folder: str, document: ReadingsDocument, name: str) -> str:
    """The document with that reading alone, as it is written; "" where it has none."""
    if name not in document.readings:
        return ""
    lines = text_of(folder, document.name).splitlines(keepends=True)
    start = lines.index(f"    {name}:\n")
    end = next(
        (n for n in range(start + 1, len(lines)) if not lines[n].startswith("     ")
         and not lines[n].startswith("    -")),
        len(lines),
    )  # fmt: skip
    head = lines[: lines.index("  readings:\n") + 1]
    return "".join([*head, *lines[start:end]])


def texts_of_series(settings: Settings, definitions: list[Defined]) -> dict[str, str]:
    """Each series with what the metric source has of it: how many, from which job.

    Raises:
        MetricsUnavailable: it does not answer.
    """
    names = dict.fromkeys(name for definition in definitions for name in series_of(definition.own))
    counts = series_counts(settings, list(names))
    return {
        name: ", ".join(f'{count:,} of job="{job}"' for job, count in sorted(counts_by_job.items()))
        for name, counts_by_job in counts.items()
    }
