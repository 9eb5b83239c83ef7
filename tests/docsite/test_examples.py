"""What the pages show can be copied: commands are parsed, and documents are checked."""

import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from rescheduler.cli.main import program
from rescheduler.sources.policy_files import load_policies
from tests.cases import every
from tests.docsite.examples import commands_of, documents_of, pages
from tests.docsite.paths import ROOT

_BEGINS = re.compile(r"\s*apiVersion: rescheduler\.io/")
PAGES = {str(page.relative_to(ROOT)): (page,) for page in pages()}


def parse(words: list[str]) -> None:
    """Raise what the command line would say of these words; files need not be there."""
    command: click.Command = program
    while isinstance(command, click.Group) and words:
        below = command.get_command(click.Context(command), words[0])
        assert below is not None, f"there is no command {words[0]}"
        command, words = below, words[1:]
    given: dict[str, Any] = command.make_parser(click.Context(command)).parse_args(list(words))[0]
    for parameter in command.params:
        value = given.get(parameter.name or "")
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            placeholder = value.isupper()
            assert placeholder or value in parameter.type.choices, f"{value} is no choice"


@every(PAGES)
def test_every_command_of_a_page_is_one_that_there_is(page: Path) -> None:
    for words in commands_of(page.read_text(encoding="utf-8")):
        try:
            parse(words)
        except (AssertionError, click.ClickException) as error:
            error.add_note(f"rescheduler {' '.join(words)}")
            raise


def test_pages_show_commands_and_documents() -> None:
    texts = [page.read_text(encoding="utf-8") for page in pages()]
    assert sum(len(list(commands_of(text))) for text in texts) > 50
    assert sum("rescheduler.io/v1" in code for text in texts for _, code in documents_of(text)) >= 2


@pytest.mark.parametrize("name", PAGES)
def test_every_document_of_a_page_is_accepted(name: str, tmp_path: Path) -> None:
    for number, (_, code) in enumerate(documents_of((ROOT / name).read_text(encoding="utf-8"))):
        kinds = [
            document.get("kind")
            for document in yaml.safe_load_all(code)
            if isinstance(document, dict)
            and str(document.get("apiVersion")).startswith("rescheduler.io/")
        ]
        if kinds:
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "page.yaml").write_text(code)
            if set(kinds) <= {"Limits", "Readings", "Scheduler", "Notifications"}:
                (folder / "policy.yaml").write_text((ROOT / "policies/spread.yaml").read_text())
            assert load_policies(folder).policies


@pytest.mark.parametrize("name", PAGES)
def test_every_document_of_a_page_stands_in_a_block_of_code(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    shown = [line for _, code in documents_of(text) for line in code.splitlines()]
    beginnings = [line.strip() for line in text.splitlines() if _BEGINS.match(line)]
    assert sum(bool(_BEGINS.match(line)) for line in shown) == len(beginnings)


@every(
    [
        ["plan", "--polices", "policies/"],
        ["plan", "-o", "pdf"],
        ["explain", "job"],
        ["reset", "budget"],
        ["undo"],
    ]
)
def test_a_command_that_there_is_not_is_noticed(words: list[str]) -> None:
    with pytest.raises((AssertionError, click.ClickException)):
        parse(words)
