"""Webhooks of others on a test cluster, which has no Service network: asked on loopback ports."""

import base64
from datetime import UTC, datetime
from pathlib import Path

import yaml

from rescheduler.runtime.servers.webhook.certificates import make_authority, make_certificate
from tests.e2e.builders.cluster import Cluster


def present(folder: Path) -> bytes:
    """Put a certificate for localhost and its key there, as mounted from a Secret; its authority's.

    The files have the names that controller-runtime looks for.
    """
    now = datetime.now(UTC)
    authority = make_authority(now)
    pair = make_certificate(authority, ["localhost"], now)
    folder.mkdir(parents=True)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    return authority.certificate


def register(cluster: Cluster, manifests: Path, port: int, authority: bytes) -> None:
    """Let the API server ask that port for the webhooks of this file, as it says otherwise."""
    for yaml_object in yaml.safe_load_all(manifests.read_text(encoding="utf-8")):
        for webhook in yaml_object["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {
                "url": f"https://localhost:{port}{path}",
                "caBundle": base64.b64encode(authority).decode(),
            }
        cluster.api.apply(yaml_object)
