"""`rescheduler extender`: answers a scheduler of your own."""

import click

from rescheduler.cli.shared.options import METRICS, takes
from rescheduler.runtime.settings import Settings

TLS = ("tls_cert_file", "tls_key_file", "client_ca_file")


@click.command()
@takes("policies", *METRICS, "every", "listen", *TLS, policies=True)
def command(settings: Settings) -> int:
    """Answer a kube-scheduler of your own about nodes, as an extender.

    It gives the nodes that a plan chose for a replacement the highest score, for `steering`,
    keeps replacements from all others where the strength is Require, and scores every other pod by
    what the Enforce policies say of pods like it. Without data all nodes are alike to it. The
    cluster is read every minute, or as --every says. On an address that others reach it needs
    --client-ca-file, which tells whose certificate a scheduler must have: who asks uses up what the
    table names.

    \b
      rescheduler extender -p policies/ --listen 127.0.0.1:8888
    """  # noqa: D301 - click wants the character
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.servers.extender.extender_server import serve_extender  # noqa: PLC0415

    configure(settings, usual="info")
    return serve_extender(settings)
