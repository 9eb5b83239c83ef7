"""Who may ask the extender, where it has certificates."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.servers.extender.extender_tls import tls_context
from rescheduler.runtime.servers.json_server import JsonServer
from rescheduler.runtime.servers.webhook.certificates import (
    KeyPair,
    make_authority,
    make_certificate,
)
from rescheduler.runtime.settings import Settings
from tests.runtime.servers.extender.authority import NAME, NOW, client


@pytest.fixture
def authority() -> KeyPair:
    return make_authority(NOW)


@pytest.fixture
def settings(authority: KeyPair, tmp_path: Path) -> Settings:
    serving = make_certificate(authority, [NAME], NOW)
    files = {"tls.crt": serving.certificate, "tls.key": serving.key, "ca": authority.certificate}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return Settings(
        tls_cert_file=tmp_path / "tls.crt",
        tls_key_file=tmp_path / "tls.key",
        client_ca_file=tmp_path / "ca",
    )


@pytest.fixture
def server(settings: Settings) -> Iterator[JsonServer]:
    made = JsonServer(
        "127.0.0.1:0", {"/x": bytes}, healthy=lambda: "", context=tls_context(settings)
    )
    made.start()
    yield made
    made.stop()


def asked(server: JsonServer, authority: KeyPair, method: str, path: str, own: Path | None) -> int:
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    if own is not None:
        trusting.load_cert_chain(own)
    with urllib3.HTTPSConnectionPool(
        "127.0.0.1", server.port, ssl_context=trusting, server_hostname=NAME, assert_hostname=NAME,
        retries=False,
    ) as pool:  # fmt: skip
        return pool.request(method, path, body=b"{}" if method == "POST" else None).status


def test_only_who_has_a_certificate_of_the_authority_may_ask(
    server: JsonServer, authority: KeyPair, tmp_path: Path
) -> None:
    assert asked(server, authority, "POST", "/x", client(authority, tmp_path)) == 200
    assert asked(server, authority, "POST", "/x", None) == 403
    with pytest.raises((urllib3.exceptions.SSLError, urllib3.exceptions.ProtocolError)):
        asked(server, authority, "POST", "/x", client(make_authority(NOW), tmp_path))


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
def test_a_probe_needs_none_nor_do_metrics(
    server: JsonServer, authority: KeyPair, path: str
) -> None:
    assert asked(server, authority, "GET", path, None) == 200


def test_without_an_authority_anybody_may_ask(settings: Settings, authority: KeyPair) -> None:
    given = Settings(tls_cert_file=settings.tls_cert_file, tls_key_file=settings.tls_key_file)
    server = JsonServer(
        "127.0.0.1:0", {"/x": bytes}, healthy=lambda: "", context=tls_context(given)
    )
    server.start()
    try:
        assert asked(server, authority, "POST", "/x", None) == 200
    finally:
        server.stop()


def test_without_certificates_there_is_no_tls() -> None:
    assert tls_context(Settings()) is None


@pytest.mark.parametrize("given", ["tls_cert_file", "tls_key_file", "client_ca_file"])
def test_what_is_given_alone_is_refused(settings: Settings, given: str) -> None:
    with pytest.raises(SettingsError):
        tls_context(Settings(**{given: getattr(settings, given)}))


@pytest.mark.parametrize("content", [b"", b"no certificate"])
def test_an_authority_that_is_none_is_refused(settings: Settings, content: bytes) -> None:
    assert settings.client_ca_file is not None
    settings.client_ca_file.write_bytes(content)
    with pytest.raises(SettingsError):
        tls_context(settings)
