"""Who asks a metric source: it is told, by every way that there is, and nobody else is."""

import base64
import contextlib
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from rescheduler.model.errors import SettingsError
from rescheduler.sources.prometheus.http.access import Access, header_files
from rescheduler.sources.prometheus.prometheus import Prometheus
from tests.cases import every
from tests.sources.access import SECRET, read, stub
from tests.sources.server import Reply, Request, Served, serving


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(stub()) as found:
        yield found


def written(folder: Path, text: str, name: str = "file") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_headers_come_from_their_files_as_they_are_now(served: Served, tmp_path: Path) -> None:
    tenant, key = written(tmp_path, "team-a\n", "tenant"), written(tmp_path, SECRET, "key")
    files = header_files((f"X-Scope-OrgID=@{tenant}", f"X-Api-Key=@{key}"))
    assert read(served.url, Access(header_files=files)) == ""
    tenant.write_text("team-a|team-b")
    assert read(served.url, Access(header_files=files)) == ""
    told = [request.headers["x-scope-orgid"] for request in served.requests]
    assert set(told[: len(told) // 2]) == {"team-a"}
    assert set(told[len(told) // 2 :]) == {"team-a|team-b"}
    assert {request.headers["x-api-key"] for request in served.requests} == {SECRET}


@pytest.mark.parametrize(
    "given",
    [("X-Scope-OrgID",), (f"X-Api-Key={SECRET}",), ("=@/file",), ("X-A=@/a", "x-a=@/b"), ("X=@",)],
)
def test_a_header_is_given_once_and_by_a_file(given: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError) as caught:
        header_files(given)
    assert SECRET not in f"{caught.value} {caught.value.hint}"


@every(["Host", "Content-Length", "Transfer-Encoding", "a b", "x:y"])
def test_a_header_that_would_break_the_request_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="is no header that can be set"):
        Access(header_files={name: Path("/file")})


def test_a_password_comes_from_its_file(served: Served, tmp_path: Path) -> None:
    login = written(tmp_path, f"me:{SECRET}\n")
    assert read(served.url, Access(basic_auth_file=login)) == ""
    wanted = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert {request.headers["authorization"] for request in served.requests} == {wanted}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "password file {} cannot be read: No such file or directory."),
        (SECRET, "password file {} holds no user:password."),
        ("\n", "password file {} holds no password."),
        (f"me:{SECRET}\nX-Admin: 1", "password file {} holds no password."),
        (f"me:{SECRET}é", "password file {} holds no password."),
    ],
)
def test_a_file_that_is_not_fit_is_said_to_be_that(
    served: Served, tmp_path: Path, text: str | None, words: str
) -> None:
    login = tmp_path / "login" if text is None else written(tmp_path, text)
    said = read(served.url, Access(basic_auth_file=login))
    assert said.startswith("RDG001")
    assert words.format(login)[:-1] in said
    assert "proxy" not in said
    assert served.requests == [], "nothing is asked without the credential"


def test_ways_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "x")
    with pytest.raises(SettingsError, match="several ways to authorize"):
        Access(token_file=file, basic_auth_file=file)
    with pytest.raises(SettingsError, match="several ways to authorize"):
        Access(token_file=file, header_files={"authorization": file})
    with pytest.raises(SettingsError, match="a client key was given without its certificate"):
        Access(client_key_file=file)
    with pytest.raises(SettingsError, match=r"client certificate file .* does not exist"):
        Access(client_cert_file=tmp_path / "none")


def test_no_credential_travels_in_the_clear(tmp_path: Path) -> None:
    file = written(tmp_path, "x")
    for access in (
        Access(basic_auth_file=file),
        Access(client_cert_file=file),
        Access(header_files={"X-Api-Key": file}),
        Access(header_files={"Cookie": file}),
    ):
        with pytest.raises(SettingsError, match="in the clear"):
            Prometheus("http://prometheus.monitoring:9090", access=access)
    tenant = Access(header_files={"X-Scope-OrgID": file})
    Prometheus("http://mimir.monitoring:8080", access=tenant).close()


@every([
        (Reply(b"no org id", 401), "Maybe it keeps tenants apart: give yours"),
        (Reply(b'{"status":"error","error":"no org id"}', 401), "--prometheus-header"),
        (Reply(b"Unauthorized", 401), "Maybe it wants credentials: --prometheus-token-file"),
        (Reply(b"", 407), "the proxy wants a login"),
    ])  # fmt: skip
def test_the_advice_on_a_refusal_is_true(reply: Reply, hint: str) -> None:
    with serving(lambda _: reply) as refusing:
        assert hint in read(refusing.url, Access())


