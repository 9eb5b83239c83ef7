"""Hosts that are this machine itself."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a name or address, without brackets or port, leads to this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
