"""The command line: exact verbs, where output goes, exit codes, and words instead of tracebacks."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

import rescheduler
from rescheduler.cli.main import program
from rescheduler.model.plan import Plan
from rescheduler.model.plan_digest import sealed
from rescheduler.model.problem import Problem
from rescheduler.reporting.machine import from_json, to_json
from rescheduler.runtime.cycle import withheld
from rescheduler.sources.recording import save
from tests.runtime.crowded import HOT, SPREAD, crowded

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
    save(crowded(), Path("cluster.snapshot"))
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
    plan = sealed(structs.replace(made(), **fields))
    Path("plan.json").write_bytes(to_json(plan))
    return plan


def edit(**changes: Any) -> None:
    """Write fields of plan.json anew, as an editor would."""
    plan = json.loads(Path("plan.json").read_text())
    Path("plan.json").write_text(json.dumps({**plan, **changes}))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("plan",), 2, "--policies"),
        (("fly",), 2, "No such command"),
        (("plan", "-p", "nothere", *NOWHERE), 2, "nothere"),
        (("plan", "-p", "bad.yaml", *NOWHERE), 2, "bad.yaml:8:3"),
        (("check", "bad.yaml"), 2, "maxSkew"),
        (("plan", "-p", "spread.yaml", "--kubeconfig", "none"), 2, "none does not exist"),
        (("plan", "-p", "spread.yaml", "--kubeconfig", "text.txt"), 2, "text.txt"),
        (("plan", "-p", "spread.yaml", *NOWHERE, "--context", "x"), 2, "context 'x'"),
        (("plan", "-p", "spread.yaml", *NOWHERE), 1, "127.0.0.1:1"),
        (("plan", "-p", "spread.yaml", *NOWHERE, "--prometheus-url", "x:1"), 2, "x:1"),
        (("plan", "-p", "spread.yaml", "--snapshot", "text.txt"), 2, "text.txt"),
        (("plan", "-p", "spread.yaml", "--snapshot", "none"), 2, "none"),
        ((*PLAN, "--prometheus-url", "http://x:9090"), 2, "Maybe leave out --prometheus-url"),
        ((*PLAN, "--out", "nofolder/plan"), 2, "nofolder"),
        ((*PLAN, "--out", "."), 2, "is a directory"),
        ((*PLAN, "-o", "pdf"), 2, "'pdf'"),
        (("run", "-p", "spread.yaml"), 2, "--once, --every and --cron"),
        (("run", "-p", "spread.yaml", "--once", "--every", "5m"), 2, "--once, --every and"),
        (("run", "-p", "spread.yaml", "--every", "5"), 2, "not a duration"),
        (("run", "-p", "spread.yaml", "--cron", "0 0 * * 8", *NOWHERE), 2, "weekday '8'"),
        (("run", "-p", "spread.yaml", "--once", "--mode", "Maybe"), 2, "'Maybe'"),
        (("run", "-p", "bad.yaml", "--every", "5m", *NOWHERE), 2, "bad.yaml:8:3"),
        (("apply", "none.json", "--yes"), 2, "none.json cannot be read"),
        (("apply", "text.txt", "--yes"), 2, "text.txt"),
        (("render", "text.txt"), 2, "text.txt"),
        (("record", "-p", "spread.yaml"), 2, "--out"),
        (("record", "--out", "x.snapshot", *NOWHERE), 1, "127.0.0.1:1"),
    ],
)
def test_what_is_wrong_is_told_in_words(
    here: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = call(*arguments)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.output
    assert "secret-token" not in result.output


def test_a_plan_of_a_recording_in_every_form(here: Path) -> None:
    table = call(*PLAN)
    assert table.exit_code == 0
    assert "default/web-0" in table.stdout
    assert "\x1b[" not in table.stdout, "no color where there is no terminal"
    printed = call(*PLAN, "-o", "json")
    plan = json.loads(printed.stdout)
    assert plan["recorded"] is True
    assert [move["pod"]["name"] for move in plan["moves"]] == ["web-0"]
    page = call(*PLAN, "-o", "html", "--out", "plan.html")
    assert page.stdout == ""
    assert Path("plan.html").read_text().startswith("<!doctype html>")


def test_the_same_recording_gives_the_same_bytes(here: Path) -> None:
    assert call(*PLAN, "-o", "json").stdout == call(*PLAN, "-o", "json").stdout


def test_run_once_in_audit_is_the_same_plan(here: Path) -> None:
    made = call("run", "--once", *PLAN[1:], "--mode", "Audit", "-o", "json")
    assert made.exit_code == 0
    planned = json.loads(call(*PLAN, "-o", "json").stdout)
    assert json.loads(made.stdout)["digest"] == planned["digest"]


def test_a_recording_cannot_be_acted_on(here: Path) -> None:
    result = call("run", "--once", *PLAN[1:], "--mode", "Enforce")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "recorded snapshot" in result.stderr


def test_a_policy_without_readings_has_no_say_and_the_report_is_still_written(here: Path) -> None:
    result = call("plan", "-p", "hot.yaml", "--snapshot", "cluster.snapshot", "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["moves"] == []
    assert "hot has no say: RDG007" in result.stderr


def test_exit_code_4_must_be_asked_for(here: Path) -> None:
    assert call(*PLAN).exit_code == 0
    assert call(*PLAN, "--exit-code").exit_code == 4


def test_an_output_file_is_complete_or_untouched(here: Path) -> None:
    Path("plan.json").write_text("old")
    assert call(*PLAN, "-o", "json", "--out", "plan.json").exit_code == 0
    assert json.loads(Path("plan.json").read_text())["kind"] == "Plan"
    assert [each.name for each in here.iterdir() if each.name.startswith(".plan")] == []


def test_a_saved_plan_is_rendered_again(here: Path) -> None:
    call(*PLAN, "-o", "json", "--out", "plan.json")
    assert call("render", "plan.json", "-o", "table").stdout == call(*PLAN).stdout
    again = call("render", "plan.json", "-o", "json").stdout
    assert again == Path("plan.json").read_text()


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"recorded": True}, 5, "recorded snapshot"),
        ({"expires": datetime(2026, 1, 1, tzinfo=UTC)}, 5, "expired at 2026-01-01"),
        ({"schemaVersion": "99"}, 2, "99"),
        ({}, 1, "127.0.0.1:1"),
    ],
)
def test_apply_refuses_what_is_not_a_fresh_plan(
    here: Path, changes: dict[str, Any], code: int, said: str
) -> None:
    write_plan(**changes)
    result = call("apply", "plan.json", "--yes", *NOWHERE)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert result.stdout == ""


def test_an_outcome_cannot_be_applied_and_is_shown(here: Path) -> None:
    plan = made()
    done = Problem(code="GRD006", message="paused")
    Path("outcome.json").write_bytes(to_json(withheld(plan, done, plan.taken)))
    refused = call("apply", "outcome.json", "--yes", *NOWHERE)
    assert refused.exit_code == 2
    assert f"the outcome of plan {plan.id}, which was carried out already" in refused.stderr
    shown = call("render", "outcome.json")
    assert f"OUTCOME {plan.id}" in shown.stdout
    assert call("render", "outcome.json", "-o", "json").stdout == Path("outcome.json").read_text()
    outcome = json.loads(Path("outcome.json").read_text())
    outcome["plan"]["limits"]["movesPerHour"] = 900
    Path("outcome.json").write_text(json.dumps(outcome))
    edited = call("render", "outcome.json")
    assert (edited.exit_code, edited.stdout) == (5, "")
    assert "changed: `plan.limits`" in edited.stderr


@pytest.mark.parametrize("verb", [("apply", "--yes", *NOWHERE), ("render",)])
def test_an_edited_plan_is_neither_applied_nor_shown(here: Path, verb: tuple[str, ...]) -> None:
    plan = write_plan()
    edit(limits={**plan.limits, "movesPerHour": 900})
    result = call(*verb, "plan.json", "--out", "shown")
    assert (result.exit_code, result.stdout) == (5, "")
    assert f"plan.json was changed after it was written: its digest is {plan.digest}" in (
        result.stderr
    )
    assert "changed: `limits`\n  Maybe make a new plan" in result.stderr
    assert not Path("shown").exists()


def test_apply_carries_out_no_plan_but_the_approved_one(here: Path) -> None:
    plan = write_plan()
    apply = ("apply", "plan.json", "--yes", *NOWHERE)
    for approved in (plan.id, plan.digest, plan.digest[:20].upper()):
        fine = call(*apply, "--digest", approved)
        assert fine.exit_code == 1, "it got as far as the cluster, which is not there"
        assert "127.0.0.1:1" in fine.stderr
    other = "0" * 12 if plan.id != "0" * 12 else "1" * 12
    for approved in (other, plan.digest[:-1] + ("0" if plan.digest[-1] != "0" else "1")):
        refused = call(*apply, "--digest", approved)
        assert (refused.exit_code, refused.stdout) == (5, "")
        assert f"plan.json holds plan {plan.digest}, and {approved} was approved" in refused.stderr
    assert call(*apply, env={"RESCHEDULER_DIGEST": other}).exit_code == 5


@pytest.mark.parametrize("approved", ["", "latest", "1f0c42aa91d", "0x1f0c42aa91d3", "1" * 65])
def test_an_approval_that_is_no_digest_is_refused(here: Path, approved: str) -> None:
    write_plan()
    apply = ("apply", "plan.json", "--yes", *NOWHERE)
    assert call(*apply, "--digest", approved).exit_code == 2
    told = call(*apply, env={"RESCHEDULER_DIGEST": approved})
    assert told.exit_code == 2
    assert "127.0.0.1" not in told.stderr


def test_apply_needs_yes_where_nobody_can_be_asked(here: Path) -> None:
    write_plan()
    result = call("apply", "plan.json", *NOWHERE)
    assert result.exit_code == 2
    assert "--yes" in result.stderr


def test_a_flag_beats_the_environment_and_that_beats_the_default(here: Path) -> None:
    asked = ("plan", "--snapshot", "cluster.snapshot")
    env = {"RESCHEDULER_POLICIES": "spread.yaml", "RESCHEDULER_OUTPUT": "json"}
    assert json.loads(call(*asked, env=env).stdout)["policies"][0]["name"] == "zones"
    assert call(*asked, "-o", "table", env=env).stdout == call(*PLAN).stdout
    bad = call(*asked, env={**env, "RESCHEDULER_OUTPUT": "pdf"})
    assert bad.exit_code == 2
    assert "RESCHEDULER_OUTPUT" in bad.stderr


def test_an_unexpected_error_is_one_sentence(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("rescheduler.runtime.cycle.plan_and_observations", broken)
    result = call(*PLAN)
    assert result.exit_code == 1
    assert "unexpected ZeroDivisionError: by nothing" in result.stderr
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


def test_schemas_check_and_version(here: Path) -> None:
    assert json.loads(call("schema").stdout)["$schema"]
    assert "PlannedMove" in json.loads(call("schema", "plan").stdout)["$defs"]
    assert "MoveResult" in json.loads(call("schema", "outcome").stdout)["$defs"]
    checked = call("check", "spread.yaml")
    assert checked.exit_code == 0
    assert "Spread zones (Enforce)" in checked.stdout
    assert call("version").stdout.strip() == rescheduler.__version__


@pytest.mark.parametrize("verb", ["check", "plan", "run"])
def test_the_help_of_a_verb_shows_its_examples_each_on_a_line(verb: str) -> None:
    told = CliRunner().invoke(program, [verb, "--help"]).output
    examples = [line for line in told.splitlines() if line.strip().startswith("rescheduler ")]
    assert len(examples) >= 2
    assert "\\b" not in told
    assert "\b" not in told


def test_the_program_is_a_process_that_helps_quickly(here: Path) -> None:
    command = [sys.executable, "-m", "rescheduler", "--help"]
    took = []
    for _ in range(3):
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        took.append(time.perf_counter() - began)
    assert "rescheduler plan --policies" in done.stdout
    assert done.stderr == ""
    heavy = (
        "import sys, rescheduler.cli.main; "
        "print({'kubernetes', 'numpy', 'pydantic', 'structlog'} & set(sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", heavy], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "set()"
    assert min(took) < 1.0, "0.15 s on an idle machine; this bound is for a busy one"
