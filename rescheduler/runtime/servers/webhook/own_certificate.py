"""The certificate that the webhook makes for itself, kept in a Secret."""

import base64
import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

from rescheduler.actions.stored_object import StoredObject
from rescheduler.model.errors import SettingsError
from rescheduler.runtime.logs import logger
from rescheduler.runtime.servers.webhook.certificates import (
    RENEWED,
    KeyPair,
    make_authority,
    make_certificate,
)

SECRET = "rescheduler-webhook"  # noqa: S105 - a name
CONFIGURATION = "rescheduler-steering"
"""The MutatingWebhookConfiguration, whose `caBundle` is the authority's certificate."""
PATH = "/steer"
"""What it asks; a secret comes after it."""


class Own:
    """Our own certificate; its authority outlasts it, so that renewing it asks nobody.

    secret: where both are kept, so that a restart presents the same. configuration: the webhook's,
    where the authority is written. names: of the Service.
    """

    def __init__(
        self,
        secret: StoredObject,
        configuration: StoredObject,
        names: list[str],
        now: Callable[[], datetime],
    ) -> None:
        self._secret, self._configuration = secret, configuration
        self._names, self._now = names, now
        self._secret_path = ""

    def secret(self) -> str:
        """A part of the path that stands in the webhook's configuration alone.

        The API server presents no certificate to webhooks unless it is configured to. But it knows
        the path, which TLS hides and only administrators may read.
        """
        return self._secret_path

    def pair(self) -> KeyPair:
        """The certificate that is kept, or a new one where none is or it ends soon.

        Raises:
            ActionError: the Secret or the webhook's configuration cannot be read or written.
        """
        authority, serving = self._stored_pairs()
        while serving is None:
            authority, serving = self._renew_certificate(authority)
        self._tell(authority)
        return serving

    def _stored_pairs(self) -> tuple[KeyPair, KeyPair | None]:
        secret = self._secret.read() or {}
        data = secret.get("data") or {}
        authority = _pair(data, "ca.crt", "ca.key")
        serving = _pair(data, "tls.crt", "tls.key")
        now = self._now()
        if authority is None or authority.ends - now < RENEWED:
            return make_authority(now), None
        if serving is None or serving.ends - now < RENEWED:
            return authority, None
        return authority, serving

    def _renew_certificate(self, authority: KeyPair) -> tuple[KeyPair, KeyPair | None]:
        """Make and keep a certificate; where another process was first, what that keeps."""
        serving = make_certificate(authority, self._names, self._now())
        data = {
            "ca.crt": authority.certificate,
            "ca.key": authority.key,
            "tls.crt": serving.certificate,
            "tls.key": serving.key,
        }
        secret = self._secret.read()
        body: dict[str, Any] = secret or {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET},
            "type": "Opaque",
        }
        body["data"] = {key: base64.b64encode(value).decode() for key, value in data.items()}
        stored = self._secret.replace(body) if secret else self._secret.create(body)
        if stored is None:
            return self._stored_pairs()
        logger().info("a certificate was made", until=serving.ends.isoformat())
        return authority, serving

    def _tell(self, authority: KeyPair) -> None:
        bundle = base64.b64encode(authority.certificate).decode()
        self._secret_path = hashlib.sha256(b"path of the webhook" + authority.key).hexdigest()
        path = f"{PATH}/{self._secret_path}"
        configuration = self._configuration.read()
        if configuration is None:
            raise SettingsError(
                f"MutatingWebhookConfiguration {CONFIGURATION} does not exist",
                "apply deploy/kustomize/steering-webhook.",
            )
        hooks = configuration.get("webhooks") or []
        clients = [hook.setdefault("clientConfig", {}) for hook in hooks]
        trusting = [client for client in clients if client.get("caBundle") == bundle]
        services = [client["service"] for client in clients if "service" in client]
        if len(trusting) == len(clients) and all(
            service.get("path") == path for service in services
        ):
            return
        for client in clients:
            client["caBundle"] = bundle
        for service in services:
            service["path"] = path
        self._configuration.replace(configuration)


def _pair(data: dict[str, Any], certificate: str, key: str) -> KeyPair | None:
    """The pair in the data of a Secret, or None where there is none that can be read."""
    try:
        pair = KeyPair(
            base64.b64decode(str(data[certificate]), validate=True),
            base64.b64decode(str(data[key]), validate=True),
        )
        pair.ends, pair.context()
    except (KeyError, ValueError):
        return None
    return pair
