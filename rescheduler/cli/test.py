"""`rescheduler test`: what policies do to small clusters, before they meet a real one."""

from pathlib import Path

import click


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Choice(["text", "junit"]), default="text", help="Format."
)
@click.option("--out", type=click.Path(path_type=Path), help="File to write to, instead of stdout.")
def command(paths: tuple[Path, ...], output: str, out: Path | None) -> int:
    """Tell the stories of `*_test.yaml` files, or of folders of them.

    Each story is a small cluster, drawn or listed, with readings, and what is expected of the
    policies: costs, candidates, moves, refusals. Exits with 1 where one does not hold.
    """
    from rescheduler.stories.running import find, run  # noqa: PLC0415 - pydantic is slow
    from rescheduler.stories.writing import to_junit, to_text  # noqa: PLC0415

    results = list(run(find(paths)))
    text = to_junit(results) if output == "junit" else to_text(results)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
    return 1 if any(each.differences for each in results) else 0
