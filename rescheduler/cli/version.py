"""`rescheduler version`: prints the version of the program."""

import click

from rescheduler import __version__


@click.command()
def command() -> int:
    """Print the version."""
    click.echo(__version__)
    return 0
