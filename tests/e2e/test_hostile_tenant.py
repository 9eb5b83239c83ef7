"""A tenant with all rights in its own namespace does its worst, and others are moved as before."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import bare_pod, deployment
from tests.e2e.controlplane.api import Api, Manifest
from tests.e2e.controlplane.kubeconfig import connect
from tests.e2e.loop import SPREAD, Loop, swift, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e

EVIL, GOOD = "evil", ("default", "shop")
CYCLES = 8
NOT_FOR_OTHERS = {"GRD003", "GRD008", "GRD009", "ELG038", "ELG039", "ELG040", "ELG041", "ELG042"}
NOT_FOR_OTHERS |= {"BUD004", "DAT001", "ACT010", "ACT024"}


def tenant(cluster: Cluster) -> Api:
    """The API with all rights in the namespace, and none elsewhere."""
    rbac = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    user = {"kind": "ServiceAccount", "name": "mallory", "namespace": EVIL}
    role = {"apiGroup": rbac, "kind": "Role", "name": "all"}
    cluster.create(
        object_("v1", "ServiceAccount", "mallory"),
        object_(f"{rbac}/v1", "Role", "all", rules=[rule]),
        object_(f"{rbac}/v1", "RoleBinding", "all", roleRef=role, subjects=[user]),
    )
    return connect(cluster.control_plane.kubeconfig_for(EVIL, "mallory"))


def object_(version: str, kind: str, name: str, **body: Any) -> Manifest:
    metadata = {"name": name, "namespace": EVIL}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


def bound(api: Api) -> None:
    """A LimitRange and a quota that admit no further pod, in reach of nobody's quantity."""
    most = {"type": "Container", "max": {"cpu": "1m"}, "default": {"cpu": "1m"}}
    api.create(object_("v1", "LimitRange", "l", spec={"limits": [most]}))
    api.create(object_("v1", "ResourceQuota", "q", spec={"hard": {"pods": "0"}}))


def cover(api: Api) -> None:
    """Two budgets over the same pods, one of which can never be met, and an autoscaler."""
    api.create(budget("evil", namespace=EVIL, min_available="100%"))
    api.create(budget("evil", namespace=EVIL, max_unavailable=0, name="again"))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "evil"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 900}
    api.create(object_("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec))


def wait(api: Api) -> None:
    """Pods that nobody places, for every node and for none, and one behind a gate."""
    api.create(bare_pod("nobody", namespace=EVIL, cpu="1m", schedulerName="nobody"))
    api.create(bare_pod("nowhere", namespace=EVIL, cpu="1m", nodeSelector={"no": "node"}))
    api.create(bare_pod("large", namespace=EVIL, cpu=900))
    api.create(bare_pod("gated", namespace=EVIL, cpu="1m", schedulingGates=[{"name": "a.b/c"}]))


def keep(api: Api) -> None:
    """Finalizers on its pods, which end only in name then; some are deleted."""
    for number, pod in enumerate(api.items("v1", "Pod", EVIL)):
        api.patch(pod, {"metadata": {"finalizers": ["evil.example/keep"]}})
        if number % 2:
            api.delete(pod, grace=0)


def speak(api: Api) -> None:
    """Annotations and labels that mean something to us, on all that it has, and Events in our name.

    Everything is text that people write, or nonsense.
    """
    notes = {"rescheduler.io/opt-out": "until " + "9" * 5_000, "rescheduler.io/table": "{["}
    for pod in api.items("v1", "Pod", EVIL):
        api.patch(pod, {"metadata": {"annotations": notes}})
    (made,) = (manifest for manifest in api.items("apps/v1", "Deployment", EVIL))
    api.patch(made, {"metadata": {"annotations": notes}, "spec": {"paused": True}})
    about = {"kind": "Pod", "name": "web-1", "namespace": EVIL}
    event = object_("v1", "Event", "e", involvedObject=about, reason="Evicted", type="Normal")
    api.create({**event, "source": {"component": "rescheduler"}, "message": "ACT001"})


def change(api: Api) -> None:
    """Its template fits nowhere any more, while its rollout is paused."""
    (made,) = (manifest for manifest in api.items("apps/v1", "Deployment", EVIL))
    api.patch(made, {"spec": {"template": {"spec": {"nodeSelector": {"no": "node"}}}}})


ACTS: tuple[Callable[[Api], None], ...] = (wait, cover, keep, speak, change, bound)


def release(cluster: Cluster) -> None:
    """Let its pods go, so that the next test finds a clean cluster."""
    for pod in cluster.api.items("v1", "Pod", EVIL):
        cluster.api.patch(pod, {"metadata": {"finalizers": None}})


def test_what_a_tenant_does_moves_and_stops_nobody_else(
    cluster: Cluster, actor: Program, tmp_path: Path
) -> None:
    cluster.create(*nodes(4, cpu=16, zones=["a", "b"]))
    for name in (EVIL, "shop"):
        cluster.namespace(name)
    on = ["n1", "n1", "n3", "n3", "n1", "n3"]
    apps = {"default": "web", "shop": "cart", EVIL: "evil"}
    cluster.arrange(
        [(deployment(app, 6, namespace=name, cpu=0.5), on) for name, app in apps.items()]
    )
    everywhere = SPREAD.replace("[default]", f"[default, shop, {EVIL}]")
    policies = write_policies(tmp_path / "policies", everywhere, swift(per_cycle=3))
    mallory, loop = tenant(cluster), Loop(actor, policies)
    try:
        _moved_while_it_acts(cluster, mallory, loop)
    finally:
        release(cluster)
    by_namespace = Counter(move["pod"]["namespace"] for move in loop.evicted())
    assert {by_namespace[name] for name in GOOD} == {3}, "three of six go to the other zone"
    for name in GOOD:
        there = cluster.placement(namespace=name)
        assert there["n2"] + there["n4"] == 3


def _moved_while_it_acts(cluster: Cluster, mallory: Api, loop: Loop) -> None:
    for number in range(CYCLES):
        if number < len(ACTS):
            ACTS[number](mallory)
        report = loop.once(code=None)
        assert report["guards"] == [], number
        for row in (*report["refused"], *report["moves"]):
            if row["pod"]["namespace"] in GOOD:
                assert row.get("code", "") not in NOT_FOR_OTHERS, (number, row)
        cluster.until(lambda: not _missing(cluster), "the pods of others are Ready again")


def _missing(cluster: Cluster) -> list[str]:
    made = (
        manifest for name in GOOD for manifest in cluster.api.items("apps/v1", "Deployment", name)
    )
    return [
        manifest["metadata"]["name"]
        for manifest in made
        if manifest["status"].get("readyReplicas") != 6
    ]
