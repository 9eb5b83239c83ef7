"""`rescheduler test`: what policies do to small clusters, before they meet a real one."""

from pathlib import Path

import click

from rescheduler.cli.shared.output import check_writable
from rescheduler.sources.output_file import is_stdout, write_output

_FORMATS = ("text", "junit", "github")


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Choice(_FORMATS),
    default="text",
    help="Format; github annotates the lines of a pull request.",
)
@click.option("--out", type=click.Path(path_type=Path), help="File to write to; - is stdout.")
def command(paths: tuple[Path, ...], output: str, out: Path | None) -> int:
    """Run the policy tests in `*_test.yaml` files, or in folders of them.

    Each policy test is a small cluster, drawn or listed, with readings, and what is expected of the
    policies: costs, candidates, moves, refusals. Exits with 1 where one fails, with 2 where one
    cannot be run.
    """
    from rescheduler.policytest.writing import to_github, to_junit, to_text  # noqa: PLC0415
    from rescheduler.runtime.inspecting.testing import find, run  # noqa: PLC0415 - pydantic is slow

    check_writable(out)
    results = list(run(find(paths)))
    text = {"text": to_text, "junit": to_junit, "github": to_github}[output](results)
    write_output(text.encode(), out)
    if not is_stdout(out):
        click.echo(to_text(results).splitlines()[-1], err=True)
    if any(result.broken for result in results):
        return 2
    return 0 if all(result.holds for result in results) else 1
