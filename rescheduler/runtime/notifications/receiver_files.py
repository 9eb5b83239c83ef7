"""Where a receiver is and how it is trusted: addresses, tokens and authorities, all in files.

Files are read again for each message, because mounted Secrets rotate; what is in them is never
shown. All lie in one folder of the settings: a policy file names them and can choose no other.
"""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rescheduler.policies.notifications import Receiver
from rescheduler.wire.hosts import is_loopback

_ALERTS = "/api/v2/alerts"
_SECRET_ADDRESSES = ("Slack", "Teams")
"""Types whose address is itself the right to post."""


class FilesUnusable(Exception):
    """What a receiver needs cannot be read or used; the message holds no content of a file."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Where to post. url: never shown. token: a bearer token, or "". ca_file: "": the system's."""

    url: str
    token: str
    ca_file: str


def delivery_of(receiver: Receiver, folder: Path) -> Delivery:
    """What the files of a receiver say now.

    Raises:
        FilesUnusable: one cannot be read or used.
    """
    url = _read_line(folder, receiver.addressFile, "address")
    token = "" if receiver.tokenFile is None else _read_line(folder, receiver.tokenFile, "token")
    ca_file = "" if receiver.caFile is None else str(folder / receiver.caFile)
    if ca_file and not Path(ca_file).is_file():
        raise FilesUnusable(f"CA file {ca_file} does not exist")
    _check_address(receiver, url, has_token=bool(token))
    if receiver.type == "Alertmanager":
        url = url.rstrip("/").removesuffix(_ALERTS) + _ALERTS
    return Delivery(url, token, ca_file)


def _check_address(receiver: Receiver, url: str, *, has_token: bool) -> None:
    """Refuse what is no address, and one by which a secret would travel in the clear."""
    where = f"address file {receiver.addressFile}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise FilesUnusable(f"{where} holds no http or https address") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise FilesUnusable(f"{where} holds no http or https address")
    if parts.username or parts.password:
        raise FilesUnusable(f"{where} holds credentials; put a token into `tokenFile`")
    secret = has_token or receiver.type in _SECRET_ADDRESSES
    if secret and parts.scheme == "http" and not is_loopback(parts.hostname):
        raise FilesUnusable(f"{where}: a secret would travel in the clear; use https")


def _read_line(folder: Path, name: str, what: str) -> str:
    file = folder / name
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise FilesUnusable(f"{what} file {file} cannot be read: {why}") from error
    if not text or not text.isprintable() or not text.isascii() or " " in text:
        raise FilesUnusable(f"{what} file {file} holds no {what} in one line of ASCII")
    return text
