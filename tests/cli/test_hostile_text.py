"""Whatever a metric source, an API server or a file says, it cannot draw on the terminal."""

import click
import pytest
from click.testing import CliRunner

from rescheduler.cli import version
from rescheduler.cli.main import program
from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.output import _warn
from rescheduler.model.errors import SourceError
from tests.reporting.hostile import PAYLOADS, poisoned
from tests.reporting.samples import SAMPLES

DRAWING = [payload for payload in PAYLOADS if any(not c.isprintable() for c in payload)]


def drawn(text: str) -> str:
    """What of the text a terminal would not print as a character."""
    return "".join(c for c in text if not c.isprintable() and c != "\n")


@pytest.mark.parametrize("payload", DRAWING)
def test_what_is_said_is_inert(payload: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(payload)
    say(f"error: {payload}\n  Maybe {payload}", err=True)
    shown = capsys.readouterr()
    assert drawn(shown.out + shown.err) == ""


@pytest.mark.parametrize("payload", DRAWING)
@pytest.mark.parametrize("error", [SourceError, ValueError])
def test_errors_are_inert(
    payload: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def failing() -> None:
        raise error(payload)

    monkeypatch.setattr(version, "command", failing)
    result = CliRunner().invoke(program, ["version"])
    assert result.exit_code == 1
    assert drawn(result.output) == ""


@pytest.mark.parametrize("payload", DRAWING)
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_warnings_beside_a_report_are_inert(
    name: str, payload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _warn(poisoned(name, payload))
    assert drawn(capsys.readouterr().err) == ""
