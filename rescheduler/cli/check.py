"""`rescheduler check`: policy files, before they reach a cluster."""

from pathlib import Path

import click


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
def command(paths: tuple[Path, ...]) -> int:
    """Check policy files, or folders of them; every problem gets its file, line and column."""
    from rescheduler.policies.documents import load_policies  # noqa: PLC0415 - pydantic is slow

    for path in paths:
        found = load_policies(path)
        names = ", ".join(f"{each.kind} {each.name} ({each.mode})" for each in found.policies)
        click.echo(f"{path}: {len(found.policies)} valid: {names}")
    return 0
