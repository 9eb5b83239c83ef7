"""Requests signed with a cloud's own credentials: those of the pod's identity, or of the machine.

The libraries are optional extras of the package, and are imported when one is needed. They find and
renew the credentials themselves.
"""

import importlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import requests

from rescheduler.model.errors import SettingsError
from rescheduler.sources.prometheus.http.access import Cloud, CredentialError
from rescheduler.sources.prometheus.http.signature import Signer

Headers = Callable[[requests.PreparedRequest], dict[str, str]]
"""What a request is to carry besides."""

_IDENTITY = "give the pod's service account an identity of the cloud that may query."
_AMAZON = re.compile(r"https://aps-workspaces\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?/")
_GOOGLE_SCOPE = "https://www.googleapis.com/auth/monitoring.read"
_AZURE_SCOPE = "https://prometheus.monitor.azure.com/.default"


class CloudAuth(requests.auth.AuthBase):
    """Signs each request.

    Raises:
        SettingsError: the extra is not installed, or the region is not known.
    """

    def __init__(self, cloud: Cloud, url: str) -> None:
        self._cloud = cloud
        make = {"aws": _amazon, "google": _google, "azure": _azure}[cloud]
        try:
            self._headers = make(url)
        except SettingsError:
            raise
        except Exception as error:  # each library raises faults of its own
            raise SettingsError(
                f"--prometheus-auth {cloud} finds no credentials: {type(error).__name__}",
                _IDENTITY,
            ) from error

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """The request with its signature.

        Raises:
            CredentialError: there are no credentials, or they cannot be renewed.
        """
        try:
            request.headers.update(self._headers(request))
        except Exception as error:  # each library raises faults of its own
            raise CredentialError(
                f"no credentials of {self._cloud}: {type(error).__name__}", _IDENTITY
            ) from error
        return request


def _amazon(url: str) -> Headers:
    """Signature Version 4 for Amazon Managed Service for Prometheus."""
    session = _import("botocore.session", "aws").get_session()
    match = _AMAZON.match(f"{url}/")
    region = match[1] if match else session.get_config_variable("region")
    if not region:
        raise SettingsError(
            f"the region of {url} is not known",
            "set AWS_DEFAULT_REGION, or give the workspace's address.",
        )
    credentials = session.get_credentials()
    if credentials is None:
        raise SettingsError("--prometheus-auth aws finds no credentials", _IDENTITY)

    def headers(request: requests.PreparedRequest) -> dict[str, str]:
        now = credentials.get_frozen_credentials()
        signer = Signer(now.access_key, now.secret_key, now.token or "", region, "aps")
        body = request.body or b""
        return signer.headers(
            request.method or "",
            request.url or "",
            body.encode() if isinstance(body, str) else body,
            request.headers.get("Content-Type", ""),
            datetime.now(UTC),
        )

    return headers


def _google(_url: str) -> Headers:
    """An access token for Google Cloud Managed Service for Prometheus."""
    auth = _import("google.auth", "google")
    transport = _import("google.auth.transport.requests", "google").Request()
    credentials, _ = auth.default(scopes=[_GOOGLE_SCOPE])

    def headers(request: requests.PreparedRequest) -> dict[str, str]:
        fields: dict[str, str] = {}
        credentials.before_request(transport, request.method, request.url, fields)
        return fields

    return headers


def _azure(_url: str) -> Headers:
    """An access token for Azure Monitor's managed service for Prometheus."""
    credential = _import("azure.identity", "azure").DefaultAzureCredential()
    return lambda _: {"Authorization": f"Bearer {credential.get_token(_AZURE_SCOPE).token}"}


def _import(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SettingsError(
            f"--prometheus-auth {extra} needs a library that is not installed: {module}",
            f"pip install 'kube-rescheduler[{extra}]', also in the image that runs.",
        ) from error
