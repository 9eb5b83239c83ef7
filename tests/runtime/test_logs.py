"""Logs are JSON on a stream that is no terminal, and hold no secrets and no local variables."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from rescheduler.runtime.logs import configure, logger
from rescheduler.runtime.settings import Settings


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield io.StringIO()
    root.handlers[:], root.level = before, level
    structlog.reset_defaults()


def test_secrets_are_hidden_by_name_and_by_form(stream: io.StringIO) -> None:
    configure(Settings(), "info", stream)
    logger().info(
        "asked",
        prometheus_token="abc",
        url="http://me:hunter2@prometheus:9090/x",
        headers={"Authorization": "Bearer xyz", "Accept": "*/*"},
        said=["Bearer xyz"],
    )
    line = json.loads(stream.getvalue())
    assert "abc" not in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
    assert "xyz" not in stream.getvalue()
    assert line["url"] == "http://(hidden)@prometheus:9090/x"
    assert line["headers"]["Accept"] == "*/*"
    assert (line["event"], line["level"]) == ("asked", "info")


def test_a_traceback_has_no_local_variables(stream: io.StringIO) -> None:
    configure(Settings(), "info", stream)
    try:
        hidden = ["the-value-of-a-variable"]
        int(hidden[0][4:7])
    except ValueError:
        logger().exception("failed")
    assert "the-value-of-a-variable" not in stream.getvalue()
    assert json.loads(stream.getvalue())["exception"][0]["exc_type"] == "ValueError"


def test_libraries_use_the_same_form_and_only_when_it_matters(stream: io.StringIO) -> None:
    configure(Settings(), "info", stream)
    logging.getLogger("urllib3").info("chatter")
    logging.getLogger("urllib3").warning("trouble at https://a:b@host/")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "trouble at https://(hidden)@host/"


def test_the_level_that_was_said_beats_the_usual_one(stream: io.StringIO) -> None:
    configure(Settings(log_level="error"), "info", stream)
    logger().warning("not this")
    configure(Settings(debug=True), "info", stream)
    logger().debug("but this")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["but this"]


def test_no_log_line_draws_on_the_terminal(stream: io.StringIO) -> None:
    configure(Settings(log_format="console"), "info", stream)
    logger().warning("not evaluated\x1b[2J", message="a\x1b[31mb\x9b1m\r\nFORGED\u202e")
    shown = stream.getvalue()
    assert shown.count("\n") == 1
    assert all(character.isprintable() for character in shown.rstrip("\n"))
