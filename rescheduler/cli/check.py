"""`rescheduler check`: policy files, before they reach a cluster."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.options import SOURCES, given_options, takes
from rescheduler.model.errors import PolicyError
from rescheduler.model.wording import count_text
from rescheduler.runtime.settings import Settings

if TYPE_CHECKING:
    from rescheduler.policies.base import Policy
    from rescheduler.policies.files.policy_set import PolicySet
    from rescheduler.policytest.github_annotations import Level


@dataclass
class _CheckReport:
    """What was found, as lines or, in the end, as one JSON document; github: with annotations."""

    form: str
    document: dict[str, Any] = field(
        default_factory=lambda: {
            "valid": [],
            "warnings": [],
            "notes": [],
            "readings": [],
            "notEvaluated": [],
            "errors": [],
        }
    )

    def add(self, kind: str, value: Any, text: str, *, err: bool = False) -> None:
        """One finding of that kind."""
        self.document[kind].append(value)
        if err or self.form != "json":
            say(text, err=err)

    def annotate(self, level: "Level", text: str, **place: Any) -> None:
        """Mark a place of a pull request."""
        from rescheduler.policytest.github_annotations import annotation  # noqa: PLC0415 - if asked

        if self.form == "github":
            say(annotation(level, text, **place))

    def end(self) -> None:
        """What is shown of all together."""
        if self.form == "json":
            import msgspec  # noqa: PLC0415 - only what is shown

            text = msgspec.json.format(msgspec.json.encode(self.document), indent=2)
            click.echo(text.decode())


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "github"]),
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
    value, how old that is, in what range, and what asking for it cost. Exits with 1 where a policy
    could not be evaluated, with 2 where a file is invalid.

    \b
      rescheduler check policies/
      rescheduler check policies/ --prometheus-url http://localhost:9090
    """  # noqa: D301 - click wants the character
    codes, report = [], _CheckReport(output)
    for path in paths:
        try:
            codes.append(_check(path, settings, report))
        except PolicyError as error:
            codes.append(error.exit_code)
            report.add("errors", str(error), f"error: {error}", err=True)
            if output == "github":
                _annotate(error, path)
    report.end()
    return max(codes)


def _check(path: Path, settings: Settings, report: _CheckReport) -> int:
    from rescheduler.policies.files.policy_warnings import warnings  # noqa: PLC0415
    from rescheduler.policytest.runner import is_policy_test, load  # noqa: PLC0415
    from rescheduler.runtime.inspecting.checking import dead, undefined_readings  # noqa: PLC0415 - pydantic is slow
    from rescheduler.sources.policy_files import load_policies, read_file  # noqa: PLC0415

    if is_policy_test(path.name):
        tests = count_text(len(load(read_file(path)).tests), "policy test")
        text = f"{path}: {tests}, which `rescheduler test` runs"
        report.add("valid", {"path": str(path)}, text)
        return 0
    policy_set = load_policies(path)
    policies = [f"{policy.kind} {policy.name} ({policy.mode})" for policy in policy_set.policies]
    valid = {"path": str(path), "policies": policies}
    report.add("valid", valid, f"{path}: {len(policies)} valid: {', '.join(policies)}")
    for warning in warnings(policy_set):
        at = warning.place()
        report.add("warnings", warning.report(), warning.report())
        report.annotate("warning", at.message, file=at.file, line=at.line, col=at.column)
    for note in dead(policy_set):
        report.add("notes", note, f"  note: {note}")
        report.annotate("warning", note)
    lacking = list(undefined_readings(policy_set))
    for policy, text in lacking:
        _left_out(report, policy_set, policy, "RDG008", text)
    if not lacking and (given_options(settings) or settings.snapshot is not None):
        return _against_cluster(policy_set, settings, report)
    return 1 if lacking else 0


def _left_out(
    report: _CheckReport, policies: "PolicySet", policy: "Policy", code: str, message: str
) -> None:
    text = f"{policy.kind} {policy.name}: {code} {message}"
    silent = {"policy": policy.name, "code": code, "message": message}
    report.add("notEvaluated", silent, f"  not evaluated: {text}")
    report.annotate("error", text, title="not evaluated", file=policies.files[policy.name])


def _against_cluster(policies: "PolicySet", settings: Settings, report: _CheckReport) -> int:
    from rescheduler.cli.shared.output import has_colors  # noqa: PLC0415 - keeps help quick
    from rescheduler.planning.plan.steering_notes import steering_notes  # noqa: PLC0415
    from rescheduler.reporting.reading_table import render_readings  # noqa: PLC0415
    from rescheduler.runtime.inspecting.checking import answers, idle, unevaluated_policies  # noqa: PLC0415
    from rescheduler.runtime.observing import observer  # noqa: PLC0415
    from rescheduler.runtime.parts import connection_of  # noqa: PLC0415
    from rescheduler.runtime.steering_seen import not_set_up  # noqa: PLC0415

    connection = connection_of(settings)
    observe = observer(settings, connection, stats=True)
    snapshot = observe(policies.requests(), policies.limits.own_annotations)
    reading_answers = list(answers(policies, snapshot))
    report.document["readings"] += reading_answers
    if reading_answers and report.form != "json":
        width = shutil.get_terminal_size((120, 24)).columns
        click.echo(render_readings(reading_answers, width=width, color=has_colors(None)), nl=False)
    unsteered = list(steering_notes(policies.policies, policies.limits, snapshot))
    if connection is not None:
        unsteered += not_set_up(connection, policies)
    for note in (*(problem.message for problem in unsteered), *idle(policies, snapshot)):
        report.add("notes", note, f"  note: {note}")
    left_out = list(unevaluated_policies(policies, snapshot))
    for policy, problem in left_out:
        _left_out(report, policies, policy, problem.code, problem.message)
    return 1 if left_out else 0


def _annotate(error: PolicyError, path: Path) -> None:
    from rescheduler.policytest.github_annotations import annotations  # noqa: PLC0415 - only what is asked

    for line in annotations(error, str(path)):
        say(line)
