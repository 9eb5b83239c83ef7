"""Explanations as people and programs see them."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import rescheduler.reporting
from rescheduler.model.explanation import Explanation, Header
from rescheduler.model.moves.plan import ClusterRef
from rescheduler.planning.explain.node import explain_node
from rescheduler.planning.explain.pending import explain_pending
from rescheduler.planning.explain.pod import explain_pod
from rescheduler.reporting.explain.report import (
    explanation_json,
    explanation_schema,
    render_explanation,
)
from tests.cluster import NOW
from tests.planning.full_cluster import full_cluster, index, working_copy
from tests.reporting.schema_fields import undescribed_fields
from tests.runtime.skewed import hot, skewed, spread

HEADER = Header(
    tool="rescheduler",
    cluster=ClusterRef(uid="c", version="v1.36.3", name="prod-gpu-1"),
    taken=NOW,
)


def moving_pod() -> Explanation:
    made = skewed()
    return explain_pod(working_copy(made, spread(), hot()), index(made, "web-0"), HEADER)


def staying_pod() -> Explanation:
    made = full_cluster()
    return explain_pod(working_copy(made), index(made, "solo-1"), HEADER)


def stuck_pod() -> Explanation:
    made = full_cluster()
    return explain_pod(working_copy(made, spread()), index(made, "big-1"), HEADER)


def full_node() -> Explanation:
    return explain_node(working_copy(skewed(), spread(), hot()), 0, HEADER)


def tainted_node() -> Explanation:
    return explain_node(working_copy(full_cluster()), 3, HEADER)


def waiting() -> Explanation:
    return explain_pending(working_copy(full_cluster()), HEADER)


def nobody_waits() -> Explanation:
    return explain_pending(working_copy(skewed()), HEADER)


SAMPLES: dict[str, Callable[[], Explanation]] = {
    "pod-moves": moving_pod,
    "pod-stays": staying_pod,
    "pod-stuck": stuck_pod,
    "node": full_node,
    "node-tainted": tainted_node,
    "pending": waiting,
    "pending-none": nobody_waits,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_table_is_as_approved(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(
        Path(f"explain-{name}-80.txt"), render_explanation(SAMPLES[name](), width=80, color=False)
    )


@pytest.mark.parametrize("width", [72, 80, 120])
@pytest.mark.parametrize("name", SAMPLES)
def test_no_line_is_wider_than_the_screen(name: str, width: int) -> None:
    plain = render_explanation(SAMPLES[name](), width=width, color=False)
    assert max(len(line) for line in plain.splitlines()) <= width
    assert "\x1b" not in plain
    assert "\ue000" not in plain
    assert "\N{NO-BREAK SPACE}" not in plain


@pytest.mark.parametrize("name", SAMPLES)
def test_color_adds_nothing_but_color(name: str) -> None:
    plain = render_explanation(SAMPLES[name](), width=80, color=False)
    colored = render_explanation(SAMPLES[name](), width=80, color=True)
    assert "\x1b[" in colored
    parts = colored.split("\x1b[")
    bare = parts[0] + "".join(part.split("m", 1)[1] for part in parts[1:])
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_written_fits_the_schema(name: str) -> None:
    explanation = SAMPLES[name]()
    document = json.loads(explanation_json(explanation))
    jsonschema.Draft202012Validator(explanation_schema()).validate(document)
    assert document["schemaVersion"] == "1"
    wrong = {key: value for key, value in document.items() if key != "header"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(explanation_schema()).validate(wrong)


def test_the_fields_that_other_tools_rely_on_are_there() -> None:
    document = json.loads(explanation_json(moving_pod()))
    assert {"landing", "returns", "unschedulable", "eligibility", "filters", "scores"} <= set(
        document
    )
    assert set(document["landing"][0]) == {"node", "probability"}


def test_the_schema_in_the_tree_is_fresh(golden: Callable[[Path, str], None]) -> None:
    golden(
        Path(rescheduler.reporting.__path__[0]) / "explanation.schema.json",
        json.dumps(explanation_schema(), indent=2) + "\n",
    )


def test_the_schema_is_valid_and_describes_every_field() -> None:
    schema = explanation_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert not undescribed_fields(schema)


def test_names_from_the_cluster_do_not_draw_on_the_terminal() -> None:
    made = full_cluster()
    evil = "\x1b[31mred\x07"
    made.nodes[0].metadata.name = evil
    for pod in made.pods:
        pod.node = evil if pod.node == "n0" else pod.node
    told = explain_pod(working_copy(made), index(made, "web-1"), HEADER)
    for explanation in (told, explain_node(working_copy(made), 0, HEADER)):
        assert "\x1b" not in render_explanation(explanation, width=80, color=False)
