"""`rescheduler readings`: what the policies measure with, and what a metric source has of it."""

import shutil
from pathlib import Path

import click

from rescheduler.cli.shared.options import SOURCES, takes
from rescheduler.runtime.settings import Settings


@click.command()
@click.argument("name", required=False)
@click.option(
    "--policies",
    type=click.Path(path_type=Path, exists=True),
    help="A file or folder, whose documents of kind Readings are listed too.",
)
@takes(*(source for source in SOURCES if source.startswith("prometheus")))
def command(settings: Settings, name: str | None, policies: Path | None) -> int:
    """Print every reading with its unit, its document and its series; or the document NAME.

    NAME is a document, or a reading: then what defines it is printed, as a document that you can
    change and put beside your policies. With --prometheus-url each series has how many there are,
    and from which job.

    \b
      rescheduler readings
      rescheduler readings node.gpu
      rescheduler readings --prometheus-url http://localhost:9090
    """  # noqa: D301 - click wants the character
    from rescheduler.reporting.reading_table import render_definitions  # noqa: PLC0415 - if asked
    from rescheduler.runtime.inspecting.reading_list import (  # noqa: PLC0415 - keeps help quick
        all_definitions,
        document_text,
        texts_of_series,
    )
    from rescheduler.sources.policy_files import load_policies  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.reading_series import series_of  # noqa: PLC0415 - keeps help quick

    if name is not None and settings.prometheus_url is None:
        click.echo(document_text(name), nl=False)
        return 0
    definitions = list(all_definitions(None if policies is None else load_policies(policies)))
    if name is not None:
        definitions = [
            definition
            for definition in definitions
            if name in (definition.name, definition.place.partition(" ")[0])
        ]
    there = None if settings.prometheus_url is None else texts_of_series(settings, definitions)
    rows = [
        (definition.name, definition.own.unit, definition.place, series_of(definition.own))
        for definition in definitions
    ]
    width = shutil.get_terminal_size((120, 24)).columns
    click.echo(render_definitions(rows, there, width=width), nl=False)
    return 0
