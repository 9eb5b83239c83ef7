"""What a running kube-scheduler reports of itself: /configz, and of its /metrics version and gates.

It is asked with the credentials for the API server, which kube-scheduler has reviewed there; the
account needs the right to `get` the non-resource URLs /configz and /metrics. They are sent to the
cluster's own addresses alone, so that who may change our settings cannot have them sent elsewhere.
"""

import copy
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from kubernetes.client import ApiClient
from prometheus_client.parser import text_string_to_metric_families
from urllib3.exceptions import InsecureRequestWarning

from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.model.problem import Problem
from rescheduler.sources.kubernetes.internal_configuration import as_written
from rescheduler.sources.kubernetes.transport import Connection

TIMEOUT = 10.0
"""Seconds for each of the two answers."""

_SERVICE_ENDINGS = ("", ".svc", ".svc.cluster.local")
_SECRET = ("clientConnection", "leaderElection")
_FEATURE = "kubernetes_feature_enabled"
_BUILD = "kubernetes_build_info"


def foreign_address(url: str, snapshot: Snapshot, server: str) -> str:
    """Why that address is none of the cluster's own, or "".

    Its own are those of its nodes, Services of kube-system by name, and the API server's host.
    server: the address of the API server.
    """
    host = urlsplit(url).hostname or ""
    own = {urlsplit(server).hostname}
    for node in snapshot.nodes:
        own.add(node.metadata.name)
        own |= {each.address for each in node.status.addresses or ()}
    names = {s.metadata.name for s in snapshot.services if s.metadata.namespace == "kube-system"}
    own |= {f"{name}.kube-system{end}" for name in names for end in _SERVICE_ENDINGS}
    if host in own:
        return ""
    return (
        f"{host} of --scheduler-url is neither a node's address, nor a Service of kube-system, nor "
        "the API server's host; our credentials are sent to those alone"
    )


def read_scheduler(
    connection: Connection,
    url: str,
    *,
    ca_file: Path | None = None,
    verify: bool = True,
    timeout: float = TIMEOUT,
) -> ObservedScheduler:
    """Ask the scheduler at that address; where it does not answer fully, that is the problem.

    connection: to the API server, for its credentials. ca_file: the authorities that sign the
    scheduler's certificate; by default those of the API server. verify: whether to check it.
    """
    if ca_file is not None and not ca_file.is_file():
        message = f"{url} cannot be asked: the certificates {ca_file} do not exist"
        return ObservedScheduler(url=url, problem=Problem("GRD010", message))
    scheduler = _beside(connection, url, ca_file, timeout, verify=verify)
    try:
        with warnings.catch_warnings():
            if not verify:  # it was asked for, and every request would warn of it again
                warnings.simplefilter("ignore", InsecureRequestWarning)
            configuration = _configuration(_body(scheduler, "/configz"))
            version, gates = _metrics(_body(scheduler, "/metrics"))
    except ClusterUnavailable as error:
        return ObservedScheduler(url=url, problem=Problem("GRD010", error.message))
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        message = f"{url} does not answer as kube-scheduler does: {error}"
        return ObservedScheduler(url=url, problem=Problem("GRD010", message))
    finally:
        scheduler.api.close()  # type: ignore[no-untyped-call]
    return ObservedScheduler(url=url, configuration=configuration, version=version, gates=gates)


def _beside(
    connection: Connection, url: str, ca_file: Path | None, timeout: float, *, verify: bool
) -> Connection:
    """A connection to another address with the same credentials."""
    connection.api.configuration.auth_settings()  # renews a token that has expired
    configuration = copy.deepcopy(connection.api.configuration)
    # It would put the API server's address back.
    configuration.refresh_api_key_hook = None
    configuration.host = url.rstrip("/")
    configuration.verify_ssl = verify
    if ca_file is not None:
        configuration.ssl_ca_cert = str(ca_file)
    if configuration.tls_server_name:
        configuration.tls_server_name = None
    api = ApiClient(configuration)
    api.user_agent = connection.api.user_agent
    return Connection(api, "kube-scheduler", attempts=2, read_timeout=timeout)


def _body(scheduler: Connection, path: str) -> bytes:
    try:
        return scheduler.get(path)
    except OSError as error:
        host = scheduler.api.configuration.host
        raise ClusterUnavailable(f"{host}{path} cannot be read: {error}") from error


def _configuration(body: bytes) -> dict[str, Any]:
    """The configuration, without what is secret and what does not decide a placement."""
    found = msgspec.json.decode(body, type=dict[str, dict[str, Any]])
    if "componentconfig" not in found:
        raise ValueError("/configz has no `componentconfig`")
    written = as_written(found["componentconfig"])
    kept = {key: each for key, each in written.items() if key not in _SECRET}
    for extender in kept.get("extenders") or ():
        if isinstance(extender, dict):
            extender.pop("tlsConfig", None)
    return kept


def _metrics(body: bytes) -> tuple[str, dict[str, bool]]:
    """Version and feature gates of the scheduler."""
    lines = body.decode("utf-8", "replace").splitlines()
    text = "\n".join(line for line in lines if line.startswith((_FEATURE, _BUILD)))
    gates: dict[str, bool] = {}
    version = ""
    for family in text_string_to_metric_families(f"{text}\n"):
        for sample in family.samples:
            if sample.name == _FEATURE:
                gates[sample.labels["name"]] = sample.value == 1
            elif sample.name == _BUILD:
                version = sample.labels.get("git_version", "")
    if not version or not gates:
        raise ValueError(f"/metrics has no {_BUILD} or no {_FEATURE}")
    return version, gates
