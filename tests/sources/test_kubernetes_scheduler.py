"""Asking a scheduler that answers in full, in part, oddly, late, or not at all."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rescheduler.kube.controllers import Service
from rescheduler.kube.objects import Container, ContainerPort, NodeAddress, ObjectMeta, Pod
from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.running_scheduler import foreign_address, read_scheduler
from rescheduler.sources.recording import load, save
from tests.cases import every
from tests.cluster import node, pod, snapshot
from tests.sources.connected import kubeconfig
from tests.sources.server import Reply, Request, Served, serving

WHOLE: dict[str, Any] = {
    "componentconfig": {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": "/secret/place"},
        "leaderElection": {"leaderElect": True},
        "profiles": [{"schedulerName": "default-scheduler"}],
        "extenders": [{"urlPrefix": "http://x", "tlsConfig": {"keyData": "hunter2"}}],
    }
}
METRICS = """\
# HELP kubernetes_build_info [BETA] A metric with a constant '1' value
# TYPE kubernetes_build_info gauge
kubernetes_build_info{git_version="v1.36.3",platform="linux/amd64"} 1
# HELP kubernetes_feature_enabled [BETA] whether it is enabled
# TYPE kubernetes_feature_enabled gauge
kubernetes_feature_enabled{name="StorageCapacityScoring",stage="ALPHA"} 0
kubernetes_feature_enabled{name="NodeDeclaredFeatures",stage="BETA"} 1
scheduler_pending_pods{queue="a\\"} odd
"""


@contextmanager
def scheduler(folder: Path, **replies: Reply) -> Iterator[tuple[ObservedScheduler, Served, Served]]:
    """What is read, with the scheduler and the API server that were asked."""

    def answer(request: Request) -> Reply:
        usual = {"configz": Reply(json.dumps(WHOLE).encode()), "metrics": Reply(METRICS.encode())}
        return {**usual, **replies}[request.path.strip("/")]

    def nothing(_: Request) -> Reply:
        return Reply(status=500)

    with serving(answer) as served, serving(nothing) as api:
        connection = connect(kubeconfig(folder, api.url), None)
        with closing(connection.api):
            yield read_scheduler(connection, served.url, timeout=0.5), served, api


def test_a_scheduler_reports_its_configuration_version_and_gates(tmp_path: Path) -> None:
    with scheduler(tmp_path) as (reported, served, api):
        assert reported.problem is None
        assert reported.version == "v1.36.3"
        assert reported.gates == {"StorageCapacityScoring": False, "NodeDeclaredFeatures": True}
        assert reported.configuration["profiles"] == [{"schedulerName": "default-scheduler"}]
        assert {request.headers["authorization"] for request in served.requests} == {"Bearer t0ken"}
        assert not api.requests


def test_nothing_secret_is_kept(tmp_path: Path) -> None:
    with scheduler(tmp_path) as (reported, _, _):
        assert "hunter2" not in str(reported)
        assert "secret" not in str(reported)
        assert "leaderElection" not in reported.configuration


INTERNAL: dict[str, Any] = {
    "componentconfig": {
        "Parallelism": 16,
        "LeaderElection": {"LeaderElect": True},
        "ClientConnection": {"Kubeconfig": "/secret/place"},
        "EnableProfiling": True,
        "PercentageOfNodesToScore": None,
        "Profiles": [
            {
                "SchedulerName": "default-scheduler",
                "PercentageOfNodesToScore": 40,
                "Plugins": {
                    "Score": {
                        "Enabled": None,
                        "Disabled": [{"Name": "ImageLocality", "Weight": 0}],
                    },
                    "MultiPoint": {
                        "Enabled": [{"Name": "NodePorts", "Weight": 0}],
                        "Disabled": None,
                    },
                },
                "PluginConfig": [
                    {"Name": "InterPodAffinity", "Args": {"HardPodAffinityWeight": 7}},
                    {
                        "Name": "PodTopologySpread",
                        "Args": {
                            "DefaultConstraints": [
                                {
                                    "maxSkew": 1,
                                    "topologyKey": "zone",
                                    "whenUnsatisfiable": "ScheduleAnyway",
                                    "labelSelector": {"matchLabels": {"Team": "X"}},
                                }
                            ],
                            "DefaultingType": "List",
                        },
                    },
                ],
            }
        ],
        "Extenders": [{"URLPrefix": "http://x", "TLSConfig": {"KeyData": "hunter2"}}],
    }
}
"""What kube-scheduler 1.34 and 1.35 answer: internal types, whose fields have Go's names."""


