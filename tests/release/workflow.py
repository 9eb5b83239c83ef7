"""Reads the workflow of releases with actionlint; holds what it may do and what it publishes."""

import re
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.versions import ACTIONLINT
from tests.release.artifacts import ROOT, Artifacts, ReleaseFault
from tests.release.commands import run_command

Json = dict[str, Any]
_TESTED = "out/tested"
_VERSION = "${{ needs.build.outputs.version }}"
WORKFLOW = ROOT / ".github/workflows/release.yaml"


def check_workflow() -> str:
    """Lint it, and hold it to what no linter asks."""
    run_command(binaries([ACTIONLINT])["actionlint"], "-no-color", "-shellcheck=", WORKFLOW)
    text = WORKFLOW.read_text(encoding="utf-8")
    jobs, actions = check_form(text)
    check_image(text)
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


def check_image(text: str) -> None:
    """What is published as the image is what was tested, with its own bill of materials.

    Raises:
        ReleaseFault: a step of that is missing, or comes before what it needs.
    """
    jobs = yaml.safe_load(text)["jobs"]
    for name, wanted in _steps_of_the_image().items():
        position = -1
        for said, keys in wanted:
            position = _position(jobs[name]["steps"], keys, position + 1)
            if position < 0:
                raise ReleaseFault(f"job {name} does not {said}, or does it too early")
    outputs = jobs["test"].get("outputs", {}).get("image")
    if outputs != "${{ steps.image.outputs.digest }}" or "test" not in jobs["build"]["needs"]:
        raise ReleaseFault("job build is not told which image was tested")


def _steps_of_the_image() -> dict[str, list[tuple[str, Json]]]:
    """By job: what it must do in this order, and what the step says that does it."""
    file = {"name": "image", "path": _TESTED}
    kept = f"python -m tests.release.tested_image {_TESTED}/image.tar"
    listed = Artifacts(Path("dist"), _VERSION).image_materials
    package = Artifacts(Path("dist"), _VERSION).materials
    return {
        "test": [
            ("test", {"run": ".ci/run"}),
            ("take the image that it tested", {"id": "image", "run": kept}),
            ("hand it on", {"uses": "actions/upload-artifact", "with": file}),
        ],
        "build": [
            ("take the tested image", {"uses": "actions/download-artifact", "with": file}),
            ("release it", {"run": f"make release-dry-run IMAGE={_TESTED}/image.tar"}),
            (
                "compare its digest",
                {
                    "env": {"TESTED": "${{ needs.test.outputs.image }}"},
                    "run": 'test "$(cat dist/image.txt)" = "$TESTED"',
                },
            ),
            ("hand it on", {"uses": "actions/upload-artifact", "with": {"name": "dist"}}),
        ],
        "files": [
            ("list what the wheel needs", {"with": {"sbom-path": str(package)}}),
        ],
        "image": [
            ("push the digest", {"id": "push", "run": "digest=$(cat dist/image.txt)"}),
            ("list what the image has", {"with": {"sbom-path": str(listed)}}),
        ],
    }


def _position(steps: list[Json], keys: Json, start: int) -> int:
    """Of the first step from there on that says all of this; -1 where none does."""
    fitting = (number for number in range(start, len(steps)) if _says(steps[number], keys))
    return next(fitting, -1)


def _says(said: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(said, dict) and all(
            _says(said.get(key), value) for key, value in wanted.items()
        )
    return isinstance(said, str) and wanted in said
