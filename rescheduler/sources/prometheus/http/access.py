"""Who we are to a metric source: tokens, passwords, certificates and tenants, all of them in files.

Files are read again before every request, because they rotate; what is in them is never shown.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import requests

from rescheduler.model.errors import SettingsError
from rescheduler.wire.hosts import is_loopback

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host",
     "te", "trailer", "transfer-encoding", "upgrade"}
)  # fmt: skip
_TENANT = re.compile(
    r"x-scope-orgid|(x-)?(thanos-)?tenant(-?id)?|accountid|projectid", re.IGNORECASE
)
"""Headers of such names only name a tenant; whatever else may be a credential."""


Cloud = Literal["aws", "google", "azure"]


class CredentialError(Exception):
    """A file of a credential is not fit. hint: what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Credentials for a source, and how the source proves that it is the right one.

    ca_file: what to trust instead of the system's certificates.
    token_file: a bearer token. basic_auth_file: `user:password`, in one line.
    client_cert_file, client_key_file: our own certificate, and its key where that is apart.
    cloud: whose credentials to sign with, those of our own identity there.
    header_files: further headers, such as a tenant, each with the file of its value.

    Raises:
        SettingsError: they contradict each other, or a file of a certificate is missing.
    """

    ca_file: Path | None = None
    token_file: Path | None = None
    basic_auth_file: Path | None = None
    client_cert_file: Path | None = None
    client_key_file: Path | None = None
    cloud: Cloud | None = None
    header_files: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, file in (
            ("CA", self.ca_file),
            ("client certificate", self.client_cert_file),
            ("client key", self.client_key_file),
        ):
            if file is not None and not file.is_file():
                raise SettingsError(f"{what} file {file} does not exist", "check its path.")
        if self.client_key_file is not None and self.client_cert_file is None:
            raise SettingsError(
                "a client key was given without its certificate",
                "add --prometheus-client-cert-file.",
            )
        for name in self.header_files:
            if not _NAME.fullmatch(name) or name.lower() in _OURS:
                raise SettingsError(
                    f"{name!r} is no header that can be set",
                    "write it as X-Scope-OrgID=@/etc/tenant.",
                )
        ways = [cloud is not None for cloud in (self.token_file, self.basic_auth_file, self.cloud)]
        if sum((*ways, *(file.lower() == "authorization" for file in self.header_files))) > 1:
            raise SettingsError(
                "there are several ways to authorize: token, password, cloud or header",
                "give one of them.",
            )

    def check(self, url: str) -> None:
        """Refuse an address by which a credential would travel in the clear.

        Raises:
            SettingsError: it would.
        """
        parts = urlsplit(url)
        headers = [file for file in self.header_files if not _TENANT.fullmatch(file)]
        files = (self.token_file, self.basic_auth_file, self.client_cert_file)
        secret = any(files) or headers or self.cloud
        if secret and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise SettingsError(
                f"a credential would travel to {url} in the clear",
                "use https, or leave the credential out.",
            )

    @property
    def certificate(self) -> str | tuple[str, str] | None:
        """Our certificate, as requests takes it."""
        if self.client_cert_file is None:
            return None
        if self.client_key_file is None:
            return str(self.client_cert_file)
        return str(self.client_cert_file), str(self.client_key_file)

    def headers(self) -> dict[str, str]:
        """What the files say now.

        Raises:
            CredentialError: one cannot be read, or holds no such thing.
        """
        headers = {name: _line(file, f"header {name}") for name, file in self.header_files.items()}
        if self.token_file is not None:
            headers["Authorization"] = f"Bearer {_line(self.token_file, 'token')}"
        if self.basic_auth_file is not None:
            login = _line(self.basic_auth_file, "password")
            if ":" not in login:
                raise CredentialError(
                    f"password file {self.basic_auth_file} holds no user:password",
                    "write both into one line, with a colon between them.",
                )
            headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        return headers


def proxy_for(url: str) -> str:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY have for the address; "" for none.

    Never one for this machine itself, to which credentials may travel in the clear.

    Raises:
        SettingsError: it cannot be used.
    """
    if is_loopback(urlsplit(url).hostname or ""):
        return ""
    setting = requests.utils.select_proxy(url, requests.utils.get_environ_proxies(url))
    if not setting:
        return ""
    proxy = setting if "://" in setting else f"http://{setting}"
    scheme = urlsplit(proxy).scheme
    if scheme not in ("http", "https"):
        raise SettingsError(
            f"HTTPS_PROXY or HTTP_PROXY is a proxy by {scheme}, which is not supported",
            "give one by http, or put the host of --prometheus-url into NO_PROXY.",
        )
    return proxy


def header_files(arguments: tuple[str, ...]) -> dict[str, Path]:
    """The file of each header, from `NAME=@FILE`.

    Raises:
        SettingsError: it is not written so, or a name comes twice.
    """
    answer: dict[str, Path] = {}
    for option in arguments:
        name, _, file = option.partition("=@")
        # What stands there instead of a file may be the secret itself.
        if not name or not file or "=" in name:
            raise SettingsError(
                f"--prometheus-header {name.partition('=')[0]} is not NAME=@FILE",
                "put the value into a file: arguments are visible to every process.",
            )
        if name.lower() in (other.lower() for other in answer):
            raise SettingsError(f"--prometheus-header {name} was given twice", "give it once.")
        answer[name] = Path(file)
    return answer


def _line(file: Path, what: str) -> str:
    """The one line of a file."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise CredentialError(
            f"{what} file {file} cannot be read: {why}",
            "check its path, and that it is mounted and readable.",
        ) from error
    if not text or not text.isprintable() or not text.isascii():
        raise CredentialError(
            f"{what} file {file} holds no {what}", "write it into one line of ASCII."
        )
    return text
