"""Going back to Audit takes the right to evict away; what the README deletes leaves nothing."""

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import Api, Manifest
from tests.e2e.controlplane.manifests import apply_manifests, load_manifests
from tests.e2e.installation import account_of, may_evict
from tests.e2e.loop import ACTING, AUDITING, NAMESPACE, manifests

pytestmark = pytest.mark.e2e

WIDE = ("ClusterRole", "ClusterRoleBinding")


def ours(api: Api) -> set[tuple[str, str]]:
    """Everything of ours outside of our namespace."""
    return {
        (kind, item["metadata"]["name"])
        for kind in WIDE
        for item in api.items("rbac.authorization.k8s.io/v1", kind)
        if item["metadata"]["name"].startswith("rescheduler")
    }


def apply(cluster: Cluster, overlay: str) -> list[Manifest]:
    return apply_manifests(cluster.api, manifests(overlay), namespace=NAMESPACE)


def test_an_audit_overlay_runs_as_an_account_that_never_could_evict(cluster: Cluster) -> None:
    apply(cluster, "enforce-deployment")
    assert may_evict(cluster.api, ACTING)
    apply(cluster, "audit-deployment")
    assert account_of(cluster.api) == AUDITING
    assert not may_evict(cluster.api, AUDITING)


def test_deleting_what_was_applied_leaves_nothing(cluster: Cluster) -> None:
    apply(cluster, "enforce-deployment")
    assert ours(cluster.api)
    for manifest in reversed(load_manifests(manifests("enforce-deployment"))):
        cluster.api.delete(manifest)
    assert ours(cluster.api) == set()
