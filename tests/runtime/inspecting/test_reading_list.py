"""What is defined can be listed, printed, changed and used; a source says what it has of it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rescheduler.cli.main import program
from rescheduler.policies.own_readings.readings_document import built_in
from rescheduler.policies.own_readings.shipped_documents import BUILT_IN, PRESETS
from rescheduler.runtime.reading_sources import BUILT_IN as NAMES
from rescheduler.sources.policy_files import load_policies
from tests import cluster
from tests.sources.metrics import Stub, read, vector
from tests.sources.server import Request, serving

POLICY = """---
apiVersion: rescheduler.io/v1alpha1
kind: Health
metadata: {name: h}
spec: {nodes: {all: true}, match: {all: true}, signs: {xid: true}}
"""


def call(*words: str) -> str:
    answer = CliRunner().invoke(program, ["readings", *words])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def test_everything_is_listed_with_its_document() -> None:
    text = call()
    for name in NAMES:
        assert f"  {name} " in text
    for document in (*BUILT_IN, *PRESETS):
        assert document in text
    assert "DCGM_FI_DEV_GPU_UTIL" in text


@pytest.mark.parametrize("name", [*BUILT_IN, *PRESETS])
def test_a_shipped_document_can_be_used_as_it_is_printed(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(call(name) + POLICY)
    definitions = load_policies(file).definitions
    for shipped in (readings for readings in built_in() if readings.name == name):
        assert definitions == {n: (own,) for n, own in shipped.own_readings.items()}
    assert definitions


@pytest.mark.parametrize("name", NAMES)
def test_a_reading_is_printed_as_documents_of_its_own(tmp_path: Path, name: str) -> None:
    for number, text in enumerate(call(name).split("---\n")):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text + POLICY)
        assert list(load_policies(file).definitions) == [name]


def test_what_is_not_there_is_said() -> None:
    answer = CliRunner().invoke(program, ["readings", "node.gpuu"])
    assert answer.exit_code != 0
    assert "there is no reading and no document `node.gpuu`" in answer.output + answer.stderr


def test_a_source_says_how_many_series_it_has_of_which_job() -> None:
    def answer(request: Request) -> object:
        there = "DCGM_FI_DEV_GPU_UTIL{" in request.query["query"]
        return vector([({"job": "dcgm"}, 8)] if there else [])

    with serving(answer) as served:  # type: ignore[arg-type]
        text = call("node.gpu", "--prometheus-url", served.url)
    said = " ".join(text.split())
    assert 'DCGM_FI_DEV_GPU_UTIL: 8 of job="dcgm"' in said
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE: none" in said


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            {"instance": "n1:9400", "pod": "w"},
            "nodes by instance, pods by pod (honor_labels: true)",
        ),
        (
            {"kubernetes_node": "n1", "exported_pod": "w"},
            "nodes by kubernetes_node, pods by exported_pod (honor_labels: false)",
        ),
        ({"namespace": "gpu", "pod": "dcgm-x"}, "nodes by namespace and pod of the exporter"),
    ],
)
def test_the_convention_of_labels_is_learned(labels: dict[str, str], said: str) -> None:
    nodes = [cluster.node("n1", allocatable={"nvidia.com/gpu": "1"})]
    pods = [cluster.pod("dcgm-x", "n1", namespace="gpu")]
    stub = Stub().series("node.gpu", [({"UUID": "G", **labels}, 0.5)])
    assert read(stub, "node.gpu", cluster.snapshot(nodes, pods)).convention == said
