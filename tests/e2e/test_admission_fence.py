"""The admission policies of `deploy/` stop our own account, whatever the program might ask."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.controlplane.api import Api, ApiError, Manifest
from tests.e2e.controlplane.kubeconfig import connect
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.loop import NAMESPACE, SPREAD, Loop, install, swift, write_policies
from tests.e2e.program import ROOT, Program

pytestmark = pytest.mark.e2e

FENCE = ROOT / "deploy" / "kustomize" / "fence"
OPT_OUTS = ROOT / "deploy" / "kustomize" / "fence-opt-outs"
LABEL = {"rescheduler.io/evictions": "allowed"}
OPT_OUT = "rescheduler.io/opt-out"
GROUP = "rbac.authorization.k8s.io"


@pytest.fixture
def ours(cluster: Cluster, tmp_path: Path) -> Api:
    """The API server as our acting account, behind the fence, with every right there is."""
    kubeconfig = install(cluster, "enforce-cronjob", tmp_path)
    apply_manifests(cluster.api, [FENCE, OPT_OUTS])
    cluster.create(
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "too-much"},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "rescheduler", "namespace": NAMESPACE}],
        }
    )
    return connect(kubeconfig)


def refusal(api: Api, method: str, path: str, body: Any = None) -> str:
    """What the API server says against the request; "" where it does not."""
    try:
        api.request(method, path, body)
    except ApiError as error:
        return str(error)
    return ""


def evicting(api: Api, pod: Manifest, options: Any, query: str = "") -> str:
    metadata = pod["metadata"]
    named = {"name": metadata["name"], "namespace": metadata["namespace"]}
    path = f"/api/v1/namespaces/{named['namespace']}/pods/{named['name']}/eviction{query}"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": named}
    return refusal(api, "POST", path, body | ({"deleteOptions": options} if options else {}))


def uid(pod: Manifest) -> str:
    return str(pod["metadata"]["uid"])


def exactly(pod: Manifest) -> dict[str, Any]:
    return {"preconditions": {"uid": pod["metadata"]["uid"]}}


def test_only_what_may_be_evicted_is_evicted(cluster: Cluster, ours: Api) -> None:
    cluster.create(*nodes(3, cpu=16))
    cluster.namespace("open", LABEL)
    cluster.namespace("closed")
    cluster.namespace("mistyped", {"rescheduler.io/evictions": "yes"})
    for namespace in ("open", "closed", "mistyped"):
        cluster.create(deployment("web", 3, namespace=namespace))
    cluster.settled()

    # A policy takes effect some time after it is made, and a parameter is seen late too.
    (closed, *_), (mistyped, *_) = (
        cluster.pods("web", namespace) for namespace in ("closed", "mistyped")
    )
    cluster.until(
        lambda: "is not labelled" in evicting(ours, closed, exactly(closed)), "the fence", 30
    )
    assert "is not labelled" in evicting(ours, mistyped, exactly(mistyped))

    # A dry run asks the fence, and evicts nobody where it lets it pass.
    first, second, third = cluster.pods("web", "open")
    dry = {"dryRun": ["All"]}
    assert "is not labelled" in evicting(ours, mistyped, exactly(mistyped) | dry, "?dryRun=All")
    for query in ("?dryRun=All", ""):
        assert evicting(ours, first, exactly(first) | dry, query) == ""
    assert {uid(pod) for pod in cluster.pods("web", "open")} == set(
        map(uid, (first, second, third))
    )
    assert "must name the pod's UID" in evicting(ours, first, {})
    assert "must name the pod's UID" in evicting(ours, first, {"gracePeriodSeconds": 5})
    assert "its own grace period" in evicting(
        ours, first, exactly(first) | {"gracePeriodSeconds": 0}
    )

    cluster.annotate(second, **{OPT_OUT: "true"})
    cluster.until(
        lambda: "opted out" in evicting(ours, second, exactly(second)), "the opt-out to count", 10
    )
    cluster.annotate(third, **{OPT_OUT: ""})
    cluster.until(
        lambda: "opted out" in evicting(ours, third, exactly(third)), "the opt-out to count", 10
    )
    # One pod's opt-out does not protect its neighbors, and nobody else is held by the fence.
    assert evicting(ours, first, exactly(first)) == ""
    assert evicting(cluster.api, second, exactly(second)) == ""


def test_a_namespace_that_opted_out_is_left_alone(cluster: Cluster, ours: Api) -> None:
    cluster.create(*nodes(2, cpu=16))
    cluster.namespace("shop", LABEL)
    cluster.create(deployment("web", 2, namespace="shop"))
    cluster.settled()
    space = cluster.api.read("v1", "Namespace", "shop")
    cluster.annotate(space, **{OPT_OUT: "until 2999-01-01"})
    pod, *_ = cluster.pods("web", "shop")
    cluster.until(lambda: "opted out" in evicting(ours, pod, exactly(pod)), "the opt-out", 30)
    cluster.annotate(space, **{OPT_OUT: "false"})
    cluster.until(lambda: evicting(ours, pod, exactly(pod)) == "", "the opt-out to end", 30)


def test_nothing_else_may_be_written_even_with_every_right(cluster: Cluster, ours: Api) -> None:
    cluster.create(*nodes(1, cpu=16), deployment("web", 1))
    cluster.settled()
    (pod,) = cluster.pods("web")
    path = cluster.api.path(pod)
    no = "the rescheduler may not"
    cluster.until(lambda: no in refusal(ours, "DELETE", path), "the fence", 30)
    (node,) = cluster.api.items("v1", "Node")
    for changed in (
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "their/own", "effect": "PreferNoSchedule"}]}},
        {"spec": {"taints": [{"key": "rescheduler.io/relieved", "effect": "NoExecute"}]}},
        {"metadata": {"labels": {"team": "ours"}}},
    ):
        spec, metadata = changed.get("spec", {}), changed.get("metadata", {})
        body = {
            **node,
            "spec": {**node["spec"], **spec},
            "metadata": {**node["metadata"], **metadata},
        }
        assert no in refusal(ours, "PUT", cluster.api.path(node), body), changed
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    assert no in refusal(ours, "POST", "/api/v1/namespaces/default/configmaps", settings)
    own = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    assert refusal(ours, "POST", own, settings) == ""
    assert no in refusal(ours, "DELETE", f"{own}/x")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}
    assert no in refusal(ours, "POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)


def test_the_program_works_behind_the_fence_and_is_stopped_by_it(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    apply_manifests(cluster.api, [FENCE])
    cluster.namespace("open", LABEL)
    cluster.namespace("closed")
    cluster.create(
        *nodes(2, prefix="a", zones=["a"], cpu=16), *nodes(2, prefix="b", zones=["b"], cpu=16)
    )
    for namespace in ("open", "closed"):
        cluster.place(deployment("web", 4, namespace=namespace), ["a1", "a1", "a2", "a2"])
    pod, *_ = cluster.pods("web", "closed")
    cluster.until(lambda: cluster_refuses(cluster, actor, pod), "the fence", 30)
    everywhere = SPREAD.replace("[default]", "[open, closed]")
    program = Program(actor.binary, actor.kubeconfig, environment=actor.environment)
    loop = Loop(program, write_policies(tmp_path / "policies", everywhere, swift()))
    for _ in range(4):
        loop.once(code=None)
    results = [move for report in loop.reports for move in report["moves"]]
    assert any(m["result"] == "evicted" and m["pod"]["namespace"] == "open" for m in results)
    stopped = [m for m in results if m["pod"]["namespace"] == "closed"]
    assert stopped
    assert all(m["result"] != "evicted" for m in stopped)
    assert any("is not labelled rescheduler.io/evictions=allowed" in m["message"] for m in stopped)
    assert 3 in loop.codes


def cluster_refuses(cluster: Cluster, actor: Program, pod: Manifest) -> bool:
    assert actor.kubeconfig is not None
    return "is not labelled" in evicting(connect(actor.kubeconfig), pod, exactly(pod))
