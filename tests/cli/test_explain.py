"""`rescheduler explain`: exact words, exit codes, and where output goes."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from rescheduler.cli.main import program
from rescheduler.sources.recording import save
from tests.planning.full_cluster import full_cluster
from tests.planning.suggestions.hot_clusters import gpu_cluster, relief
from tests.runtime.skewed import SPREAD

RECORDED = ("--snapshot", "room.snapshot")
GPU_CLUSTER = Path(__file__).parents[1] / "recordings" / "gpu-cluster.snapshot"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("RESCHEDULER_", "KUBE", "POD_NAMESPACE")):
            monkeypatch.delenv(name)
    Path("spread.yaml").write_text(SPREAD)
    save(full_cluster(), Path("room.snapshot"))
    return tmp_path


def explain(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(program, ("explain", *arguments), **more)


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("pod", "default/web-0"), "POD default/web-0"),
        (("pod", "web-0", "-p", "spread.yaml"), "POD default/web-0"),
        (("node", "n1"), "NODE n1  zone b"),
        (("pending",), "PENDING 5 pods"),
        (("pending", "default/big-0"), "PENDING 1 pod"),
    ],
)
def test_each_is_a_table(here: Path, arguments: tuple[str, ...], first: str) -> None:
    result = explain(*arguments, *RECORDED)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == first
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("pod", "default/web-0"), "PodExplanation"),
        (("node", "n1"), "NodeExplanation"),
        (("pending",), "PendingExplanation"),
    ],
)
def test_each_is_json_of_the_published_schema(
    here: Path, arguments: tuple[str, ...], kind: str
) -> None:
    document = json.loads(explain(*arguments, *RECORDED, "-o", "json").stdout)
    schema = json.loads(CliRunner().invoke(program, ("schema", "explanation")).stdout)
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["kind"] == kind
    assert document["header"]["recorded"] is True


def test_it_is_written_to_a_file(here: Path) -> None:
    result = explain("pod", "web-0", *RECORDED, "-o", "json", "--out", "pod.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(Path("pod.json").read_text())["returns"] == 0.0


def test_a_node_names_the_nodes_that_the_plan_names(here: Path) -> None:
    """Of pods that move after others, whose landings are only likely."""
    given = ("--snapshot", str(GPU_CLUSTER), "--policies", str(GPU_CLUSTER.parent / "policies"))
    planned = json.loads(CliRunner().invoke(program, ("plan", *given, "-o", "json")).stdout)
    likeliest = {
        move["pod"]["name"]: min(
            share["node"]
            for share in move["landing"]
            if share["probability"] > move["landing"][0]["probability"] - 1e-9
        )
        for move in planned["moves"]
        if move["node"] == "inference-1"
    }
    explained = json.loads(explain("node", "inference-1", *given, "-o", "json").stdout)
    verdicts = {pod["pod"]["name"]: pod["verdict"]["message"] for pod in explained["pods"]}
    assert len(likeliest) == 4
    for name, node in likeliest.items():
        assert verdicts[name].split(",")[0].split(" (")[0] == f"expected on {node}"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("pod", "default/wbe-0", *RECORDED), 1, "Maybe default/web-0"),
        (("node", "n9", *RECORDED), 1, "there is no node n9"),
        (("pending", "default/web-0", *RECORDED), 1, "is not Pending: it is on node n0"),
        (("pod", *RECORDED), 2, "Missing argument"),
        (("pod", "web-0", *RECORDED, "-o", "html"), 2, "'html' is not one of"),
        (("pod", "web-0", "--snapshot", "none"), 2, "none"),
        (("pod", "web-0", *RECORDED, "-p", "none.yaml"), 2, "none.yaml"),
        (("planet", "web-0"), 2, "No such command"),
    ],
)
def test_what_is_wrong_is_told_in_words(
    here: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = explain(*arguments)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.output


HOT = """
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: hot}
spec:
  match: {all: true}
  nodes: {all: true}
  targets: {gpu: {high: 50%, low: 40%}}
  wholeDevices: Count
"""


@pytest.mark.parametrize("what", [("pod", "default/app1-0"), ("node", "n1")])
def test_what_stays_is_told_with_what_would_help_most(here: Path, what: tuple[str, str]) -> None:
    Path("hot.yaml").write_text(HOT)
    save(gpu_cluster(5, 25, relief()), Path("hot.snapshot"))
    given = ("-p", "hot.yaml", "--snapshot", "hot.snapshot")
    table = explain(*what, *given).stdout
    assert "What would help the whole plan most" in table
    assert "urn on steering: " in table
    document = json.loads(explain(*what, *given, "-o", "json").stdout)
    assert document["suggestions"][0]["trial"]["moves"] > 0
    without = explain(*what, "--snapshot", "hot.snapshot").stdout
    assert "What would help" not in without
