"""A kubeconfig that says not to verify is followed, and that is reported once."""

import logging
import ssl
import subprocess
from pathlib import Path

import pytest

from rescheduler.sources.kubernetes.client import connect
from tests.sources.server import Reply, serving

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "{url}", insecure-skip-tls-verify: true}}}}]
users: [{{name: u, user: {{token: secret-token}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
"""


def authority(folder: Path) -> ssl.SSLContext:
    """A server's certificate that nobody has signed but itself."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def test_that_nothing_is_verified_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(lambda _: Reply(body=b"{}"), tls=authority(tmp_path)) as served:
        (tmp_path / "kubeconfig").write_text(KUBECONFIG.format(url=served.url))
        with caplog.at_level(logging.WARNING):
            connection = connect(tmp_path / "kubeconfig", None)
            for path in ("/version", "/api", "/apis"):
                assert connection.get(path) == b"{}"
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1, "urllib3's own warnings are errors in this test"
    assert served.url in said[0]
    assert "secret-token" not in said[0]
