"""TLS of the extender: its certificate, and whose clients may ask it."""

import ssl

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.servers.clients import admit_clients, is_local
from rescheduler.runtime.servers.webhook.presented import FromFiles
from rescheduler.runtime.settings import Settings


def secured(settings: Settings) -> ssl.SSLContext | None:
    """TLS as the files hold it now; None where none are named.

    With an authority of clients only who has a certificate of it is answered; probes and metrics
    need none. Without one only this host may ask.

    Raises:
        SettingsError: they do not belong together, cannot be used, or everybody could ask.
    """
    certificate, key, clients = (
        settings.tls_cert_file,
        settings.tls_key_file,
        settings.client_ca_file,
    )
    if clients is None and not is_local(settings.listen):
        raise SettingsError(
            f"everybody who reaches {settings.listen} could ask, and use up what the table names",
            "give --tls-cert-file, --tls-key-file and --client-ca-file with the authority of the "
            "scheduler's certificate, or listen on 127.0.0.1 beside the scheduler.",
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
            admit_clients(context, clients)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the certificates cannot be used: {error}", "check what the files hold."
        ) from error
    return context
