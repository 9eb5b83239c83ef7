"""Policies and their tests as operators write them: what was once wrong stays right."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rescheduler.cli.main import program
from rescheduler.documents.fields import Strict
from rescheduler.policies.conversion.descheduler_guide import from_descheduler
from rescheduler.policies.limits import Limits
from rescheduler.policies.registry import KINDS
from rescheduler.runtime.inspecting.testing import find, run

FOLDER = Path(__file__).parent / "written"
REFUSED = {
    "aks": [(2, 7)],
    "balance-with-itself": [(8, 30)],
    "catalog-url": [(6, 23)],
    "descheduler": [(2, 7)],
    "headroom": [(8, 22)],
    "openshift": [(2, 7)],
    "percent-above-100": [(5, 18)],
    "spread-short-and-long": [(6, 3)],
    "two-targets": [(9, 18)],
}
"""By file, the places of its problems."""


def test_what_policies_do_to_these_clusters() -> None:
    results = list(run(find([FOLDER])))
    assert len(results) >= 11
    assert [result for result in results if not result.holds] == []


def test_every_refused_file_is_known() -> None:
    assert {path.stem for path in (FOLDER / "refused").iterdir()} == set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_where_it_stands(name: str) -> None:
    file = FOLDER / "refused" / f"{name}.yaml"
    done = CliRunner().invoke(program, ["check", str(file)])
    assert done.exit_code == 2
    places = [line.split(":")[1:3] for line in done.stderr.splitlines() if line.startswith("/")]
    assert [(int(line), int(column)) for line, column in places] == REFUSED[name]
    assert "…" not in done.stderr, "a hint is cut"


def test_the_page_for_users_of_descheduler_names_fields_that_there_are() -> None:
    table = from_descheduler()
    models: dict[str, type[Strict]] = {**KINDS, "Limits": Limits}
    for field, kind in {
        "strategy": "Allocation",
        "tolerance": "Allocation",
        "cold": "Allocation",
        "constraints": "Spread",
        "podAntiAffinity": "Conformity",
        "nodeAffinity": "Conformity",
        "nodeTaints": "Conformity",
        "restarts": "Conformity",
        "lifetime": "Conformity",
        "failed": "Conformity",
        "localStorage": "Limits",
        "maxPriority": "Limits",
        "minReplicas": "Limits",
        "movesPerNode": "Limits",
        "movesPerNamespace": "Limits",
        "movesPerCycle": "Limits",
    }.items():
        assert f"`{field}" in table, field
        assert field in models[kind].model_fields, field
