import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import rescheduler.reporting
from rescheduler.model.errors import PlanUnreadable
from rescheduler.model.moves.plan import Change
from rescheduler.reporting.formats.plan_json import from_json, outcome_schema, plan_schema, to_json
from tests.cases import every
from tests.reporting.samples import SAMPLES, plan
from tests.reporting.schema_fields import undescribed_fields


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_written_reads_back_and_fits_the_schema(name: str) -> None:
    original = SAMPLES[name]()
    data = to_json(original)
    assert from_json(data) == original
    assert to_json(from_json(data)) == data
    schema = outcome_schema() if name == "outcome" else plan_schema()
    jsonschema.Draft202012Validator(schema).validate(json.loads(data))


def test_the_fields_that_other_tools_rely_on_are_there() -> None:
    document = json.loads(to_json(plan()))
    assert (document["kind"], document["schemaVersion"]) == ("Plan", "2")
    assert document["cluster"]["uid"]
    assert {"created", "expires", "readings", "refused"} <= set(document)
    assert set(document["policies"][0]["cost"]) == {"before", "after"}
    move = document["moves"][0]
    assert move["node"] == "gpu-a-03"
    assert set(move["landing"][0]) == {"node", "probability"}
    assert {"pod", "owner", "gain", "disruption", "batch", "reasons"} <= set(move)


def test_an_outcome_holds_its_plan_and_a_result_for_each_move() -> None:
    document = json.loads(to_json(SAMPLES["outcome"]()))
    assert (document["kind"], document["schemaVersion"]) == ("Outcome", "2")
    assert {"started", "finished", "verdict", "calibration"} <= set(document)
    assert document["plan"]["kind"] == "Plan"
    planned, became = document["plan"]["moves"], document["moves"]
    assert [move["pod"] for move in planned] == [result["pod"] for result in became]
    assert {"result", "code", "message", "landing", "landedOn", "readySeconds"} <= set(became[0])


def test_a_plan_has_no_field_of_an_outcome() -> None:
    document = json.loads(to_json(plan()))
    assert not {"started", "finished", "verdict"} & set(document)
    assert not {"result", "landedOn", "readySeconds"} & set(document["moves"][0])


def test_maps_are_sorted_so_that_equal_plans_give_equal_bytes() -> None:
    limits = plan().limits
    backwards = dict(reversed(limits.items()))
    assert to_json(plan(limits=limits)) == to_json(plan(limits=backwards))


def test_a_number_that_is_not_finite_is_not_written() -> None:
    broken = plan(score=Change(before=float("nan"), after=1.0))
    with pytest.raises(ValueError, match="not finite"):
        to_json(broken)


def _edited(**fields: Any) -> bytes:
    document = json.loads(to_json(plan()))
    document.update(fields)
    return json.dumps({key: value for key, value in document.items() if value is not ...}).encode()


def _nested(depth: int) -> bytes:
    return _edited(limits={"deep": "here"}).replace(b'"here"', b"[" * depth + b"]" * depth)


def _move(**fields: Any) -> bytes:
    document = json.loads(to_json(plan()))
    document["moves"][2].update(fields)
    return json.dumps(document).encode()


def _results(change: Callable[[list[Any]], Any]) -> bytes:
    document = json.loads(to_json(SAMPLES["outcome"]()))
    change(document["moves"])
    return json.dumps(document).encode()


@every(
    [
        (b"", "truncated"),
        (b"\xff\xfe", "not a JSON object"),
        (b"[1, 2]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (to_json(plan())[:500], "truncated"),
        (_edited(kind="Pod"), 'kind is "Pod"'),
        (_edited(kind=["x" * 500]), "..."),
        (b"{}", "kind is missing"),
        (_nested(600), "nested too deep"),
        (_nested(5000), "nested too deep"),
        (_edited(schemaVersion="1"), 'schemaVersion is "1"'),
        (_edited(schemaVersion=1), "schemaVersion is 1"),
        (_edited(cluster={}), "missing required field `uid` - at `$.cluster`"),
        (_edited(expires="tomorrow"), "at `$.expires`"),
        (_edited(expires="2026-11-21T14:00:00"), "no offset from UTC - at `$.expires`"),
        (_move(batch="1"), "Expected `int`, got `str` - at `$.moves[2].batch`"),
        (_move(gain=None), "at `$.moves[2].gain`"),
        (_move(mode="Yolo"), "at `$.moves[2].mode`"),
        (_move(pod=json.loads(to_json(plan()))["moves"][1]["pod"]), "moved twice - at `$.moves`"),
        (_results(lambda results: results.pop()), "not those of its plan's moves - at `$.moves`"),
        (_results(lambda results: results.reverse()), "not those of its plan's moves"),
    ]
)
def test_a_bad_file_is_named_with_the_place(data: bytes, part: str) -> None:
    with pytest.raises(PlanUnreadable) as caught:
        from_json(data, path="plans/p.json")
    assert str(caught.value).startswith("plans/p.json: ")
    assert part in str(caught.value)
    assert "Maybe" in str(caught.value)
    assert len(str(caught.value)) < 400


SCHEMAS = {"plan": plan_schema, "outcome": outcome_schema}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_in_the_tree_is_fresh(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(
        Path(rescheduler.reporting.__path__[0]) / f"{name}.schema.json",
        json.dumps(SCHEMAS[name](), indent=2) + "\n",
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_valid_and_describes_every_field(name: str) -> None:
    schema = SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f"{name}.v2.json")
    assert not undescribed_fields(schema)
    assert "checksums" in schema["required"]
    assert all(part["title"] for part in schema["$defs"].values())


def test_the_schema_refuses_a_wrong_plan() -> None:
    document = json.loads(to_json(plan()))
    document["moves"][0]["mode"] = "maybe"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(plan_schema()).validate(document)
