"""The command line: exact verbs, where output goes, exit codes, and words instead of tracebacks."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rescheduler
from rescheduler.cli.main import program
from rescheduler.cli.shared.options import given_options
from rescheduler.cli.shared.output import _color
from rescheduler.runtime.settings import Settings
from rescheduler.sources.recording import save
from tests.cli.recorded import NOWHERE, PLAN, call, here, made
from tests.fakes.loaded import loader
from tests.runtime.skewed import skewed

__all__ = ["here"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "--once"), 2, "--policies"),
        (("plan", *NOWHERE), 1, "which come with the program, are used"),
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
        (("plann",), 2, "(Did you mean"),
        (("run", "-p", "spread.yaml"), 2, "--once, --every and --cron"),
        (("run", "-p", "spread.yaml", "--once", "--every", "5m"), 2, "--once, --every and"),
        (("run", "-p", "spread.yaml", "--every", "5"), 2, "not a duration"),
        (("run", "-p", "spread.yaml", "--cron", "0 0 * * 8", *NOWHERE), 2, "weekday '8'"),
        (("run", "-p", "spread.yaml", "--cron", "bad", *NOWHERE), 2, "has 1 field, not 5"),
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
    assert call(*PLAN, "-o", "markdown").stdout.startswith("## Plan `")


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


def test_a_policy_without_readings_is_not_evaluated_but_reported(
    here: Path,
) -> None:
    result = call("plan", "-p", "hot.yaml", "--snapshot", "cluster.snapshot", "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["moves"] == []
    assert "hot was not evaluated: RDG007" in result.stderr


@pytest.mark.parametrize("verb", [("plan",), ("run", "--once")])
def test_a_cluster_that_lists_no_node_is_told_and_is_not_a_success(
    here: Path, verb: tuple[str, ...]
) -> None:
    save(replace(skewed(), nodes=[], pods=[]), Path("empty.snapshot"))
    result = call(*verb, "-p", "spread.yaml", "--snapshot", "empty.snapshot")
    assert result.exit_code == 1, result.output
    assert "GRD011" in result.output
    assert "lists no node" in result.output


def test_exit_code_4_must_be_asked_for(here: Path) -> None:
    assert call(*PLAN).exit_code == 0
    assert call(*PLAN, "--exit-code").exit_code == 4


def test_an_output_file_is_complete_or_untouched(here: Path) -> None:
    Path("plan.json").write_text("old")
    assert call(*PLAN, "-o", "json", "--out", "plan.json").exit_code == 0
    assert json.loads(Path("plan.json").read_text())["kind"] == "Plan"
    assert [path.name for path in here.iterdir() if path.name.startswith(".plan")] == []


@pytest.mark.parametrize("verb", ["plan", "explain", "record"])
def test_a_dash_is_standard_output(here: Path, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    explain = ("explain", "node", "n1", "--snapshot", "cluster.snapshot")
    arguments = {"plan": PLAN, "explain": explain, "record": ("record", *NOWHERE)}[verb]
    monkeypatch.setattr(
        "rescheduler.runtime.inspecting.recorder.observer", lambda *_: lambda *_: skewed()
    )
    done = call(*arguments, "--out", "-")
    assert done.exit_code == 0
    if verb == "record":
        Path("copy").write_bytes(done.stdout_bytes)
        assert call("plan", "-p", "spread.yaml", "--snapshot", "copy").stdout == call(*PLAN).stdout
        assert done.stderr.startswith("standard output: 3 nodes, 4 pods")
    else:
        assert done.stdout == call(*arguments).stdout
    assert not Path("-").exists()


def test_a_full_disk_is_not_our_mistake(here: Path) -> None:
    call(*PLAN, "-o", "json", "--out", "plan.json")
    said = here / "stderr"
    with loader() as loaded:
        for arguments in (
            PLAN,
            (*PLAN, "-o", "json"),
            ("render", "plan.json"),
            ("check", "spread.yaml"),
            ("schema",),
            ("version",),
            ("--help",),
            ("plan", "--help"),
        ):
            assert loaded.begin(arguments, here, stdout="/dev/full").wait(60.0) == 6, arguments
            first, *hint = said.read_text().splitlines()
            assert first == "error: standard output cannot be written: No space left on device"
            assert len(hint) == 1, "a hint, and nothing of Python's own"


def test_warnings_are_told_even_where_the_result_cannot_be_written(here: Path) -> None:
    done = call("plan", "-p", "hot.yaml", "--snapshot", "cluster.snapshot", "--out", "/dev/full")
    assert done.exit_code == 6
    assert "RDG007" in done.stderr
    assert "/dev/full cannot be written" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (*PLAN, "--out", "spread.yaml"),
        (*PLAN, "--out", "cluster.snapshot"),
        (*PLAN, "--last-plan", "made.json", "-o", "html", "--out", "made.json"),
        ("render", "made.json", "-o", "html", "--out", "made.json"),
        ("plan", "-p", ".", "--snapshot", "cluster.snapshot", "--out", "new.yaml"),
    ],
)
def test_what_a_command_reads_is_never_overwritten(here: Path, arguments: tuple[str, ...]) -> None:
    made()
    before = {path: path.read_bytes() for path in here.iterdir()}
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is read by this command\n  Maybe name another file." in result.stderr
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_output_that_may_not_be_written_is_refused_before_the_work(here: Path) -> None:
    Path("link").symlink_to("nofolder/plan.json")
    done = call(*PLAN, "--out", "link")
    assert done.exit_code == 2
    assert "nofolder is not a folder" in done.stderr


def test_a_terminal_that_knows_no_colors_gets_none(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert _color()
    monkeypatch.setenv("TERM", "dumb")
    assert not _color()


def test_the_version_is_an_option_too(here: Path) -> None:
    assert call("--version").stdout == call("version").stdout == f"{rescheduler.__version__}\n"


def test_what_was_given_is_repeated(here: Path) -> None:
    settings = Settings(
        policies=Path("my policies"),
        prometheus_url="http://prometheus:9090",
        prometheus_selector='cluster="a"',
        scheduler_insecure_skip_tls_verify=True,
        out=Path("-"),
    )
    assert given_options(settings) == (
        ("--prometheus-url", "http://prometheus:9090"),
        ("--prometheus-selector", 'cluster="a"'),
        ("--scheduler-insecure-skip-tls-verify",),
    )
    assert given_options(Settings()) == ()


def test_explain_offers_only_the_formats_that_it_has(here: Path) -> None:
    assert "[table|json]" in call("explain", "pod", "--help").stdout
    assert "[table|json|html|markdown]" in call("plan", "--help").stdout
    assert "[table|json|html]" in call("history", "--help").stdout
    done = call("explain", "node", "n1", "--snapshot", "cluster.snapshot", "-o", "html")
    assert done.exit_code == 2
    assert "'html' is not one of 'table', 'json'" in done.stderr


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
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
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
