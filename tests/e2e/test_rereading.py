"""What a pod hangs on, read again from the real API server: odd names, long or many objects.

The fake server of the fast tests answers the same in tests/sources/test_reread_faults.py.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kubernetes.client import ApiClient

from rescheduler.kube.controllers import MOST_SELECTOR
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ObjectUnreadable
from rescheduler.sources.kubernetes.pod_reread import read_surroundings
from rescheduler.sources.kubernetes.transport import Connection, RequestRefused
from rescheduler.wire.object_paths import object_name
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import bare_pod, deployment
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.audit import Audit
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.loop import SPREAD, Loop, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

ELSEWHERE = [
    "../../../../../../api/v1/secrets",
    "../../../../../../api/v1/namespaces/kube-system/configmaps?limit=1",
    "?watch=true",
    "web/scale",
    "web%2fscale",
    "web#",
    "..",
]
MANY = 501
"""Objects that fill one page and begin another."""


def read(client: ApiClient, name: str) -> Snapshot:
    return read_surroundings(Connection(client, "here"), "default", name)


def owned(name: str, owner: str, kind: str = "ReplicaSet") -> dict[str, Any]:
    made = bare_pod(name, nodeName="n1")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "no-such-uid"}
    made["metadata"] |= {
        "ownerReferences": [{**reference, "controller": True}],
        "finalizers": ["tenant.example/keep"],
    }
    return made


def test_no_name_that_a_tenant_writes_leads_to_another_request(
    cluster: Cluster, client: ApiClient, audit: Audit
) -> None:
    """The API server takes any name of an owner, and answers whatever path such a name makes."""
    cluster.create(*nodes(1))
    cluster.create(*(owned(f"odd-{n}", name) for n, name in enumerate(ELSEWHERE)))
    mark = audit.mark()
    for number in range(len(ELSEWHERE)):
        with pytest.raises(ObjectUnreadable, match=r"can be no name in .*/replicasets"):
            read(client, f"odd-{number}")
    asked = [record.requestURI for record in audit.since(mark).by("admin")]
    assert asked == [f"/api/v1/namespaces/default/pods/odd-{n}" for n in range(len(ELSEWHERE))]


@pytest.mark.parametrize(
    "name", ["a", "0", "a.b", "a-b.c--d.0", "x" * 63, "x" * 253, ".".join(["x" * 63] * 3)]
)
def test_what_the_api_server_takes_for_a_name_is_one(cluster: Cluster, name: str) -> None:
    cluster.api.create(named(name))
    assert object_name(name, "here") == name


@pytest.mark.parametrize("name", ["A", "-a", "a-", "a..b", "a.", "a_b", "a b", "x" * 254, "\u00e4"])
def test_what_the_api_server_takes_for_no_name_is_none(cluster: Cluster, name: str) -> None:
    with pytest.raises(ApiError, match="422"):
        cluster.api.create(named(name))
    with pytest.raises(ObjectUnreadable):
        object_name(name, "here")


def named(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def selecting(name: str, values: int) -> dict[str, Any]:
    """A Deployment of four pods whose selector allows so many values, of 63 bytes each."""
    made = deployment(name, 4, cpu=1, memory="1Gi")
    allowed = [name, *(f"{'x' * 50}-{n:012}" for n in range(values))]
    expression = {"key": "app", "operator": "In", "values": allowed}
    made["spec"]["selector"] = {"matchExpressions": [expression]}
    return made


def test_pods_are_listed_by_the_longest_selector_and_left_alone_beyond(
    cluster: Cluster, metrics: Metrics, client: ApiClient, actor: Program, tmp_path: Path
) -> None:
    """etcd keeps objects of 1.5 MiB, and the API server reads 1 MiB of a request's head."""
    cluster.create(*nodes(4, cpu=16, zones=["a", "b"]))
    made = {"web": 0, "longest": 28, "beyond": 17_000}
    for name, values in made.items():
        cluster.arrange([(selecting(name, values), ["n1", "n1", "n3", "n3"])])
    sizes = {
        manifest["metadata"]["labels"]["app"]: len(
            msgspec.json.encode(manifest["spec"]["selector"])
        )
        for manifest in cluster.api.items("apps/v1", "ReplicaSet", "default")
    }
    assert 1_900 < sizes["longest"] < MOST_SELECTOR < 2**20 < sizes["beyond"]
    with pytest.raises(RequestRefused, match="431"):
        Connection(client, "here").fetch("/api/v1/pods", {"labelSelector": "x" * 2**21})
    policies = write_policies(tmp_path / "policies", SPREAD, swift())

    moves = Loop(actor, policies).until_content()

    moved = Counter(move["pod"]["name"].partition("-")[0] for move in moves)
    assert moved == {"web": 2, "longest": 2}


def test_namespaces_of_many_objects_are_read_to_their_end(
    cluster: Cluster, client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create(*nodes(1), deployment("web", 3))
    many = [budget("web", max_unavailable=1, name=f"b-{n:03}") for n in range(MANY)]
    for manifest in many:
        manifest["metadata"]["annotations"] = {"note": "x" * 2_000}
    cluster.create(*many)
    cluster.settled()
    name = cluster.pods("web")[0]["metadata"]["name"]
    expected = sorted(manifest["metadata"]["name"] for manifest in many)

    assert sorted(budget.metadata.name for budget in read(client, name).budgets) == expected
    # As many bytes as are taken at once make no difference, but for the number of requests.
    monkeypatch.setattr("rescheduler.sources.kubernetes.pages.MAX_PAGE", 200_000)
    found = read(client, name)
    assert sorted(budget.metadata.name for budget in found.budgets) == expected
    assert len(found.pods) == 3
    monkeypatch.setattr("rescheduler.sources.kubernetes.pod_reread.MOST", 400_000)
    with pytest.raises(ObjectUnreadable, match="larger than"):
        read(client, name)


def no_eviction_in(namespace: str) -> dict[str, Any]:
    """A webhook that must agree to each eviction in the namespace, and does not answer."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/eviction"]}
    webhook = {
        "name": "evictions.tenant.example",
        "clientConfig": {"url": "https://127.0.0.1:9/"},
        "rules": [{**rule, "operations": ["CREATE"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "evictions"},
        "webhooks": [webhook],
    }


def test_a_workload_whose_evictions_answer_500_holds_up_no_others(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    """It ends the run, as an API server in trouble does, and then rests."""
    cluster.create(*nodes(4, cpu=16, zones=["a", "b"]))
    cluster.namespace("held")
    held = deployment("held", 8, namespace="held", cpu=1, memory="1Gi")
    cluster.arrange([(held, ["n1"] * 4 + ["n3"] * 4)])
    cluster.arrange([(deployment("web", 4, cpu=1, memory="1Gi"), ["n1", "n1", "n3", "n3"])])
    cluster.create(no_eviction_in("held"))
    spread = SPREAD.replace("{namespaces: [default]}", "{namespaces: [default, held]}")
    there = {pod["metadata"]["uid"] for pod in cluster.pods(namespace="held")}
    loop = Loop(actor, write_policies(tmp_path / "policies", spread, swift()))

    first = loop.once(code=3)
    second = loop.once(code=None)

    codes = [
        [(m["pod"]["namespace"], m["code"]) for m in json["moves"]] for json in (first, second)
    ]
    assert codes[0][0][0] == "held"
    assert codes == [[("held", "ACT009"), ("default", "ACT010")], [("default", "ACT001")]]
    assert {pod["metadata"]["uid"] for pod in cluster.pods(namespace="held")} == there
