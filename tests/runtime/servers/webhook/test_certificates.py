"""The webhook's certificate: trusted by who has the authority, kept, renewed, told."""

import base64
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import urllib3

from rescheduler.model.errors import SettingsError
from rescheduler.runtime.servers.json_server import JsonServer
from rescheduler.runtime.servers.tls import FromFiles, context_of
from rescheduler.runtime.servers.webhook.certificates import (
    LASTS,
    RENEWED,
    KeyPair,
    make_authority,
    make_certificate,
)
from rescheduler.runtime.servers.webhook.own_certificate import Own
from rescheduler.runtime.settings import Settings
from tests.runtime.servers.webhook.stored_pair import Stored

NOW = datetime.now(UTC).replace(microsecond=0)
NAME = "rescheduler-webhook.rescheduler.svc"


def own(secret: Stored, hooks: Stored, now: datetime = NOW) -> Own:
    return Own(secret, hooks, [NAME], lambda: now)  # type: ignore[arg-type]


def hooks() -> Stored:
    return Stored({"webhooks": [{"name": "a", "clientConfig": {}}, {"name": "b"}]})


@pytest.fixture
def server() -> Iterator[JsonServer]:
    authority = make_authority(NOW)
    context = make_certificate(authority, [NAME], NOW).context()
    made = JsonServer("127.0.0.1:0", {"/x": lambda body: body}, healthy=lambda: "", context=context)
    made.start()
    yield made
    made.stop()


def ask(server: JsonServer, authority: KeyPair, name: str = NAME) -> bytes:
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    with urllib3.HTTPSConnectionPool(
        "127.0.0.1", server.port, ssl_context=trusting, server_hostname=name, assert_hostname=name,
        retries=False,
    ) as pool:  # fmt: skip
        return pool.request("POST", "/x", body=b"{}").data


def test_who_has_the_authority_trusts_the_certificate_for_its_names_alone() -> None:
    authority = make_authority(NOW)
    context = make_certificate(authority, [NAME, "other.svc"], NOW).context()
    server = JsonServer(
        "127.0.0.1:0", {"/x": lambda body: body}, healthy=lambda: "", context=context
    )
    server.start()
    try:
        assert ask(server, authority) == b"{}"
        assert ask(server, authority, "other.svc") == b"{}"
        with pytest.raises(urllib3.exceptions.SSLError):
            ask(server, authority, "evil.svc")
        with pytest.raises(urllib3.exceptions.SSLError):
            ask(server, make_authority(NOW))
        other = make_authority(NOW)
        server.present(make_certificate(other, [NAME], NOW).context())
        assert ask(server, other) == b"{}"
    finally:
        server.stop()


def test_a_client_that_talks_no_tls_holds_up_nobody(server: JsonServer) -> None:
    pool = urllib3.HTTPConnectionPool("127.0.0.1", server.port, retries=False, timeout=2)
    with pool, pytest.raises(urllib3.exceptions.HTTPError):
        pool.request("POST", "/x", body=b"{}")


def test_it_is_kept_and_told_and_a_restart_presents_the_same() -> None:
    secret, told = Stored(), hooks()
    first = own(secret, told).pair()
    assert own(secret, told).pair() == first
    assert (secret.writes, told.writes) == (1, 1)
    assert secret.body is not None
    assert told.body is not None
    bundles = {webhook["clientConfig"]["caBundle"] for webhook in told.body["webhooks"]}
    assert bundles == {secret.body["data"]["ca.crt"]}


def test_it_is_renewed_before_it_ends_and_the_authority_stays() -> None:
    secret, told = Stored(), hooks()
    first = own(secret, told).pair()
    assert secret.body is not None
    authority = secret.body["data"]["ca.crt"]
    later = NOW + LASTS - RENEWED
    assert own(secret, told, later - timedelta(minutes=1)).pair() == first
    second = own(secret, told, later + timedelta(minutes=1)).pair()
    assert second != first
    assert second.ends > first.ends
    assert secret.body["data"]["ca.crt"] == authority
    assert told.writes == 1


@pytest.mark.parametrize("broken", ["tls.crt", "tls.key", "ca.crt", "ca.key"])
@pytest.mark.parametrize("content", ["?", base64.b64encode(b"x").decode(), "another's"])
def test_a_secret_that_cannot_be_read_is_made_anew(broken: str, content: str) -> None:
    secret, told, other = Stored(), hooks(), Stored()
    own(secret, told).pair()
    own(other, hooks()).pair()
    assert secret.body is not None
    assert other.body is not None
    secret.body["data"][broken] = other.body["data"][broken] if "'" in content else content
    own(secret, told).pair().context()


def test_of_two_processes_both_present_what_the_first_has_kept() -> None:
    secret, other, told = Stored(), Stored(), hooks()
    theirs = own(other, hooks()).pair()
    secret.rival = other.body
    assert own(secret, told).pair() == theirs


def test_without_the_webhooks_configuration_it_says_what_to_apply() -> None:
    with pytest.raises(SettingsError, match="rescheduler-steering"):
        own(Stored(), Stored()).pair()


def test_files_are_read_as_they_are_now(tmp_path: Path) -> None:
    authority = make_authority(NOW)
    first, second = (make_certificate(authority, [NAME], NOW) for _ in range(2))
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    presented = FromFiles(certificate, key)
    with pytest.raises(SettingsError, match=r"tls\.crt"):
        presented.pair()
    for pair in (first, second):
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        assert presented.pair() == pair
    with pytest.raises(SettingsError, match="certificates cannot be used"):
        context_of(KeyPair(first.certificate, second.key), Settings())
