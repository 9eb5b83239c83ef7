"""The chart's files are those that are made of deploy/kustomize, and what they name is there.

tests/e2e/test_chart.py renders it by Helm itself.
"""

import json
import re
from collections import Counter
from datetime import timedelta
from typing import Any

import jsonschema
import pytest
import yaml

from rescheduler import __version__
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.limits import Limits
from rescheduler.runtime.settings import Settings, env_names
from tests.deploy.chart_files import (
    CHART,
    NOT_INSTALLED,
    SCHEMA,
    VALUES,
    chart_files,
    component_names,
    component_text,
    present_files,
)
from tests.deploy.install_yaml import OVERLAY, install_text
from tests.deploy.manifests import KUSTOMIZE, OVERLAYS, documents, overlay
from tests.deploy.policies_configmap import ROOT

Json = dict[str, Any]


def objects_in(text: str) -> list[Json]:
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


def chart_objects(name: str) -> list[Json]:
    return [yaml.safe_load(f"{piece}\n") for piece in component_text(name).split("\n---\n")]


def test_the_files_of_the_chart_are_those_that_are_made() -> None:
    made = chart_files()
    assert present_files() == made.keys(), "run make chart"
    for path, text in made.items():
        assert path.read_text() == text, f"{path}: run make chart"


@pytest.mark.parametrize("name", component_names())
def test_a_file_has_all_objects_of_its_component(name: str) -> None:
    """The template cuts it where a line is `---`; ConfigMaps that kustomize generates come last."""
    pieces = chart_objects(name)
    table = [] if name == "steering-table" else list(documents(KUSTOMIZE / "steering-table"))
    written = [manifest for manifest in documents(KUSTOMIZE / name) if manifest not in table]
    assert pieces[: len(written)] == written
    assert {piece["kind"] for piece in pieces[len(written) :]} <= {"ConfigMap"}


def test_the_version_of_the_chart_is_that_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    for change in yaml.safe_load(chart["annotations"]["artifacthub.io/changes"]):
        assert change["kind"] in {"added", "changed", "deprecated", "removed", "fixed", "security"}


def test_the_defaults_obey_the_schema() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(VALUES.read_text()), schema)


def test_every_value_is_described_and_no_other_is_accepted() -> None:
    def check(schema: Json) -> None:
        for name, value in schema["properties"].items():
            assert value["description"].endswith("."), name
            if "properties" in value:
                assert value["additionalProperties"] is False, name
                check(value)

    check(json.loads(SCHEMA.read_text()))


def test_templates_use_every_value_and_no_other() -> None:
    """Helm takes a value that is not there for nothing."""
    text = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    used = set(re.findall(r"[vV]alues\.(\w+)", text))
    assert used == yaml.safe_load(VALUES.read_text()).keys()


def test_templates_set_options_that_the_program_has() -> None:
    text = (CHART / "templates" / "_shape.tpl").read_text()
    options = {name for field in Settings.__slots__ for name in env_names(field)}
    files = yaml.safe_load(SCHEMA.read_text())["properties"]["prometheus"]["properties"]["files"]
    snake = [re.sub("([A-Z])", r"_\1", name).upper() for name in files["properties"]]
    named = {f"RESCHEDULER_PROMETHEUS_{name}_FILE" for name in snake}
    named |= set(re.findall(r"\"(RESCHEDULER_[A-Z_]+)\"", text))
    assert len(named) > 10
    assert named <= options


def said(*names: str) -> list[str]:
    return [(ROOT / name).read_text(encoding="utf-8") for name in names]


CHART_README = "deploy/helm/rescheduler/README.md"
NOTES = "deploy/helm/rescheduler/templates/NOTES.txt"


def test_pages_say_which_helm_it_takes_and_where_the_image_comes_from() -> None:
    for page in said("docs/install/helm.md", CHART_README, NOTES):
        assert "--reset-then-reuse-values" in page
        assert "Helm 3.14 or later" in page
    for page in said("README.md", "deploy/README.md", "docs/install/index.md", CHART_README):
        (command,) = re.findall(r"helm install rescheduler .*", page)
        assert "--set image.registry=REGISTRY" in command


def test_notes_say_where_prometheus_is_reached_and_what_enforce_waits_for() -> None:
    (notes,) = said(NOTES)
    (line,) = (line for line in notes.splitlines() if "rescheduler.io/metrics=allowed" in line)
    assert all(name in line for name in Settings().prometheus_namespaces.split(","))
    assert Limits().auditFirst == timedelta(hours=1)
    assert "each of the first three cycles moves one pod" in CATALOG["PAC007"].sentence
    assert "first hour each policy counts as Audit (SEL001, auditFirst)" in notes
    assert "first three cycles that move anything moves one pod (PAC007)" in notes


def test_no_object_is_in_two_files() -> None:
    counts = Counter(
        (manifest["kind"], manifest["metadata"]["name"])
        for name in component_names()
        for manifest in chart_objects(name)
    )
    assert {which for which, number in counts.items() if number > 1} == set()
    assert {path.name for path in KUSTOMIZE.iterdir()} >= NOT_INSTALLED


def test_the_label_names_what_an_uninstallation_leaves() -> None:
    kept = {
        (manifest["kind"], manifest["metadata"]["name"])
        for name in component_names()
        for manifest in documents(KUSTOMIZE / name)
        if manifest["metadata"]["labels"].get("rescheduler.io/keep") == "true"
    }
    assert kept == {
        ("Namespace", "rescheduler"),
        ("ConfigMap", "rescheduler-state"),
        ("ConfigMap", "rescheduler-steering"),
        ("PersistentVolumeClaim", "rescheduler-trail"),
        ("MutatingAdmissionPolicy", "rescheduler-steering"),
        ("MutatingAdmissionPolicyBinding", "rescheduler-steering"),
    }


def test_one_file_has_all_of_the_first_installation() -> None:
    objects = objects_in(install_text())
    assert objects == overlay(OVERLAY)
    assert objects[0]["kind"] == "Namespace"
    assert OVERLAY in OVERLAYS
    assert not (KUSTOMIZE / "overlays" / OVERLAY / "mode.yaml").exists()
    assert "patches" not in yaml.safe_load(
        (KUSTOMIZE / "overlays" / OVERLAY / "kustomization.yaml").read_text()
    )
