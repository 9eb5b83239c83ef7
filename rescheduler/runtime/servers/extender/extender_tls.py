"""TLS of the extender: its certificate, and whose clients may ask it."""

import ssl

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.servers.tls import certificate_files, context_of, refuse_everybody
from rescheduler.runtime.settings import Settings


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """TLS as the files hold it now; None where none are named.

    With an authority of clients only who has a certificate of it is answered; probes and metrics
    need none. Without one only this host may ask.

    Raises:
        SettingsError: they do not belong together, cannot be used, or everybody could ask.
    """
    refuse_everybody(
        settings,
        "give --tls-cert-file, --tls-key-file and --client-ca-file with the authority of the "
        "scheduler's certificate, or listen on 127.0.0.1 beside the scheduler.",
    )
    files = certificate_files(settings)
    if files is not None:
        return context_of(files.pair(), settings)
    if settings.client_ca_file is not None:
        raise SettingsError(
            "--tls-cert-file, --tls-key-file and --client-ca-file belong together",
            "give the first two, and the third where not everybody may ask.",
        )
    return None
