"""A folder to work in from the command line, with policies, a recording, and plans of it."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from rescheduler.cli.main import program
from rescheduler.model.moves.plan import Plan
from rescheduler.model.moves.plan_digest import seal_plan
from rescheduler.reporting.formats.plan_json import from_json, to_json
from rescheduler.sources.recording import save
from tests.runtime.skewed import HOT, SPREAD, skewed

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: nowhere
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: secret-token}}]
contexts: [{name: nowhere, context: {cluster: c, user: u}}]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with policies, a recording and a kubeconfig, and nothing said by the environment."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("RESCHEDULER_", "KUBE", "POD_NAMESPACE")):
            monkeypatch.delenv(name)
    Path("spread.yaml").write_text(SPREAD)
    Path("hot.yaml").write_text(HOT)
    Path("bad.yaml").write_text(SPREAD.replace("maxSkew", "maxSkw"))
    Path("kubeconfig").write_text(KUBECONFIG)
    Path("text.txt").write_text("this is nothing")
    save(skewed(), Path("cluster.snapshot"))
    return tmp_path


def call(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(program, arguments, **more)


PLAN = ("plan", "--policies", "spread.yaml", "--snapshot", "cluster.snapshot")
NOWHERE = ("--kubeconfig", "kubeconfig")


def made() -> Plan:
    """A plan of the recording."""
    assert call(*PLAN, "-o", "json", "--out", "made.json").exit_code == 0
    plan = from_json(Path("made.json").read_bytes())
    assert isinstance(plan, Plan)
    return plan


def write_plan(**changes: Any) -> Plan:
    """plan.json: as if it had been made of a live cluster, where nothing else is said."""
    later = datetime.now(UTC) + timedelta(hours=1)
    fields = {"recorded": False, "expires": later, **changes}
    plan = seal_plan(structs.replace(made(), **fields))
    Path("plan.json").write_bytes(to_json(plan))
    return plan


def edit(**changes: Any) -> None:
    """Write fields of plan.json again, as an editor would."""
    plan = json.loads(Path("plan.json").read_text())
    Path("plan.json").write_text(json.dumps({**plan, **changes}))
