"""Messages on the terminal beside results, with control characters made harmless."""

import click

from rescheduler.model.wording import clean


def say(text: str, *, err: bool = False) -> None:
    """Print lines of text; names and answers of others in it cannot draw on the terminal.

    err: on standard error.
    """
    click.echo("\n".join(clean(line) for line in text.split("\n")), err=err)
