"""The policies that we ship: valid, tested, documented, and their schema fresh."""

import json
from pathlib import Path

import jsonschema
import pytest

from rescheduler.documents.envelope import to_document
from rescheduler.documents.strict_yaml import read
from rescheduler.policies.files.json_schema import json_schema
from rescheduler.policies.limits import Limits
from rescheduler.policies.registry import DOCUMENTS, KINDS
from rescheduler.runtime.inspecting.testing import run
from rescheduler.scheduler.config.default_profile import default_profiles
from rescheduler.scheduler.config.scheduler_profile import declared_profiles
from rescheduler.sources.policy_files import load_policies

FOLDER = Path(__file__).parents[3] / "policies"
TESTS = sorted(FOLDER.rglob("*_test.yaml"))
GALLERY = sorted(set((FOLDER / "gallery").glob("*.yaml")) - set(TESTS))


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_every_story_holds(file: Path) -> None:
    results = list(run([file]))
    assert results
    assert [result for result in results if not result.holds] == []


def test_the_gallery_has_ten_sets_each_with_its_limits_and_its_stories() -> None:
    assert len(GALLERY) >= 10
    for file in GALLERY:
        made = load_policies(file)
        assert made.policies
        assert made.limits.name in made.files, "a set has its own limits"
        assert file.with_name(f"{file.stem}_test.yaml") in TESTS


def test_the_page_of_the_gallery_tells_how_bold_each_set_is() -> None:
    rows = (FOLDER / "gallery" / "README.md").read_text().splitlines()
    for file in GALLERY:
        bold = file.read_text().partition("# Boldness ")[2][0]
        most = load_policies(file).limits.movesPerCycle
        (row,) = [row for row in rows if f"({file.name})" in row and row.startswith("|")]
        assert row.startswith(f"| {bold} | [{file.stem}]({file.name}) | ")
        assert row.endswith(f" | {most} |")


def test_every_kind_has_its_file_and_its_test() -> None:
    for kind in KINDS:
        file = FOLDER / f"{kind.lower()}.yaml"
        assert {policy.kind for policy in load_policies(file).policies} == {kind}
        assert file.with_name(f"{file.stem}_test.yaml") in TESTS


def test_the_folder_loads_as_one_set() -> None:
    loaded = load_policies(FOLDER)
    assert {policy.kind for policy in loaded.policies} == set(KINDS)
    assert (
        set(loaded.files)
        == set(loaded.digests)
        == {
            *(policy.name for policy in loaded.policies),
            loaded.limits.name,
            loaded.notifications.name,
            *(scheduler.name for scheduler in (*loaded.schedulers, *loaded.readings)),
        }
    )


@pytest.mark.parametrize("version", ["v1.34.1", "v1.36.3", "v1.37.0"])
def test_the_scheduler_that_we_ship_is_the_default_profile(version: str) -> None:
    [shipped] = load_policies(FOLDER).schedulers
    assert declared_profiles(shipped, version, {}) == list(default_profiles(version).values())


def test_the_limits_that_we_ship_are_the_defaults() -> None:
    assert load_policies(FOLDER).limits == Limits(name="limits")


def test_every_file_names_its_schema_for_both_editors_and_fits_it() -> None:
    validator = jsonschema.Draft7Validator(json_schema())
    for file in [*sorted(set(FOLDER.glob("*.yaml")) - set(TESTS)), *GALLERY]:
        text = file.read_text()
        schema = "../schema.json" if file in GALLERY else "./schema.json"
        head = f"# yaml-language-server: $schema={schema}\n# $schema: {schema}\n"
        assert text.startswith(head)
        trees, file_problems = read(text)
        assert file_problems == []
        for tree in trees:
            validator.validate(tree.plain())


def test_the_schema_is_a_schema_and_fresh() -> None:
    jsonschema.Draft7Validator.check_schema(json_schema())
    assert json.loads((FOLDER / "schema.json").read_text()) == json_schema(), (
        "write it again: rescheduler schema > policies/schema.json"
    )


def test_defaults_in_the_schema_are_what_operators_write() -> None:
    written = {
        kind: {
            name: field["default"]
            for name, field in definition["properties"].items()
            if "default" in field
        }
        for kind, definition in json_schema()["definitions"].items()
        if kind in DOCUMENTS
    }
    assert written["Utilization"]["window"] == "5m"
    assert written["Limits"] == to_document(Limits())["spec"]
