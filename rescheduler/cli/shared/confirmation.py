"""What the program asks before it changes something that people will notice."""

import sys

import click


def confirm(question: str, *, yes: bool) -> None:
    """Go on only where a person says yes. yes: it was said on the command line.

    Raises:
        click.UsageError: there is nobody to ask. click.Abort: the answer is no.
    """
    if yes:
        return
    if not has_terminal():
        raise click.UsageError("There is no terminal to ask on. Give --yes to go on without.")
    click.confirm(question, abort=True, err=True)


def has_terminal() -> bool:
    """Whether a person can answer."""
    return sys.stdin is not None and sys.stdin.isatty()