class Certificates:
    """An authority of its own, and the certificates that it has signed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = self._make("server", "subjectAltName=IP:127.0.0.1")
        self.elsewhere = self._make("elsewhere", "subjectAltName=DNS:prometheus.example")
        self.client = self._make("client", "subjectAltName=DNS:rescheduler")

    def _make(self, name: str, extension: str) -> tuple[Path, Path]:
        key, certificate = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", extension,
             "-keyout", key, "-out", certificate],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        return certificate, key

    def context(self, of: tuple[Path, Path], *, ask: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*of)
        if ask:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.client[0])
        return context


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_source_that_wants_our_certificate_gets_it_or_is_said_to_want_it(
    certificates: Certificates, version: ssl.TLSVersion, tmp_path: Path
) -> None:
    ca, (certificate, key) = certificates.server[0], certificates.client
    context = certificates.context(certificates.server, ask=True)
    context.maximum_version = version
    with serving(stub(), tls=context) as asking:
        both = Access(ca_file=ca, client_cert_file=certificate, client_key_file=key)
        assert read(asking.url, both) == ""
        one = written(tmp_path, certificate.read_text() + key.read_text())
        assert read(asking.url, Access(ca_file=ca, client_cert_file=one)) == ""
        strange = Access(ca_file=ca, client_cert_file=ca, client_key_file=certificates.server[1])
        for access in (Access(ca_file=ca), strange):
            said = read(asking.url, access)
            # The alert that tells it may be lost when the server closes the connection at once.
            assert "without a client certificate" in said or "it closed the connection" in said
            assert "--prometheus-client-cert-file" in said


def test_the_advice_on_a_certificate_is_true(certificates: Certificates) -> None:
    with serving(stub(), tls=certificates.context(certificates.server)) as asking:
        assert "its certificate is not trusted" in read(asking.url, Access())
        assert "Maybe give its CA file." in read(asking.url, Access())
    elsewhere = certificates.elsewhere
    with serving(stub(), tls=certificates.context(elsewhere)) as asking:
        assert "another name's" in read(asking.url, Access(ca_file=elsewhere[0]))
    with serving(stub()) as plain:
        said = read(plain.url.replace("http:", "https:"), Access())
        assert "Maybe write the address with http://." in said


ELSEWHERE = "http://prometheus.example:9090/prefix"


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(stub()) as proxy:
        address = proxy.url.removeprefix("http://")
        monkeypatch.setenv("HTTP_PROXY", f"http://me:{SECRET}@{address}")
        assert read(ELSEWHERE, Access()) == ""
        assert {request.headers["host"] for request in proxy.requests} == {
            "prometheus.example:9090"
        }
        assert {request.path for request in proxy.requests} == {"/prefix/api/v1/query"}
        monkeypatch.setenv("HTTP_PROXY", address)
        assert read(ELSEWHERE, Access()) == ""
        seen = len(proxy.requests)
        monkeypatch.setenv("NO_PROXY", ".example,other")
        assert read(ELSEWHERE, Access(), timeout=0.5).startswith("RDG001")
        assert len(proxy.requests) == seen


class Tunnel(socketserver.StreamRequestHandler):
    """A proxy for https: it connects to one server, whatever it is asked for."""

    target = ("127.0.0.1", 0)
    asked: ClassVar[list[str]] = []

    def handle(self) -> None:
        Tunnel.asked.append(self.rfile.readline().decode())
        while self.rfile.readline().strip():
            pass
        with socket.create_connection(self.target) as behind:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self.relay, args=(behind, self.connection))
            back.start()
            self.relay(self.connection, behind)
            back.join()

    @staticmethod
    def relay(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(2**16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


def test_a_proxy_for_https_sees_no_credential_and_no_query(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = Access(token_file=written(tmp_path, SECRET), ca_file=certificates.elsewhere[0])
    context = certificates.context(certificates.elsewhere)
    with serving(stub(), tls=context) as behind:
        Tunnel.target = ("127.0.0.1", int(behind.url.rpartition(":")[2]))
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as proxy:
            threading.Thread(target=proxy.serve_forever, args=(0.02,)).start()
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.server_address[1]}")
            assert read("https://prometheus.example", token) == ""
            proxy.shutdown()
        assert {request.headers["authorization"] for request in behind.requests} == {
            f"Bearer {SECRET}"
        }
    assert {request.rpartition(" ")[0] for request in Tunnel.asked} == {
        "CONNECT prometheus.example:443"
    }


def test_no_proxy_is_used_for_this_machine_itself(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A token may travel to it in the clear, and to nobody else."""
    token = written(tmp_path, SECRET)
    with serving(stub()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert read(served.url, Access(token_file=token)) == ""
        assert proxy.requests == []


def test_a_proxy_that_is_not_there_is_said_to_be_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://me:{SECRET}@127.0.0.1:9")
    said = read(ELSEWHERE, Access())
    assert "the proxy of HTTPS_PROXY or HTTP_PROXY cannot be used: Connection refused" in said
    assert "NO_PROXY" in said
    monkeypatch.setenv("HTTP_PROXY", f"socks5://me:{SECRET}@127.0.0.1:9")
    with pytest.raises(SettingsError, match="a proxy by socks5") as caught:
        Prometheus(ELSEWHERE)
    assert SECRET not in str(caught.value)


def test_an_answer_through_a_proxy_must_be_whole_in_time_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drip(request: Request) -> Reply:
        reply = stub()(request)
        reply.drip = 0.05
        return reply

    with serving(drip) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert "did not answer in time" in read(ELSEWHERE, Access(), timeout=0.3)
