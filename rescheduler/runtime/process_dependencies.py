"""What this process stands on: the addresses of its settings, and the pod that it runs in."""

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from rescheduler.model.dependencies import Address, Dependencies
from rescheduler.runtime.live_actor import NAMESPACE
from rescheduler.runtime.settings import Settings

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_NAMES = {"prometheus_url": "Prometheus", "scheduler_url": "kube-scheduler"}
_URLS = tuple(field.name for field in fields(Settings) if field.name.endswith("_url"))
_PROXIED = re.compile(r"/api/v1/namespaces/([^/]+)/services/(?:https?:)?([^/:]+)(?::[^/]*)?/proxy")
"""The API server's proxy to a Service, by which one outside of the cluster reaches it."""


def dependencies_of(settings: Settings, environment: Mapping[str, str], host: str) -> Dependencies:
    """Every address of the settings, and our own pod where the environment or its host tells.

    host: this machine's name, which in a pod without host network is the pod's.
    """
    account = _account()
    namespace = environment.get("POD_NAMESPACE") or account or NAMESPACE
    addresses = []
    for name in _URLS:
        url = getattr(settings, name)
        if isinstance(url, str):
            parts = urlsplit(url)
            shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
            what = _NAMES.get(name, f"--{name.replace('_', '-')}")
            addresses.append(Address(_host(parts), namespace, f"{what} at {shown}"))
    pod = environment.get("POD_NAME") or (host if account else "")
    return Dependencies(tuple(addresses), namespace, pod)


def _host(parts: SplitResult) -> str:
    proxied = _PROXIED.search(parts.path)
    if proxied is not None:
        return f"{proxied[2]}.{proxied[1]}.svc"
    return parts.hostname or ""


def _account() -> str:
    """The namespace of the service account of this pod; "" outside of one."""
    try:
        return _ACCOUNT.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
