"""`rescheduler webhook`: the webhook that steers replacements."""

import click

from rescheduler.cli.shared.options import takes
from rescheduler.runtime.settings import Settings


@click.command()
@takes("kubeconfig", "context", "listen", "tls_cert_file", "tls_key_file", "client_ca_file")
def command(settings: Settings) -> int:
    """Serve the admission webhook that tells replacements where to go, for `steering`.

    It follows the table of replacements, and adds node affinity to the pods that stand in it as
    they are created. It reads nothing else. Its certificate is its own, kept in the Secret
    rescheduler-webhook and renewed there, unless one is given as files. The API server alone knows
    the path that is answered, which ends in a secret; with files --client-ca-file tells whose
    certificate it must have.

    \b
      rescheduler webhook --listen 0.0.0.0:8443
    """  # noqa: D301 - click wants the character
    from rescheduler.runtime.logs import configure  # noqa: PLC0415 - keeps help quick
    from rescheduler.runtime.servers.webhook.webhook_server import serve_webhook  # noqa: PLC0415

    configure(settings, usual="info")
    return serve_webhook(settings)
