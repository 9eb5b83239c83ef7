"""Tries a program as a stranger does: in a folder of its own, with nothing of this tree around."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.release.artifacts import ROOT, ReleaseFault
from tests.release.commands import empty_environment, run_command

RECORDING = ROOT / "tests/recordings/gpu-cluster.snapshot"
POLICIES = ROOT / "tests/recordings/policies"

_NOWHERE = """
apiVersion: v1
kind: Config
current-context: nowhere
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
users: [{name: nobody, user: {}}]
"""
"""Of a cluster whose API server does not answer."""


def try_program(program: Path, version: str) -> str:
    """Its version, a plan of a recorded cluster, its page, readings, checks and completion."""
    with TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copy(RECORDING, here / "cluster.snapshot")
        shutil.copytree(POLICIES, here / "policies")
        environment = empty_environment(here)

        def call(*words: str, code: int = 0) -> str:
            return run_command(program, *words, folder=here, environment=environment, code=code)

        said = call("--version").strip()
        if said != version:
            raise ReleaseFault(f"{program} says that it is {said}, not {version}")
        source = ("--policies", "policies", "--snapshot", "cluster.snapshot")
        plan = json.loads(call("plan", *source, "-o", "json"))
        if not plan["moves"]:
            raise ReleaseFault(f"{program} plans no move on the recording")
        # Of the policies that come with it some need readings that the recording does not have.
        if "/shipped" not in call("plan", *source[2:], code=1):
            raise ReleaseFault(f"{program} does not have the policies that come with it")
        call("plan", *source, "-o", "html", "--out", "report.html")
        if "kubelet" not in call("readings"):
            raise ReleaseFault(f"{program} does not have its readings")
        call("check", "policies")
        call("schema", "plan")
        call("completion", "bash")
        (here / "kubeconfig").write_text(_NOWHERE, encoding="utf-8")
        answer = call("plan", *source[:2], "--kubeconfig", "kubeconfig", code=1)
        if "127.0.0.1:1" not in answer or "unexpected" in answer:
            raise ReleaseFault(f"{program} does not get as far as asking an API server:\n{answer}")
        return f"version {said}, a plan of {len(plan['moves'])} moves, and its page"
