"""Forged requests to the extender and the webhook, over TLS: refused, and nothing changes."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import urllib3

from rescheduler.model.errors import SettingsError
from rescheduler.planning.advice import Advice
from rescheduler.runtime.servers.extender.extender_answers import Answers, known_of
from rescheduler.runtime.servers.extender.extender_server import answers_by_path
from rescheduler.runtime.servers.extender.extender_tls import tls_context
from rescheduler.runtime.servers.json_server import JsonServer
from rescheduler.runtime.servers.open_entries import OpenEntries
from rescheduler.runtime.servers.webhook import admission_review
from rescheduler.runtime.servers.webhook.certificates import (
    KeyPair,
    make_authority,
    make_certificate,
)
from rescheduler.runtime.servers.webhook.own_certificate import PATH, Own
from rescheduler.runtime.servers.webhook.webhook_server import serve_webhook
from rescheduler.runtime.settings import Settings
from tests.runtime.servers.entries import NOW, entry, metadata
from tests.runtime.servers.extender.authority import NAME, client
from tests.runtime.servers.extender.authority import NOW as TODAY
from tests.runtime.servers.webhook.reviews import review
from tests.runtime.servers.webhook.stored_pair import Stored

NODES = ["n1", "n2"]
ANYWHERE = ["0.0.0.0:8443", ":8443", "[::]:8443", "10.0.0.1:8443", "example.org:8443"]
HERE = ["127.0.0.1:0", "[::1]:0", "localhost:0"]


@dataclass
class Stage:
    """A server over TLS, with one entry in its table."""

    server: JsonServer
    authority: KeyPair
    entries: OpenEntries
    answers: Answers

    def post(self, path: str, body: bytes, own: Path | None = None) -> urllib3.BaseHTTPResponse:
        trusting = ssl.create_default_context(cadata=self.authority.certificate.decode())
        if own is not None:
            trusting.load_cert_chain(own)
        with urllib3.HTTPSConnectionPool(
            "127.0.0.1", self.server.port, ssl_context=trusting, server_hostname=NAME,
            assert_hostname=NAME, retries=False,
        ) as pool:  # fmt: skip
            return pool.request("POST", path, body=body)

    def untouched(self) -> bool:
        """Whether the entry is still there for the pod that it is for, and nobody has asked."""
        still = self.entries.take(metadata("new-2"), "new-2", namespace="web", looks=True)
        return still is not None and self.answers.asked is None


def table() -> OpenEntries:
    made = OpenEntries(lambda: NOW)
    made.replace([entry(strength="Require", hostnames=("n1",))])
    return made


def question() -> bytes:
    pod = {"metadata": msgspec.to_builtins(metadata("new-1")), "spec": {"nodeName": ""}}
    return msgspec.json.encode({"Pod": pod, "NodeNames": NODES})


@pytest.fixture
def extender(tmp_path: Path) -> Iterator[Stage]:
    authority = make_authority(TODAY)
    serving = make_certificate(authority, [NAME], TODAY)
    files = {"crt": serving.certificate, "key": serving.key, "ca": authority.certificate}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    settings = Settings(
        listen="0.0.0.0:8888",
        tls_cert_file=tmp_path / "crt",
        tls_key_file=tmp_path / "key",
        client_ca_file=tmp_path / "ca",
    )
    entries = table()
    answers = Answers(entries, lambda: NOW)
    advice = Advice(NODES, {"rs1": 0}, np.array([[0, 125]], dtype=np.uint8))
    answers.known = known_of(advice, {name: name for name in NODES})
    server = JsonServer(
        "127.0.0.1:0", answers_by_path(answers), healthy=lambda: "", context=tls_context(settings)
    )
    server.start()
    yield Stage(server, authority, entries, answers)
    server.stop()


@pytest.mark.parametrize("path", ["/filter", "/prioritize"])
def test_a_forged_question_is_refused_and_changes_nothing(
    extender: Stage, path: str, tmp_path: Path
) -> None:
    answer = extender.post(path, question())
    assert answer.status == 403
    assert b"n1" not in answer.data
    with pytest.raises(urllib3.exceptions.HTTPError):
        extender.post(path, question(), client(make_authority(TODAY), tmp_path))
    assert extender.untouched()
    assert extender.post(path, question(), client(extender.authority, tmp_path)).status == 200
    assert not extender.untouched()


@pytest.fixture
def webhook() -> Iterator[tuple[Stage, str]]:
    """The webhook with its own certificate, and the path that the API server is told."""
    secret = Stored()
    told = Stored({"webhooks": [{"clientConfig": {"service": {"name": "w"}}} for _ in range(2)]})
    presented = Own(secret, told, [NAME], lambda: TODAY)  # type: ignore[arg-type]
    pair = presented.pair()
    entries = table()
    server = JsonServer(
        "127.0.0.1:0",
        {PATH: lambda body: admission_review.answer(entries, body)},
        healthy=lambda: "",
        context=pair.context(),
    )
    server.expect(presented.secret)
    server.start()
    body: dict[str, Any] = told.body or {}
    (path,) = {webhook["clientConfig"]["service"]["path"] for webhook in body["webhooks"]}
    data = (secret.body or {})["data"]
    authority = KeyPair(msgspec.json.decode(f'"{data["ca.crt"]}"', type=bytes), b"")
    yield Stage(server, authority, entries, Answers(entries, lambda: NOW)), path
    server.stop()


def test_only_who_was_told_the_path_may_ask_the_webhook(webhook: tuple[Stage, str]) -> None:
    stage, path = webhook
    for forged in (PATH, f"{PATH}/", f"{PATH}/{'0' * 64}", path[:-1], "/", f"{PATH}/é"):
        assert stage.post(forged, review()).status == 403
    assert stage.untouched()
    assert len(path) > len(PATH) + 40
    answer = stage.post(path, review())
    assert answer.status == 200
    assert b"patch" in answer.data


def test_a_changed_path_is_logged_again_and_a_restart_has_the_same() -> None:
    secret, told = Stored(), Stored({"webhooks": [{"clientConfig": {"service": {}}}]})

    def path() -> str:
        presented = Own(secret, told, [NAME], lambda: TODAY)  # type: ignore[arg-type]
        presented.pair()
        assert told.body is not None
        found: str = told.body["webhooks"][0]["clientConfig"]["service"]["path"]
        assert found == f"{PATH}/{presented.secret()}"
        return found

    first = path()
    assert told.body is not None
    told.body["webhooks"][0]["clientConfig"]["service"]["path"] = PATH
    assert path() == first
    assert (secret.writes, told.writes) == (1, 2)
    assert path() == first
    assert told.writes == 2
    other = Own(Stored(), told, [NAME], lambda: TODAY)  # type: ignore[arg-type]
    other.pair()
    assert other.secret() not in first


@pytest.mark.parametrize("listen", ANYWHERE)
def test_where_others_come_in_nobody_is_answered_unasked(listen: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="everybody who reaches") as caught:
        tls_context(Settings(listen=listen))
    assert "--client-ca-file" in str(caught.value)
    files = {"tls_cert_file": tmp_path / "a", "tls_key_file": tmp_path / "b"}
    config = tmp_path / "kubeconfig"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], "
        "contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}]}"
    )
    with pytest.raises(SettingsError, match="everybody who reaches"):
        serve_webhook(Settings(listen=listen, kubeconfig=config, **files))  # type: ignore[arg-type]


@pytest.mark.parametrize("listen", HERE)
def test_on_this_host_alone_no_certificate_is_needed(listen: str) -> None:
    assert tls_context(Settings(listen=listen)) is None
