"""Prints a result or writes it to a file, and checks first that the file can be written."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.options import given_options
from rescheduler.model.errors import SettingsError
from rescheduler.model.explanation import Explanation
from rescheduler.model.moves.plan import Report, plan_in
from rescheduler.runtime.settings import OutputFormat, Settings
from rescheduler.sources.output_file import is_stdout, write_output

if TYPE_CHECKING:
    from rescheduler.reporting.next_steps import Invocation


def check_writable(out: Path | None, *inputs: Path | None) -> None:
    """Refuse an output path at once, rather than after the work.

    inputs: what the same command reads, files or folders; it must not be overwritten.

    Raises:
        SettingsError: the folder is missing, or what is to be written may not be, or is a folder.
    """
    if out is None or is_stdout(out):
        return
    target = Path(os.path.realpath(out))
    folder = target.parent
    if target.is_dir():
        raise SettingsError(f"--out {out} is a folder", "name a file in it.")
    for path in inputs:
        if path is not None and _read_from(path, target):
            raise SettingsError(f"--out {out} is read by this command", "name another file.")
    if out.exists():
        if not os.access(out, os.W_OK):
            raise SettingsError(f"--out {out} may not be written", "choose another place.")
        return
    if not folder.is_dir():
        raise SettingsError(f"--out {out}: {folder} is not a folder", "create it first.")
    if not os.access(folder, os.W_OK):
        raise SettingsError(f"--out {out}: {folder} may not be written", "choose another place.")


def trail_of(settings: Settings) -> Path | None:
    """The file of the audit trail, which no result may overwrite."""
    return None if settings.audit_trail is None else Path(settings.audit_trail)


def _read_from(source: Path, target: Path) -> bool:
    """Whether the file is the input, or a policy file of the folder that is the input."""
    if source.is_dir():
        held = target.parent == Path(os.path.realpath(source))
        return held and target.suffix in (".yaml", ".yml")
    return target.exists() and source.exists() and target.samefile(source)


def show(report: Report, settings: Settings, file: Path | None = None) -> None:
    """Render the plan or outcome and write it. file: where it was read from."""
    write_output(_render_report(report, settings, file), settings.out)


def show_explanation(explanation: Explanation, output: OutputFormat, out: Path | None) -> None:
    """Render an explanation and write it."""
    from rescheduler.reporting.explain.report import (  # noqa: PLC0415 - only what is shown
        explanation_json,
        render_explanation,
    )

    if output == "json":
        write_output(explanation_json(explanation), out)
        return
    width = shutil.get_terminal_size((100, 24)).columns
    color = has_colors(out)
    write_output(render_explanation(explanation, width=width, color=color).encode(), out)


def _render_report(report: Report, settings: Settings, file: Path | None) -> bytes:
    if settings.output == "json":
        from rescheduler.reporting.formats.plan_json import to_json  # noqa: PLC0415 - only what is shown

        return to_json(report)
    invocation = _invocation(settings, file)
    if settings.output == "html":
        from rescheduler.reporting.formats.page import render_page  # noqa: PLC0415 - only what is shown

        return render_page(report, invocation).encode()
    if settings.output == "markdown":
        from rescheduler.reporting.formats.markdown import (  # noqa: PLC0415 - only what is shown
            render_markdown,
        )

        return render_markdown(report, invocation).encode()
    from rescheduler.reporting.formats.terminal import render_table  # noqa: PLC0415 - only what is shown

    width = shutil.get_terminal_size((100, 24)).columns
    color = has_colors(settings.out)
    return render_table(report, width=width, color=color, invocation=invocation).encode()


def _invocation(settings: Settings, file: Path | None) -> "Invocation":
    """What the report's next commands repeat of this one."""
    from rescheduler.reporting.next_steps import Invocation  # noqa: PLC0415 - only what is shown

    if file is not None:
        return Invocation(file=str(file))
    policies = "" if settings.policies is None else str(settings.policies)
    return Invocation(policies=policies, options=given_options(settings))


def has_colors(out: Path | None) -> bool:
    """Whether what is written there is to have colors."""
    return is_stdout(out) and _color()


def _color() -> bool:
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def say_shipped() -> None:
    """Say on standard error which policies decide where none were given."""
    from rescheduler.sources.policy_files import shipped_folder  # noqa: PLC0415 - keeps help quick

    say(
        f"note: no --policies were given, so the policies in {shipped_folder()}, which come with "
        "the program, are used. Copy those files to change them.",
        err=True,
    )


def show_result(report: Report, settings: Settings) -> None:
    """Show the plan or outcome, and warn on standard error even where that fails."""
    try:
        show(report, settings)
    finally:
        _warn(report)


def _warn(report: Report) -> None:
    plan = plan_in(report)
    for policy in plan.policies:
        if policy.problem is not None:
            problem = policy.problem
            say(
                f"warning: {policy.kind} {policy.name} was not evaluated: "
                f"{problem.code} {problem.message}",
                err=True,
            )
    for guard in plan.guards:
        say(f"note: nothing is moved: {guard.code} {guard.message}", err=True)
    from rescheduler.reporting.alerts import shown_notes  # noqa: PLC0415 - keeps help quick

    for note in shown_notes(plan):
        say(f"note: {note.code} {note.message}", err=True)
