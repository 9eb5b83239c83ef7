"""`rescheduler doctor`: what the rescheduler needs of a cluster, and what to do about gaps."""

import shutil

import click

from rescheduler.cli.shared.options import SOURCES, takes
from rescheduler.cli.shared.output import check_writable, has_colors, say_shipped
from rescheduler.runtime.settings import Settings


@click.command()
@takes(
    "policies",
    "mode",
    *SOURCES,
    "output",
    "out",
    formats=("table", "json"),
)
def command(settings: Settings) -> int:
    """Check what the rescheduler needs of this cluster, and say what to do about what is missing.

    It looks at the API server's version, the clock, rights, schedulers, Prometheus and exporters,
    PodDisruptionBudgets, webhooks, steering, policies and node pools. It changes nothing. Without
    --policies those that come with the program are used, and without --prometheus-url Prometheus is
    looked for among the Services. Exits with 1 where something cannot work as it is.

    \b
      rescheduler doctor
      rescheduler doctor -p policies/
      rescheduler doctor -p policies/ --mode Enforce --prometheus-url http://localhost:9090
    """  # noqa: D301 - click wants the character
    check_writable(settings.out, settings.policies)
    from rescheduler.runtime.exit_codes import FAULT  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.inspecting.doctor import Doctor  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.parts import policies_or_shipped  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.kubernetes.client import connect  # noqa: PLC0415 - keeps help quick
    from rescheduler.sources.output_file import write_output  # noqa: PLC0415 - keeps help quick

    configure(settings)
    if settings.policies is None:
        say_shipped()
    policies = policies_or_shipped(settings)
    connection = connect(settings.kubeconfig, settings.context)
    checkup = Doctor(settings, connection, policies).checkup()
    if settings.output == "json":
        from rescheduler.reporting.doctor.checkup_json import checkup_json  # noqa: PLC0415 - only what is shown

        data = checkup_json(checkup)
    else:
        from rescheduler.reporting.doctor.checkup_table import render_checkup  # noqa: PLC0415 - only what is shown

        width = shutil.get_terminal_size((100, 24)).columns
        data = render_checkup(checkup, width=width, color=has_colors(settings.out)).encode()
    write_output(data, settings.out)
    return FAULT if checkup.of_severity("error") else 0
