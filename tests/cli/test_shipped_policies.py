"""Without --policies the policies that come with the program are used, and that is said."""

import json
import tomllib
from pathlib import Path

import click

from rescheduler.cli.main import program
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.sources.policy_files import (
    SHIPPED,
    load_policies,
    shipped_folder,
    shipped_policies,
)
from tests.cli.recorded import call, here
from tests.deploy.policies_configmap import ROOT

__all__ = ["here"]

RECORDED = ("--snapshot", "cluster.snapshot")


def test_a_plan_without_policies_uses_and_names_those_that_come_along(here: Path) -> None:
    done = call("plan", *RECORDED, "-o", "json")
    assert done.exit_code == 1, "the recording has none of the readings that they need"
    used = {policy["name"] for policy in json.loads(done.stdout)["policies"]}
    assert used == {policy.name for policy in shipped_policies().policies}
    assert f"the policies in {shipped_folder()}, which come with the program" in done.stderr


def test_the_next_command_repeats_no_path_that_was_not_given(here: Path) -> None:
    done = call("plan", *RECORDED)
    assert "rescheduler plan" in done.stdout
    assert "--policies" not in done.stdout


def test_an_installed_program_finds_the_same_files_beside_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    expected = {f"policies/{name}": f"rescheduler/shipped/{name}" for name in SHIPPED}
    assert wheel["force-include"] == expected


def test_they_are_used_where_nothing_else_is_in_the_folder(tmp_path: Path) -> None:
    for name in SHIPPED:
        (tmp_path / name).write_bytes((shipped_folder() / name).read_bytes())
    copied = load_policies(tmp_path)
    assert _documents(copied) == _documents(shipped_policies())


def test_only_commands_that_never_act_go_without_policies() -> None:
    context = click.Context(program)
    commands = {name: program.get_command(context, name) for name in program.list_commands(context)}
    without = {
        name
        for name, command in commands.items()
        for option in (command.params if command is not None else ())
        if option.name == "policies" and not option.required
    }
    assert without == {"doctor", "plan", "readings", "record", "status"}


def _documents(policies: PolicySet) -> list[tuple[str, str]]:
    return [(policy.kind, policy.name) for policy in policies.policies]
