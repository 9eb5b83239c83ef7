"""The completion of the command line, in the shells themselves."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rescheduler.cli.completion import SHELLS
from rescheduler.cli.main import program
from tests.cli.recorded import call, here
from tests.programs import require_program

__all__ = ["here"]

ASKED = {
    "bash": """
        source {script}
        COMP_WORDS=(rescheduler {words}) COMP_CWORD={number}
        _rescheduler_completion rescheduler
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    # What zsh's own completion would do with the answers is theirs; we look at what it is handed.
    "zsh": """
        compdef() {{ :; }}
        compadd() {{ local name=$argv[-1]; print -l -- "${{(@P)name}}"; }}
        _describe() {{ print -l -- "${{(@P)3}}"; }}
        _path_files() {{ print files; }}
        source {script}
        words=(rescheduler {words}) CURRENT=$(({number} + 1))
        _rescheduler_completion
    """,
    "fish": """
        source {script}
        complete --do-complete "rescheduler {words}"
    """,
    # As kubectl does, which is asked by the shell.
    "kubectl": """
        sh {script} {words} | grep -v ^:
    """,
}
"""How each shell is asked for what completes the last of these words."""


def completed(shell: str, here: Path, *words: str) -> set[str]:
    """What the shell offers instead of the last word."""
    runner = {"kubectl": "bash"}.get(shell, shell)
    require_program(runner)
    for name in ("rescheduler", "kubectl-rescheduler"):
        (here / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m rescheduler "$@"\n')
        (here / name).chmod(0o755)
    script = here / f"script.{shell}"
    script.write_text(call("completion", shell).stdout)
    quoted = " ".join(shlex.quote(word) if word else "''" for word in words)
    asked = ASKED[shell].format(
        script=script,
        words=quoted if words[-1] or shell == "kubectl" else quoted[:-2],
        number=len(words),
    )
    search = {"PATH": f"{here}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [runner, *(["--no-config"] if shell == "fish" else []), "-c", asked],
        env={**os.environ, **search, "HOME": str(here)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.stderr, done.stderr
    return {line.split("\t")[0].split(":")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", ASKED)
def test_a_shell_completes_verbs_options_and_their_values(here: Path, shell: str) -> None:
    assert completed(shell, here, "p") == {"plan", "pause"}
    assert "--snapshot" in completed(shell, here, "plan", "--sn")
    assert completed(shell, here, "plan", "-o", "") == {"table", "json", "html", "markdown"}
    assert completed(shell, here, "completion", "") == {*SHELLS, "kubectl"}


def test_every_verb_is_completed_without_importing_one() -> None:
    context = program.make_context("rescheduler", [], resilient_parsing=True)
    loaded = set(sys.modules)
    offered = {item.value for item in program.shell_complete(context, "")}
    assert offered == set(program.list_commands(context))
    assert set(sys.modules) == loaded
    assert {item.value for item in program.shell_complete(context, "--v")} == {"--version"}
