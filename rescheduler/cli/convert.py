"""`rescheduler convert`: policies of another program, as policies of ours."""

from functools import partial
from pathlib import Path

import click

from rescheduler.cli.shared.messages import say
from rescheduler.cli.shared.output import check_writable
from rescheduler.model.wording import count_text
from rescheduler.sources.output_file import is_stdout, write_output


@click.command()
@click.argument("program", type=click.Choice(["descheduler"]))
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write to, with a policy test beside it; - is stdout.",
)
def command(program: str, file: Path, out: Path | None) -> int:
    """Write policies and Limits that say what FILE of descheduler says.

    FILE holds a DeschedulerPolicy (v1alpha1, v1alpha2), values of its Helm chart, a ConfigMap with
    either, OpenShift's KubeDescheduler, or Koordinator's DeschedulerConfiguration. Each field that
    has no equivalent is named in a comment, with what to do instead. Exits with 2 where FILE cannot
    be converted.

    \b
      rescheduler convert descheduler values.yaml --out policies/descheduler.yaml
      helm get values -a descheduler -n kube-system | rescheduler convert descheduler -
    """  # noqa: D301 - click wants the character
    from rescheduler.policies.conversion.example_tests import test_file_text  # noqa: PLC0415
    from rescheduler.policies.conversion.source_forms import convert  # noqa: PLC0415 - pydantic is slow
    from rescheduler.policytest.expectations import actual_results  # noqa: PLC0415
    from rescheduler.policytest.object_builders import NOW  # noqa: PLC0415
    from rescheduler.sources.policy_files import read_file  # noqa: PLC0415

    check_writable(out, file)
    converted = convert(read_file(Path("/dev/stdin") if str(file) == "-" else file))
    write_output(converted.text.encode(), out)
    notes = converted.conversion.all_notes()
    lost = sum(not note.equivalent for note in notes)
    made = count_text(len(converted.conversion.drafts), "policy", "policies")
    say(f"{made} of {program}; {count_text(lost, 'comment')} on what has no equivalent", err=True)
    if out is not None and not is_stdout(out):
        tests = out.with_name(f"{out.stem}_test.yaml")
        evaluate = partial(actual_results, policies=converted.policies)
        text = test_file_text(out.name, converted.conversion.drafts, NOW, evaluate)
        if text:
            check_writable(tests, file)
            write_output(text.encode(), tests)
            say(f"  `rescheduler test {tests}` shows what they do to small clusters", err=True)
    return 0
