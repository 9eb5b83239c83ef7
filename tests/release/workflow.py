"""Reads the workflow of releases with actionlint, and holds what it may do."""

import re

import yaml

from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.versions import ACTIONLINT
from tests.release.artifacts import ROOT, ReleaseFault
from tests.release.commands import run_command

WORKFLOW = ROOT / ".github/workflows/release.yaml"


def check_workflow() -> str:
    """Lint it, and hold it to what no linter asks."""
    run_command(binaries([ACTIONLINT])["actionlint"], "-no-color", "-shellcheck=", WORKFLOW)
    jobs, actions = check_form(WORKFLOW.read_text(encoding="utf-8"))
    return f"actionlint {ACTIONLINT.version}; {jobs} jobs, {actions} actions"


def check_form(text: str) -> tuple[int, int]:
    """The numbers of its jobs and actions.

    Raises:
        ReleaseFault: a job may do more than it says, or an action may change under its name.
    """
    document = yaml.safe_load(text)
    if document["permissions"] != {}:
        raise ReleaseFault("the workflow has rights that all of its jobs share")
    without = [name for name, job in document["jobs"].items() if "permissions" not in job]
    if without:
        raise ReleaseFault(f"these jobs do not say what they may do: {', '.join(without)}")
    actions = re.findall(r"uses: (\S+)", text)
    loose = [
        action for action in actions if not re.search(r"@(v\d+\.\d+\.\d+|[0-9a-f]{40})$", action)
    ]
    if loose:
        raise ReleaseFault(f"these actions name no exact version: {', '.join(loose)}")
    return len(document["jobs"]), len(actions)
