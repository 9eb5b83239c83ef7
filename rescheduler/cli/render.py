"""`rescheduler render`: a saved plan or outcome, shown again."""

from pathlib import Path

import click

from rescheduler.cli.shared.options import takes
from rescheduler.cli.shared.output import check_writable, show
from rescheduler.cli.shared.saved_plans import read_plan
from rescheduler.runtime.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@takes("output", "out")
def command(settings: Settings, file: Path) -> int:
    """Show the plan or outcome in FILE again, in another form."""
    check_writable(settings.out, file)
    show(read_plan(file), settings, file)
    return 0
