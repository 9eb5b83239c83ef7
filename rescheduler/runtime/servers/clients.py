"""Who may ask a server: clients of an authority, or whoever is on this very host."""

import ssl
from ipaddress import ip_address
from pathlib import Path


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
    host = listen.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
