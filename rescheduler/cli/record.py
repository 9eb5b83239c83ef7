"""`rescheduler record`: the cluster and its readings in one file."""

import click

from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.options import SOURCES, takes
from rescheduler.cli.shared.output import check_writable
from rescheduler.runtime.settings import Settings


@click.command()
@takes(
    "out",
    "policies",
    *SOURCES,
    out=True,
)
def command(settings: Settings) -> int:
    """Save the cluster and its readings to a file, for planning without the cluster.

    With policies, the readings that they need are recorded, else all known readings. Environment
    variables, commands and secrets of pods are never read, so they are not in the file.
    """
    from rescheduler.runtime.inspecting.recorder import record  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.parts import (  # noqa: PLC0415 - keeps help quick
        connection_of,
        policies_of,
    )

    configure(settings)
    check_writable(settings.out)
    policies = policies_of(settings) if settings.policies else None
    for line in record(settings, connection_of(settings), policies):
        say(line, err=True)
    return 0
