"""TLS of the extender: its certificate, and whose clients may ask it."""

import ssl
from pathlib import Path

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.servers.webhook.presented import FromFiles
from rescheduler.runtime.settings import Settings


def secured(settings: Settings) -> ssl.SSLContext | None:
    """TLS as the files hold it now; None where none are named.

    With an authority of clients only who has a certificate of it is answered; probes and metrics
    need none.

    Raises:
        SettingsError: they do not belong together, or cannot be used.
    """
    certificate, key, clients = (
        settings.tls_cert_file,
        settings.tls_key_file,
        settings.client_ca_file,
    )
    if certificate is None and key is None and clients is None:
        return None
    if certificate is None or key is None:
        raise SettingsError(
            "--tls-cert-file, --tls-key-file and --client-ca-file belong together",
            "give the first two, and the third where not everybody may ask.",
        )
    try:
        context = FromFiles(certificate, key).pair().context()
        if clients is not None:
            _admit(context, clients)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the certificates cannot be used: {error}", "check what the files hold."
        ) from error
    return context


def _admit(context: ssl.SSLContext, clients: Path) -> None:
    """Let only clients of this authority have a certificate."""
    context.load_verify_locations(cadata=clients.read_text("ascii"))
    context.verify_mode = ssl.CERT_OPTIONAL
