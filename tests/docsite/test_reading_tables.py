"""The tables have the series of every reading."""

import re

import pytest

from rescheduler.policies.own_readings.readings_document import (
    ReadingsDocument,
    built_in,
    preset_of,
)
from rescheduler.policies.own_readings.shipped_documents import PRESETS
from rescheduler.sources.reading_series import series_of
from tests.docsite.reading_tables import reading_tables

DOCUMENTS = (*built_in(), *map(preset_of, PRESETS))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_document_says_what_it_reads(document: ReadingsDocument) -> None:
    assert document.about.endswith(".")
    for own in document.readings.values():
        assert series_of(own)


def test_readings_are_in_the_table() -> None:
    text = reading_tables()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert re.findall(r"^\| `([^`]+)` \|", "\n".join(rows), re.MULTILINE) == [
        name for document in DOCUMENTS for name in document.readings
    ]
    assert {line.count("|") for line in rows} == {5}
    assert not re.findall(r"\$[a-z]+", text)
    assert re.findall(r"^### Readings of (.+)$", text, re.MULTILINE) == [
        document.name for document in DOCUMENTS
    ]
