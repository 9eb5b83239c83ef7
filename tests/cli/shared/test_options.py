"""Options that may be given several times, on the command line, in the environment and back."""

import click
import pytest
from click.testing import CliRunner

from rescheduler.cli.shared.options import SOURCES, given_options, takes
from rescheduler.runtime.settings import Settings

SEEN: list[Settings] = []


@click.command()
@takes(*SOURCES)
def command(settings: Settings) -> int:
    SEEN.append(settings)
    return 0


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--prometheus-header", "A=@/a", "--prometheus-header", "B=@/b"], {}),
        ([], {"RESCHEDULER_PROMETHEUS_HEADER": "A=@/a B=@/b"}),
    ],
)
def test_headers_are_given_as_often_as_there_are_some(
    arguments: list[str], environment: dict[str, str]
) -> None:
    SEEN.clear()
    signed = [*arguments, "--prometheus-auth", "aws"]
    done = CliRunner().invoke(command, signed, env=environment)
    assert done.exit_code == 0, done.output
    assert SEEN[0].prometheus_header == ("A=@/a", "B=@/b")
    assert SEEN[0].prometheus_auth == "aws"
    assert given_options(SEEN[0]) == (
        ("--prometheus-auth", "aws"),
        ("--prometheus-header", "A=@/a"),
        ("--prometheus-header", "B=@/b"),
    )


def test_none_is_given_where_none_was() -> None:
    assert given_options(Settings()) == ()
    assert Settings().prometheus_header == ()
    assert Settings(prometheus_url="auto").prometheus_url == "auto"
