"""Metric sources stand behind one port: who is asked, and what becomes of what nobody answers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.runtime.inspecting.recorder import record
from rescheduler.runtime.reading_sources import (
    ReadingSource,
    read_all,
    reading_sources,
    unanswered_requests,
)
from rescheduler.runtime.settings import Settings
from rescheduler.sources.kubernetes.transport import Connection
from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.recording import load
from tests.cluster import node, pod, snapshot
from tests.sources.connected import connected, small
from tests.sources.metrics import Stub
from tests.sources.server import Reply, serving

ALL = {"all": True}
CPU = ReadingRequest("node.cpu")
POD_CPU = ReadingRequest("pod.cpu")
MEMORY = ReadingRequest("node.memory")


class Shelf:
    """A source that has some readings, and says of each value which source it is."""

    def __init__(self, number: float, *names: str) -> None:
        self.number = number
        self.names = names
        self.asked: list[list[str]] = []

    def answers(self, request: ReadingRequest) -> bool:
        return request.name in self.names

    def catalog(self) -> list[ReadingRequest]:
        return [ReadingRequest(name) for name in self.names]

    def read(self, requests: Sequence[ReadingRequest], snapshot: Snapshot) -> Iterator[Reading]:
        self.asked.append([request.name for request in requests])
        for request in requests:
            size = len(snapshot.nodes if request.subject == "node" else snapshot.pods)
            values = np.full(size, self.number)
            yield Reading(request, "ratio", values, values, np.ones(size, dtype=np.bool_))


def cluster() -> Snapshot:
    return snapshot([node("n1"), node("n2")], [pod("p0", "n1")])


def test_the_first_source_that_answers_is_asked_once_for_all_that_it_has() -> None:
    first, second = Shelf(1, "node.cpu"), Shelf(2, "node.cpu", "pod.cpu", "node.memory")
    found = read_all((first, second), [POD_CPU, CPU, MEMORY, CPU], cluster())
    assert first.asked == [["node.cpu"]]
    assert second.asked == [["node.memory", "pod.cpu"]]
    reported = {reading.request: reading.values.tolist() for reading in found.entries}
    assert reported == {CPU: [1.0, 1.0], MEMORY: [2.0, 2.0], POD_CPU: [2.0]}


def test_what_no_source_answers_has_a_problem_and_no_value() -> None:
    source = Shelf(1, "pod.cpu")
    found = read_all((source,), [CPU, POD_CPU], cluster())
    lacking = found.find(CPU)
    assert lacking is not None
    assert lacking.problem is not None
    assert lacking.problem.code == "RDG001"
    assert np.isnan(lacking.values).all()
    assert lacking.expected.all()
    assert unanswered_requests((source,), [CPU, POD_CPU]) == [CPU]
    assert source.asked == [["pod.cpu"]]


def test_a_source_that_nothing_is_wanted_of_is_left_alone() -> None:
    source = Shelf(1, "pod.cpu")
    assert read_all((source,), [], cluster()).entries == ()
    assert source.asked == []


def test_without_a_metric_source_only_catalogs_of_datasets_answer() -> None:
    [sources] = [reading_sources(Settings())]
    given = {"name": "l", "match": ALL, "datasets": {"catalog": "lake"}}
    [dataset] = Locality.model_validate(given).requests()
    assert unanswered_requests(sources, [dataset, CPU]) == [CPU]
    both: tuple[ReadingSource, ...] = reading_sources(Settings(prometheus_url="http://127.0.0.1:9"))
    assert unanswered_requests(both, [dataset, CPU]) == []
    assert {request.name for source in both for request in source.catalog()} == set(CATALOG)


def recorded(
    tmp_path: Path,
    *policies: Policy,
    stub: Stub | None = None,
    everything: bool = False,
    catalogs: str = "",
) -> tuple[list[str], Snapshot]:
    """What a recording says, and what is in it."""
    out = tmp_path / "made.snapshot"

    def made(connection: Connection, url: str | None) -> list[str]:
        settings = Settings(out=out, prometheus_url=url, dataset_catalogs=catalogs)
        return record(settings, connection, None if everything else policy_set(list(policies)))

    with connected(small(), tmp_path) as (connection, _):
        if stub is None:
            said = made(connection, None)
        else:
            with serving(stub) as served:
                said = made(connection, served.url)
    return said, load(out)


def hot() -> Utilization:
    given = {"nodes": ALL, "match": ALL, "targets": {"cpu": {"high": "50%"}}}
    return Utilization.model_validate({"name": "hot", **given})


def test_a_recording_has_what_the_sources_answer(tmp_path: Path) -> None:
    said, made = recorded(tmp_path, hot(), stub=Stub())
    assert {reading.name for reading in made.readings.entries} == {"node.cpu", "pod.cpu"}
    assert not any("no --prometheus-url" in message for message in said)
    said, made = recorded(tmp_path, stub=Stub(), everything=True)
    assert {reading.name for reading in made.readings.entries} == set(CATALOG)


@pytest.mark.parametrize("everything", [True, False])
def test_a_recording_without_a_metric_source_says_so(tmp_path: Path, everything: bool) -> None:
    said, made = recorded(tmp_path, hot(), everything=everything)
    assert made.readings.entries == ()
    assert "warning: no --prometheus-url was given, so no readings were recorded" in said


def test_a_recording_has_the_datasets_that_a_catalog_reports(tmp_path: Path) -> None:
    with serving(lambda _: Reply(b'{"datasets": {"pile": {"zone": ["a"]}}}')) as served:
        data = {"name": "l", "match": ALL, "datasets": {"catalog": "lake"}}
        near = Locality.model_validate(data)
        said, made = recorded(tmp_path, hot(), near, catalogs=f"lake={served.url}")
    assert [reading.name for reading in made.readings.entries] == ["pair.dataset"]
    assert "warning: no --prometheus-url was given, so only 1 reading was recorded" in said
