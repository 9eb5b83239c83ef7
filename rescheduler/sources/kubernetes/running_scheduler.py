"""What a running kube-scheduler reports of itself: /configz, and of its /metrics version and gates.

It is read with the credentials for the API server, which kube-scheduler has reviewed there; the
account needs the right to `get` the non-resource URLs /configz and /metrics. They are sent to the
cluster's own addresses alone, so that who may change our settings cannot have them sent elsewhere.
"""

import copy
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from kubernetes.client import ApiClient
from prometheus_client.parser import text_string_to_metric_families
from urllib3.exceptions import InsecureRequestWarning

from rescheduler.kube.objects import Node, Pod
from rescheduler.kube.pods.containers import all_containers
from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.model.problem import Problem
from rescheduler.sources.kubernetes.internal_configuration import as_written
from rescheduler.sources.kubernetes.transport import Connection
from rescheduler.wire.hosts import is_loopback

PORT = 10259
"""Where kube-scheduler listens by default."""
TIMEOUT = 10.0
"""Seconds for each of the two answers."""

_SERVICE_ENDINGS = ("", ".svc", ".svc.cluster.local")
_SECRET = ("clientConnection", "leaderElection")
_FEATURE = "kubernetes_feature_enabled"
_BUILD = "kubernetes_build_info"


def foreign_address(url: str, snapshot: Snapshot, server: str, *, proven: bool = False) -> str:
    """Why what answers there may be none of the cluster's own schedulers, or "".

    Its own are Services of kube-system by name, and on its nodes and the API server's host the port
    of kube-scheduler; any pod may listen on the others.
    server: the address of the API server. proven: whether a certificate of an authority that was
    given for the scheduler alone will prove it, whatever its port is.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 443
    names = {s.metadata.name for s in snapshot.services if s.metadata.namespace == "kube-system"}
    if host in {f"{name}.kube-system{end}" for name in names for end in _SERVICE_ENDINGS}:
        return ""
    nodes = {node.metadata.name for node in snapshot.nodes if host in _hosts(node)}
    if not nodes and host != urlsplit(server).hostname:
        return (
            f"{host} of --scheduler-url is neither a node's address, nor a Service of kube-system, "
            "nor the API server's host; our credentials are sent to those alone"
        )
    if proven or (not nodes and (port == PORT or is_loopback(host))):
        return ""
    if nodes and _is_schedulers(port, [pod for pod in snapshot.pods if pod.node in nodes]):
        return ""
    return (
        f"what listens on port {port} of {host} may be another program than kube-scheduler, and "
        "our credentials are sent to no other: let --scheduler-url name its own port, or give the "
        "authority that signed its certificate with --scheduler-ca-file"
    )


def _hosts(node: Node) -> set[str]:
    return {node.metadata.name, *(address.address for address in node.status.addresses or ())}


def _is_schedulers(port: int, pods: Iterable[Pod]) -> bool:
    """Whether nobody but kube-scheduler can listen on that port of a node with these pods.

    A port of the host that a pod asks for leads to that pod, also where another program listens.
    """
    strange = has_scheduler = False
    for pod in pods:
        containers, shared = pod.spec.containers, pod.spec.hostNetwork
        ports = [container_port for one in containers for container_port in one.ports or ()]
        if pod.metadata.namespace != "kube-system":
            if port in {
                container_port.hostPort
                for one in all_containers(pod.spec)
                for container_port in one.ports or ()
            }:
                return False
            strange = strange or shared
        elif shared and any(container.name == "kube-scheduler" for container in containers):
            has_scheduler = has_scheduler or port in (
                {container_port.containerPort for container_port in ports} or {PORT}
            )
    return has_scheduler or (port == PORT and not strange)


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
        message = f"{url} cannot be read: the certificates {ca_file} do not exist"
        return ObservedScheduler(url=url, problem=Problem("GRD010", message))
    scheduler = _connection_to(connection, url, ca_file, timeout, verify=verify)
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


def _connection_to(
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
    answer = msgspec.json.decode(body, type=dict[str, dict[str, Any]])
    if "componentconfig" not in answer:
        raise ValueError("/configz has no `componentconfig`")
    written = as_written(answer["componentconfig"])
    kept = {key: value for key, value in written.items() if key not in _SECRET}
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
