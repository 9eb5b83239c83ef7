"""Tries a program as a stranger does: in a folder of its own, with nothing of this tree around."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from release.artifacts import ROOT, ReleaseFault
from release.commands import empty_environment, run_command

RECORDING = ROOT / "tests/recordings/gpu-cluster.snapshot"
POLICIES = ROOT / "tests/recordings/policies"


def try_program(program: Path, version: str) -> str:
    """Its version, a plan of a recorded cluster, its page, readings, checks and completion."""
    with TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copy(RECORDING, here / "cluster.snapshot")
        shutil.copytree(POLICIES, here / "policies")
        environment = empty_environment(here)

        def call(*words: str) -> str:
            return run_command(program, *words, folder=here, environment=environment)

        said = call("--version").strip()
        if said != version:
            raise ReleaseFault(f"{program} says that it is {said}, not {version}")
        source = ("--policies", "policies", "--snapshot", "cluster.snapshot")
        plan = json.loads(call("plan", *source, "-o", "json"))
        if not plan["moves"]:
            raise ReleaseFault(f"{program} plans no move on the recording")
        call("plan", *source, "-o", "html", "--out", "report.html")
        if "kubelet" not in call("readings"):
            raise ReleaseFault(f"{program} does not have its readings")
        call("check", "policies")
        call("schema", "plan")
        call("completion", "bash")
        return f"version {said}, a plan of {len(plan['moves'])} moves, and its page"
