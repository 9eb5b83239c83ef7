"""`rescheduler check`: policy files, before they reach a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rescheduler.cli.options import SOURCES, takes
from rescheduler.cli.say import say
from rescheduler.model.errors import PolicyError
from rescheduler.model.wording import counted
from rescheduler.runtime.settings import Settings

if TYPE_CHECKING:
    from rescheduler.policies.files.policy_set import PolicySet


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "github"]),
    default="text",
    help="Format; github annotates the lines of a pull request.",
)
@takes(
    *SOURCES,
    "snapshot",
)
def command(settings: Settings, paths: tuple[Path, ...], output: str) -> int:
    """Check policy files, or folders of them; every problem has its file, line and column.

    With Prometheus or a snapshot it also checks the readings: for how many nodes or pods each has a
    value, and how old that is. Exits with 1 where a policy could not be evaluated, with 2 where a
    file is invalid.

    \b
      rescheduler check policies/
      rescheduler check policies/ --prometheus-url http://localhost:9090
    """  # noqa: D301 - click wants the character
    codes = []
    for path in paths:
        try:
            codes.append(_check(path, settings, marked=output == "github"))
        except PolicyError as error:
            codes.append(error.exit_code)
            say(f"error: {error}", err=True)
            if output == "github":
                _annotate(error, path)
    return max(codes)


def _check(path: Path, settings: Settings, *, marked: bool) -> int:
    from rescheduler.policies.files.policy_warnings import warnings  # noqa: PLC0415
    from rescheduler.policytest.github_annotations import annotation  # noqa: PLC0415
    from rescheduler.policytest.runner import is_policy_test, load  # noqa: PLC0415
    from rescheduler.runtime.checking import dead  # noqa: PLC0415 - pydantic is slow
    from rescheduler.sources.policy_files import load_policies, read_file  # noqa: PLC0415

    if is_policy_test(path.name):
        tests = counted(len(load(read_file(path)).tests), "policy test")
        say(f"{path}: {tests}, which `rescheduler test` runs")
        return 0
    found = load_policies(path)
    names = ", ".join(f"{each.kind} {each.name} ({each.mode})" for each in found.policies)
    say(f"{path}: {len(found.policies)} valid: {names}")
    for warning in warnings(found):
        say(warning.report())
        if marked:
            at = warning.place()
            say(annotation("warning", at.message, file=at.file, line=at.line, col=at.column))
    for note in dead(found):
        say(f"  note: {note}")
        if marked:
            say(annotation("warning", note))
    if any(getattr(settings, each) for each in (*SOURCES, "snapshot")):
        return _against_cluster(found, settings, marked=marked)
    return 0


def _against_cluster(policies: "PolicySet", settings: Settings, *, marked: bool) -> int:
    from rescheduler.policytest.github_annotations import annotation  # noqa: PLC0415
    from rescheduler.runtime.checking import answers, idle, unheard  # noqa: PLC0415
    from rescheduler.runtime.observing import observer  # noqa: PLC0415
    from rescheduler.runtime.parts import connection_of  # noqa: PLC0415

    observe = observer(settings, connection_of(settings))
    snapshot = observe(policies.requests())
    for title, answer in answers(policies, snapshot):
        say(f"  {title}: {answer}")
    for warning in idle(policies, snapshot):
        say(f"  note: {warning}")
    left_out = list(unheard(policies, snapshot))
    for policy, problem in left_out:
        text = f"{policy.kind} {policy.name}: {problem.code} {problem.message}"
        say(f"  not evaluated: {text}")
        if marked:
            file = policies.files[policy.name]
            say(annotation("error", text, title="not evaluated", file=file))
    return 1 if left_out else 0


def _annotate(error: PolicyError, path: Path) -> None:
    from rescheduler.policytest.github_annotations import annotations  # noqa: PLC0415 - only what is asked

    for line in annotations(error, str(path)):
        say(line)