def test_the_internal_types_of_1_35_are_read_as_what_is_written(tmp_path: Path) -> None:
    replies = {"configz": Reply(json.dumps(INTERNAL).encode())}
    with scheduler(tmp_path, **replies) as (reported, _, _):
        assert reported.problem is None
        assert "hunter2" not in str(reported)
        assert "secret" not in str(reported)
        found = reported.configuration
    assert found["kind"] == "KubeSchedulerConfiguration"
    assert found["extenders"] == [{"urlPrefix": "http://x"}]
    (profile,) = found["profiles"]
    assert profile["percentageOfNodesToScore"] == 40
    assert profile["plugins"]["score"]["disabled"] == [{"name": "ImageLocality", "weight": 0}]
    affinity, spread = profile["pluginConfig"]
    assert affinity == {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}}
    (constraint,) = spread["args"]["defaultConstraints"]
    assert constraint["labelSelector"] == {"matchLabels": {"Team": "X"}}


def test_a_recording_keeps_what_the_scheduler_told(tmp_path: Path) -> None:
    with scheduler(tmp_path) as (reported, _, _):
        made = replace(snapshot([node("a")], []), scheduler=reported)
    save(made, tmp_path / "file")
    assert load(tmp_path / "file").scheduler == reported
    save(replace(made, scheduler=None), tmp_path / "none")
    assert load(tmp_path / "none").scheduler is None


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        ({"configz": Reply(b'{"message": "no"}', 403)}, "/configz answered 403: no"),
        ({"metrics": Reply(b"", 403)}, "/metrics answered 403"),
        ({"configz": Reply(b"<html>")}, "does not answer as kube-scheduler does"),
        ({"configz": Reply(b'{"kubeletconfig": {}}')}, "/configz has no `componentconfig`"),
        ({"metrics": Reply(b"up 1")}, "/metrics has no kubernetes_build_info"),
        ({"metrics": Reply(b'kubernetes_build_info{git_version="v1.36.3"} 1\n')}, "has no"),
        ({"metrics": Reply(b"kubernetes_build_info{ 1\n")}, "does not answer as"),
        ({"configz": Reply(json.dumps(WHOLE).encode(), cut=True)}, "/configz cannot be read"),
        ({"configz": Reply(hang=threading.Event())}, "/configz cannot be read"),
        ({"configz": Reply(b"", 401)}, "/configz answered 401"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_anything_else_is_a_problem_with_its_words(
    tmp_path: Path, replies: dict[str, Reply], words: str
) -> None:
    with scheduler(tmp_path, **replies) as (reported, _, _):
        assert reported.problem is not None
        assert reported.problem.code == "GRD010"
        assert words in reported.problem.message
        assert reported.configuration == {}
        for reply in replies.values():
            if reply.hang is not None:
                reply.hang.set()


def test_nobody_there_is_a_problem(tmp_path: Path) -> None:
    connection = connect(kubeconfig(tmp_path, "http://127.0.0.1:1"), None)
    with closing(connection.api):
        reported = read_scheduler(connection, "http://127.0.0.1:1", timeout=0.5)
    assert reported.problem is not None
    assert "127.0.0.1:1/configz cannot be read" in reported.problem.message


def test_a_certificate_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    connection = connect(kubeconfig(tmp_path, "http://127.0.0.1:1"), None)
    with closing(connection.api):
        reported = read_scheduler(connection, "https://127.0.0.1:1", ca_file=tmp_path / "none.crt")
    assert reported.problem is not None
    assert "none.crt" in reported.problem.message


@every(
    [
        ("https://10.0.0.7:10259", True),
        ("https://master-1:10259", True),
        ("https://10.96.0.1:10259", True),
        ("https://kube-scheduler.kube-system.svc:10259", True),
        ("https://kube-scheduler.kube-system:10259", True),
        ("https://10.0.0.8:10259", False),
        ("https://kube-scheduler.tenant.svc:10259", False),
        ("https://other.kube-system.svc:10259", False),
        ("https://kube-scheduler.kube-system.svc.evil.example:10259", False),
        ("https://evil.example", False),
        ("https://10.0.0.7:30259", False),
        ("https://master-1", False),
        ("https://10.96.0.1:31000", False),
    ]
)
def test_credentials_go_to_the_clusters_own_addresses_alone(url: str, own: bool) -> None:
    master = node("master-1")
    master.status.addresses = [NodeAddress(type="InternalIP", address="10.0.0.7")]
    services = [
        Service(metadata=ObjectMeta(name="kube-scheduler", namespace=namespace))
        for namespace in ("kube-system", "somewhere")
    ]
    made = replace(snapshot([master], []), services=services)
    assert (foreign_address(url, made, "https://10.96.0.1:443") == "") == own


def at_its_node(*pods: Pod) -> Snapshot:
    master = node("master-1")
    master.status.addresses = [NodeAddress(type="InternalIP", address="10.0.0.7")]
    return snapshot([master, node("other")], pods)


def scheduler_pod(on: str = "master-1", namespace: str = "kube-system", *ports: int) -> Pod:
    found = [{"containerPort": port} for port in ports]
    container = {"name": "kube-scheduler", "image": "kube-scheduler:v1.36.3", "ports": found}
    made = pod("kube-scheduler", on, namespace=namespace, hostNetwork=True)
    made.spec.containers = [msgspec.convert(container, Container)]
    return made


STRANGER = pod("stranger", "master-1", hostNetwork=True)
TAKER = pod("taker", "master-1")
TAKER.spec.containers[0].ports = [ContainerPort(containerPort=80, hostPort=10259)]
SIDECAR_TAKER = pod("sidecar", "master-1")
SIDECAR_TAKER.spec.initContainers = [
    Container(name="side", restartPolicy="Always", ports=TAKER.spec.containers[0].ports)
]


@every(
    [
        ([], 10259, True),
        ([STRANGER], 10259, False),
        ([TAKER], 10259, False),
        ([TAKER, scheduler_pod()], 10259, False),
        ([scheduler_pod(), TAKER], 10259, False),
        ([scheduler_pod("master-1", "kube-system", 10259), TAKER], 10259, False),
        ([scheduler_pod(), SIDECAR_TAKER], 10259, False),
        ([pod("plain", "master-1")], 10259, True),
        ([STRANGER, scheduler_pod()], 10259, True),
        ([STRANGER, scheduler_pod("other")], 10259, False),
        ([STRANGER, scheduler_pod("master-1", "tenant")], 10259, False),
        ([scheduler_pod()], 30259, False),
        ([STRANGER, scheduler_pod("master-1", "kube-system", 30259)], 30259, True),
        ([STRANGER, scheduler_pod("master-1", "kube-system", 30259)], 10259, False),
    ]
)
def test_on_a_node_they_go_to_the_port_of_its_scheduler_alone(
    pods: list[Pod], port: int, own: bool
) -> None:
    made = at_its_node(*pods)
    for host in ("10.0.0.7", "master-1"):
        url = f"https://{host}:{port}"
        assert (foreign_address(url, made, "https://10.96.0.1:443") == "") == own
        assert (foreign_address(url, made, f"https://{host}:6443") == "") == own
        # A certificate of its own authority proves it.
        assert foreign_address(url, made, "https://10.96.0.1:443", proven=True) == ""
