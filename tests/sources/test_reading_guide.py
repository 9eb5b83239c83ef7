"""The guide has the source of every reading."""

import re

import pytest

from rescheduler.policies.own_readings.presets import PRESETS
from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.reading_guide import exporter, reading_guide, series_of


@pytest.mark.parametrize("name", CATALOG)
def test_every_series_of_every_reading_has_an_exporter(name: str) -> None:
    series = series_of(CATALOG[name])
    assert series
    assert all(exporter(each) for each in series)


def test_a_series_that_nobody_is_known_to_export_is_not_passed_over() -> None:
    with pytest.raises(KeyError, match="unheard_of"):
        exporter("unheard_of_total")


def test_readings_are_in_the_table_and_their_queries_are_whole() -> None:
    text = reading_guide()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    reported = re.findall(r"^\| `([^`]+)` \|", "\n".join(rows), re.MULTILINE)
    presets = [name for readings in PRESETS.values() for name in readings]
    assert reported == [*CATALOG, *presets]
    assert {line.count("|") for line in rows} == {5}
    assert not re.findall(r"\$[a-z]+", text)
    assert "node_network_speed_bytes | node_exporter" in text.replace("`", "")
    for name in CATALOG:
        assert f"#### `{name}`\n\n```promql\n# the value" in text
    for preset, readings in PRESETS.items():
        for name in readings:
            assert f"#### `{name}` of {preset}\n\n```promql\n# the value" in text
