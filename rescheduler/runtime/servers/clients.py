"""Who may ask a server: clients of an authority, or whoever is on this very host."""

import ssl
from pathlib import Path

from rescheduler.wire.hosts import is_loopback


def admit_clients(context: ssl.SSLContext, authority: Path) -> None:
    """Ask every client for a certificate of this authority.

    A client without any is refused by what it asks for: probes and metrics need none.

    Raises:
        OSError, ValueError: the file holds no certificate of an authority.
    """
    context.load_verify_locations(cadata=authority.read_text("ascii"))
    context.verify_mode = ssl.CERT_OPTIONAL


def is_local(listen: str) -> bool:
    """Whether an address to listen on, `host:port`, is reached from this host alone."""
    return is_loopback(listen.rpartition(":")[0].strip("[]"))
