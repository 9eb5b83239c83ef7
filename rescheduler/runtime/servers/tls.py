"""TLS of a server: the certificate that files hold, and whose clients may ask."""

import ssl
from pathlib import Path

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.servers.webhook.certificates import KeyPair
from rescheduler.runtime.settings import Settings
from rescheduler.wire.hosts import is_loopback


class FromFiles:
    """A certificate that somebody else renews, such as cert-manager, in files."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate, self._key = certificate, key

    def pair(self) -> KeyPair:
        """What the files hold now. Raises: SettingsError."""
        try:
            return KeyPair(self._certificate.read_bytes(), self._key.read_bytes())
        except OSError as error:
            raise SettingsError(
                f"{error.filename}: {error.strerror}",
                "name the files of the certificate and its key, or leave both options out.",
            ) from error

    def secret(self) -> str:
        """None: clients show a certificate, or are on this host."""
        return ""


def certificate_files(settings: Settings) -> FromFiles | None:
    """The certificate that the settings name; None where they name none.

    Raises:
        SettingsError: one of its two files is not named.
    """
    certificate, key = settings.tls_cert_file, settings.tls_key_file
    if certificate is not None and key is not None:
        return FromFiles(certificate, key)
    if certificate is not None or key is not None:
        raise SettingsError(
            "--tls-cert-file and --tls-key-file belong together", "give both, or neither."
        )
    return None


def refuse_everybody(settings: Settings, advice: str) -> None:
    """Raises: SettingsError, where nothing tells who asks from anybody else in the network."""
    if settings.client_ca_file is None and not _is_local(settings.listen):
        raise SettingsError(
            f"everybody who reaches {settings.listen} could ask, and use up what the table names",
            advice,
        )


def context_of(pair: KeyPair, settings: Settings) -> ssl.SSLContext:
    """TLS with this certificate, which asks clients for one of the authority that is given, if any.

    A client without any is refused by what it asks for: probes and metrics need none.

    Raises:
        SettingsError: the files cannot be used.
    """
    try:
        context = pair.context()
        if settings.client_ca_file is not None:
            context.load_verify_locations(cadata=settings.client_ca_file.read_text("ascii"))
            context.verify_mode = ssl.CERT_OPTIONAL
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the certificates cannot be used: {error}", "check what the files hold."
        ) from error
    return context


def _is_local(listen: str) -> bool:
    """Whether an address to listen on, `host:port`, is reached from this host alone."""
    return is_loopback(listen.rpartition(":")[0].strip("[]"))
