"""Who we are to a metric source behind the API server's proxy: the person of the kubeconfig."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rescheduler.sources.prometheus.http.access import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyAccess(Access):
    """The rights of the one who asks the API server, for its proxy to a Service.

    configuration: of the Kubernetes client, whose token may change between requests.
    """

    configuration: Any

    def headers(self) -> dict[str, str]:
        """The token that the API server gets, if there is one."""
        token = self.configuration.auth_settings().get("BearerToken")
        return {"Authorization": token["value"]} if token and token["value"] else {}


def proxy_access(configuration: Any) -> ProxyAccess | None:
    """The access by this configuration; None where its TLS settings cannot be kept to."""
    if not configuration.verify_ssl or getattr(configuration, "tls_server_name", None):
        return None
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    authority, certificate, key = (Path(file) if file else None for file in files)
    return ProxyAccess(
        configuration=configuration,
        ca_file=authority,
        client_cert_file=certificate,
        client_key_file=key,
    )
