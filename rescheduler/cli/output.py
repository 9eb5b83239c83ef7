"""Where results go: standard output, or a file that is either complete or untouched."""

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

import click

from rescheduler.model.errors import SettingsError
from rescheduler.model.explanation import Explanation
from rescheduler.model.plan import Report, plan_in
from rescheduler.runtime.settings import OutputFormat


def check_writable(out: Path | None) -> None:
    """Refuse an output path at once, rather than after the work.

    Raises:
        SettingsError: the folder is missing or may not be written, or the path is a folder.
    """
    if out is None:
        return
    folder = out.parent
    if not folder.is_dir():
        raise SettingsError(f"--out {out}: {folder} is not a folder", "create it first.")
    if out.is_dir():
        raise SettingsError(f"--out {out} is a folder", "name a file in it.")
    if not os.access(folder, os.W_OK):
        raise SettingsError(f"--out {out}: {folder} may not be written", "choose another place.")


def write(data: bytes, out: Path | None) -> None:
    """Write to the file, replacing it in one step, or to standard output.

    Raises:
        SettingsError: the file cannot be written.
    """
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    name = ""
    try:
        with tempfile.NamedTemporaryFile(
            dir=out.parent, prefix=f".{out.name}.", delete=False
        ) as file:
            name = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(out)
    except OSError as error:
        if name:
            with contextlib.suppress(OSError):
                Path(name).unlink()
        raise SettingsError(
            f"--out {out} cannot be written: {error.strerror}", "choose another place."
        ) from error


def show(report: Report, output: OutputFormat, out: Path | None) -> None:
    """Render the plan or outcome and write it."""
    write(_rendered(report, output, to_terminal=out is None), out)


def show_explanation(explanation: Explanation, output: OutputFormat, out: Path | None) -> None:
    """Render an explanation and write it."""
    from rescheduler.reporting.explain.report import (  # noqa: PLC0415 - only what is shown
        explanation_json,
        render_explanation,
    )

    if output == "json":
        write(explanation_json(explanation), out)
        return
    width = shutil.get_terminal_size((100, 24)).columns
    color = out is None and _color()
    write(render_explanation(explanation, width=width, color=color).encode(), out)


def _rendered(report: Report, output: OutputFormat, *, to_terminal: bool) -> bytes:
    if output == "json":
        from rescheduler.reporting.machine import to_json  # noqa: PLC0415 - only what is shown

        return to_json(report)
    if output == "html":
        from rescheduler.reporting.page import render_page  # noqa: PLC0415 - only what is shown

        return render_page(report).encode()
    from rescheduler.reporting.terminal import render_table  # noqa: PLC0415 - only what is shown

    width = shutil.get_terminal_size((100, 24)).columns
    return render_table(report, width=width, color=to_terminal and _color()).encode()


def _color() -> bool:
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def warn(report: Report) -> None:
    """Tell on standard error what must not be overlooked, whatever becomes of the result."""
    plan = plan_in(report)
    for policy in plan.policies:
        if policy.problem is not None:
            problem = policy.problem
            click.echo(
                f"warning: {policy.kind} {policy.name} has no say: "
                f"{problem.code} {problem.message}",
                err=True,
            )
    for guard in plan.guards:
        click.echo(f"note: nothing moves: {guard.code} {guard.message}", err=True)
    for note in plan.notes:
        click.echo(f"note: {note.code} {note.message}", err=True)
