"""Queries to a cloud's managed Prometheus, signed or with a token of its own libraries."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import pytest
import requests

from rescheduler.model.errors import SettingsError
from rescheduler.sources.prometheus.http.access import Access
from rescheduler.sources.prometheus.http.clouds import CloudAuth
from rescheduler.sources.prometheus.http.signature import Signer
from rescheduler.sources.prometheus.prometheus import Prometheus
from tests.sources.access import SECRET, read, stub
from tests.sources.server import Reply, Request, serving

WORKSPACE = "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1"


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials of anybody who runs the tests."""
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


class Botocore:
    """What is asked of botocore: the credentials, as they are now, and the region.

    The library itself does not go with the locked versions of ours.
    """

    def __init__(self, region: str | None = "us-east-1") -> None:
        self.region = region
        self.access_key, self.secret_key, self.token = "AKIDEXAMPLE", SECRET, "token-1"

    def get_session(self) -> "Botocore":
        return self

    def get_config_variable(self, name: str) -> str | None:
        assert name == "region"
        return self.region

    def get_credentials(self) -> "Botocore":
        return self

    def get_frozen_credentials(self) -> "Botocore":
        return self


@pytest.fixture
def botocore(monkeypatch: pytest.MonkeyPatch) -> Botocore:
    made = Botocore()
    monkeypatch.setitem(sys.modules, "botocore", made)
    monkeypatch.setitem(sys.modules, "botocore.session", made)
    return made


AT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
VANILLA = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
FORM = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
QUERY = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "signature"),
    [
        ("GET", "/", b"", "", VANILLA),
        ("GET", "/?Param2=value2&Param1=value1", b"", "", QUERY),
        ("POST", "/", b"Param1=value1", "application/x-www-form-urlencoded", FORM),
    ],
)
def test_signatures_are_those_of_amazons_test_suite(
    method: str, path: str, body: bytes, kind: str, signature: str
) -> None:
    """get-vanilla, get-vanilla-query-order-key-case and post-x-www-form-urlencoded."""
    secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    signer = Signer("AKIDEXAMPLE", secret, "", "us-east-1", "service")
    found = signer.headers(method, f"https://example.amazonaws.com{path}", body, kind, AT)
    names = "content-type;host;x-amz-date" if kind else "host;x-amz-date"
    assert found["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    assert found["x-amz-date"] == "20150830T123600Z"


def expected(request: Request, token: str) -> str:
    """The signature of a request as it came in."""
    at = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    url = f"http://{request.headers['host']}{request.path}"
    body, kind = urlencode(request.query).encode(), request.headers["content-type"]
    signer = Signer("AKIDEXAMPLE", SECRET, token, "us-east-1", "aps")
    return signer.headers(request.method, url, body, kind, at)["authorization"]


def test_every_query_to_amazon_is_signed_with_the_credentials_of_now(botocore: Botocore) -> None:
    with serving(stub()) as served:
        assert read(f"{served.url}/workspaces/ws-1", Access(cloud="aws")) == ""
        first = len(served.requests)
        botocore.token = "token-2"
        assert read(served.url, Access(cloud="aws")) == ""
    tokens = [request.headers["x-amz-security-token"] for request in served.requests]
    assert tokens == ["token-1"] * first + ["token-2"] * (len(tokens) - first)
    for request, token in zip(served.requests, tokens, strict=True):
        assert request.headers["authorization"] == expected(request, token)


def test_the_region_is_that_of_the_workspace(botocore: Botocore) -> None:
    request = requests.Request("POST", f"{WORKSPACE}/api/v1/query", data={"query": "up"}).prepare()
    assert "/eu-west-1/aps/" in CloudAuth("aws", WORKSPACE)(request).headers["authorization"]
    botocore.region = None
    with pytest.raises(SettingsError, match="the region of https://elsewhere is not known"):
        CloudAuth("aws", "https://elsewhere")


def test_a_cloud_without_credentials_is_an_error_before_anything_is_asked(
    botocore: Botocore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(botocore, "get_credentials", lambda: None)
    with pytest.raises(SettingsError, match="--prometheus-auth aws finds no credentials"):
        CloudAuth("aws", WORKSPACE)

    def broken() -> None:
        raise LookupError(SECRET)

    monkeypatch.setattr(botocore, "get_credentials", broken)
    with pytest.raises(SettingsError, match="finds no credentials: LookupError") as caught:
        CloudAuth("aws", WORKSPACE)
    assert SECRET not in str(caught.value)


def test_credentials_that_end_and_cannot_be_renewed_are_the_reason(
    botocore: Botocore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended() -> None:
        raise LookupError(SECRET)

    monkeypatch.setattr(botocore, "get_frozen_credentials", ended)
    with serving(stub()) as served:
        assert "RDG001" in (said := read(served.url, Access(cloud="aws")))
    assert "no credentials of aws: LookupError" in said
    assert served.requests == []


def test_without_its_extra_the_command_that_installs_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(SettingsError) as caught:
        CloudAuth("aws", WORKSPACE)
    assert "pip install 'kube-rescheduler[aws]'" in caught.value.hint


def test_a_clouds_credential_travels_by_tls_alone_and_alone(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="in the clear"):
        Prometheus("http://aps-workspaces.example", access=Access(cloud="aws"))
    with pytest.raises(SettingsError, match="several ways to authorize"):
        Access(cloud="aws", token_file=tmp_path / "token")


class Metadata:
    """The metadata server of a machine of Google or Azure; each token ends after `seconds`."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.tokens = 0

    def __call__(self, request: Request) -> Reply:
        headers = {"Metadata-Flavor": "Google", "Content-Type": "application/json"}
        if "token" in request.path:
            self.tokens += 1
            token = {"access_token": f"{SECRET}-{self.tokens}", "expires_in": self.seconds}
            return Reply(json.dumps(token | {"token_type": "Bearer"}).encode(), headers=headers)
        if "service-accounts" in request.path:
            return Reply(b'{"email": "a@b", "scopes": [], "aliases": []}', headers=headers)
        text = {"universe": b"googleapis.com"}.get(request.path.split("/")[-2], b"project")
        return Reply(text, headers=headers | {"Content-Type": "text/plain"})


def test_googles_tokens_are_renewed_when_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Metadata(seconds=1)
    with serving(machine) as metadata, serving(stub()) as served:
        host = metadata.url.removeprefix("http://")
        for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP"):
            monkeypatch.setenv(name, host)
        monkeypatch.setenv("NO_GCE_CHECK", "false")
        assert read(served.url, Access(cloud="google")) == ""
    sent = [request.headers["authorization"] for request in served.requests]
    assert sent[0] == f"Bearer {SECRET}-1"
    assert len(set(sent)) == len(sent) > 2, "the token of before ends at once"


def test_azures_token_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Metadata(seconds=86400)) as metadata, serving(stub()) as served:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", metadata.url)
        assert read(served.url, Access(cloud="azure")) == ""
    assert {request.headers["authorization"] for request in served.requests} == {
        f"Bearer {SECRET}-1"
    }
    (asked,) = [request for request in metadata.requests if "oauth2" in request.path]
    assert asked.query["resource"] == "https://prometheus.monitor.azure.com"
