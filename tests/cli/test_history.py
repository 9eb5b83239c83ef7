"""The audit trail and its history from the command line."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rescheduler.model.errors import SettingsError
from rescheduler.model.trails.trail import AnswerRecord
from rescheduler.runtime.live_actor import open_trail
from tests.cli.recorded import NOWHERE, call, here
from tests.reporting.history.samples import START, lines, week

__all__ = ["here"]

RUN = ("run", "--once", "--policies", "spread.yaml", "--snapshot", "cluster.snapshot")


def history(*arguments: str, **more: Any) -> dict[str, Any]:
    result = call("history", "-o", "json", *arguments, **more)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("trail", ["t.jsonl", "folder/"])
def test_runs_leave_a_trail_that_history_reads(here: Path, trail: str) -> None:
    for _ in range(2):
        result = call(*RUN, "--audit-trail", trail)
        assert result.exit_code == 0, result.output
    found = history("--audit-trail", trail)
    assert [cycle["verdict"] for cycle in found["cycles"]] == ["planned", "planned"]
    assert [cycle["moves"] for cycle in found["cycles"]] == [1, 1]
    assert found["integrity"]["problems"] == []
    table = call("history", "--audit-trail", trail)
    assert "The 2 cycles were in mode Audit." in table.stdout
    assert call("history", "--audit-trail", trail, "-o", "html", "--out", "h.html").exit_code == 0
    assert Path("h.html").read_text().startswith("<!doctype html>")


def test_a_trail_on_standard_output_is_read_from_a_mixed_log(here: Path) -> None:
    logged = call(*RUN, "--audit-trail", "-")
    assert logged.exit_code == 0
    assert "Spread" in logged.stdout
    found = history("--audit-trail", "-", input=logged.stdout)
    assert [cycle["verdict"] for cycle in found["cycles"]] == ["planned"]


def test_a_trail_must_not_stand_amid_json(here: Path) -> None:
    result = call(*RUN, "--audit-trail", "-", "-o", "json")
    assert result.exit_code == 2
    assert "both go to standard output" in result.stderr
    assert call(*RUN, "--audit-trail", "-", "-o", "json", "--out", "x.json").exit_code == 0


@pytest.mark.parametrize("trail", ["missing/folder/t", "/dev/null", "", "spread.yaml"])
def test_where_no_trail_can_be_written_there_is_no_cycle(here: Path, trail: str) -> None:
    before = Path("spread.yaml").read_bytes()
    result = call(*RUN, "--audit-trail", trail)
    assert result.exit_code in (1, 2)
    assert "Maybe" in result.stderr
    assert "audit" in result.stderr
    assert result.stdout == ""
    assert Path("spread.yaml").read_bytes() == before


def test_the_result_does_not_overwrite_the_trail(here: Path) -> None:
    assert call(*RUN, "--audit-trail", "t").exit_code == 0
    result = call(*RUN, "--audit-trail", "t", "--out", "t")
    assert result.exit_code == 2
    assert "is read by this command" in result.stderr


def test_a_broken_trail_is_shown_and_the_exit_code_says_so(here: Path) -> None:
    made = lines(week())
    made[4] = made[4].replace(b"gpu-", b"cpu-")
    Path("t").write_bytes(b"".join(made))
    result = call("history", "--audit-trail", "t")
    assert result.exit_code == 1
    assert "broken in 1 place, first at t:5: the line was changed" in result.stderr
    assert "The audit trail is broken" in result.stdout


@pytest.mark.parametrize(
    ("since", "cycles"),
    [("2026-11-20", 5), ("2026-11-21T10:00:00Z", 3), ("2026-11-21T10:00:00+02:00", 4), ("1s", 0)],
)
def test_since_takes_a_date_a_time_or_a_duration(here: Path, since: str, cycles: int) -> None:
    assert datetime.now(UTC) > START
    Path("t").write_bytes(b"".join(lines(week())))
    found = history("--audit-trail", "t", "--since", since)
    assert len(found["cycles"]) == cycles


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no audit trail was given"),
        (("--audit-trail", "nowhere"), "there is no audit trail at nowhere"),
        (("--audit-trail", "text.txt"), "text.txt has no record of an audit trail: none of its 1"),
        (("--audit-trail", "-"), "standard input has no record of an audit trail: it is empty"),
        (
            ("--audit-trail", "t", "--since", "yesterday"),
            "neither a duration such as 7d or 12h nor a date",
        ),
        (("--audit-trail", "t", "--since", "2026-13-01"), "nor a date such as 2026-11-01"),
    ],
)
def test_what_is_wrong_is_told_in_words(here: Path, arguments: tuple[str, ...], said: str) -> None:
    result = call("history", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_failed_run_is_in_the_trail_and_no_secret_is(here: Path) -> None:
    result = call("run", "--once", "-p", "spread.yaml", *NOWHERE, "--audit-trail", "t",
                  "--mode", "Enforce")  # fmt: skip
    assert result.exit_code == 1
    (cycle,) = history("--audit-trail", "t")["cycles"]
    assert (cycle["verdict"], cycle["exit"]) == ("failed", 1)
    assert "secret-token" not in Path("t").read_text()


def test_secrets_in_what_a_server_answers_do_not_get_into_the_trail(tmp_path: Path) -> None:
    made = open_trail(str(tmp_path / "t"), most_bytes=1 << 20, keep=2, now=lambda: START)
    said = "webhook said: Authorization: Bearer canary-1.abc, see https://u:canary-2@host/x"
    made.record(AnswerRecord(uid="u", plan="p", result="refused", code="ACT008", message=said))
    text = (tmp_path / "t").read_text()
    assert "webhook said" in text
    assert "canary" not in text


def test_a_folder_that_may_not_be_written_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SettingsError, match="may not be written"):
        open_trail(str(tmp_path / "t"), most_bytes=1 << 20, keep=2, now=None)
