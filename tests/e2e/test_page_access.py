"""The service's pages behind TokenReview and SubjectAccessReview of a real API server."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.load_scenarios import zone_outage
from tests.e2e.loop import SPREAD, swift, write_policies
from tests.e2e.program import Program
from tests.e2e.replica import Replica
from tests.e2e.steering import KUSTOMIZE

pytestmark = pytest.mark.e2e

RBAC = {"apiVersion": "rbac.authorization.k8s.io/v1"}
GROUP = "rbac.authorization.k8s.io"
TEAM, OTHERS, SECRET = "default", "bank", "bank-secret-workload"


def account(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": TEAM},
    }


def bound(kind: str, role: str, name: str) -> dict[str, Any]:
    """A binding of a role to the service account of that name."""
    scope = {"namespace": TEAM} if kind == "RoleBinding" else {}
    return {
        **RBAC,
        "kind": kind,
        "metadata": {"name": f"page-{name}", **scope},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": TEAM}],
    }


PEOPLE = (
    *map(account, ("reader", "team", "scraper", "nobody")),
    bound("ClusterRoleBinding", "rescheduler-reports", "reader"),
    bound("ClusterRoleBinding", "rescheduler-metrics", "scraper"),
    bound("RoleBinding", "view", "team"),
)


def token_of(cluster: Cluster, name: str, *audiences: str) -> str:
    spec = {"expirationSeconds": 600} | ({"audiences": list(audiences)} if audiences else {})
    path = f"/api/v1/namespaces/{TEAM}/serviceaccounts/{name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return str(cluster.api.request("POST", path, body)["status"]["token"])


@pytest.fixture
def service(cluster: Cluster, actor: Program, tmp_path: Path) -> Iterator[Replica]:
    """A service that shows its pages by Kubernetes' rights, once it has a report."""
    zone_outage(cluster)
    policies = write_policies(tmp_path / "policies", SPREAD, swift())
    unmeasured = Program(actor.binary, actor.kubeconfig)
    replica = Replica(unmeasured, policies, tmp_path, "served", "--page-access", "Kubernetes")
    yield replica
    replica.process.terminate()
    replica.process.wait(60)
    for manifest in PEOPLE:
        cluster.api.delete(manifest)


def test_only_those_see_a_page_whom_their_rights_let(cluster: Cluster, service: Replica) -> None:
    def status(path: str, shown: str = "", **more: str) -> int:
        headers = {"Authorization": f"Bearer {shown}"} if shown else {}
        answer = service.get(path, **headers, **more)
        return 0 if answer is None else answer.status_code

    cluster.create(*PEOPLE)
    reader, team, scraper, nobody = (
        token_of(cluster, name) for name in ("reader", "team", "scraper", "nobody")
    )
    cluster.until(lambda: status("/livez") == 200, "the service", 60)
    assert status("/", reader) == 503, "it may not ask yet, so nobody is let in"
    assert "apply the component `page-access`" in service.said()

    apply_manifests(cluster.api, [KUSTOMIZE / "page-access" / "roles.yaml"])
    cluster.until(lambda: status("/", reader) == 200, "the rights to ask", 30)
    assert [status(path, reader) for path in ("/history", "/metrics", "/nothing")] == [
        200,
        403,
        404,
    ]
    assert [status(path, scraper) for path in ("/metrics", "/", "/history")] == [200, 403, 403]
    own, foreign = f"/namespaces/{TEAM}", f"/namespaces/{OTHERS}"
    assert [status(path, team) for path in (own, foreign, "/", "/metrics")] == [200, 403, 403, 403]
    assert [status(path, nobody) for path in (own, "/", "/metrics", "/readyz")][:3] == [403] * 3

    # A hostile client.
    elsewhere = token_of(cluster, "reader", "another-service")
    head, _, signature = reader.rpartition(".")
    forged = f"{head}.{signature[::-1]}"
    for shown in ("", "x", forged, elsewhere, f"{reader} {reader}", "a" * 60_000):
        assert status("/", shown) == 401, len(shown)
    assert status("/", "a" * 70_000) in (0, 400, 431)
    for trick in (
        {"Impersonate_User": "system:admin", "Impersonate_Group": "system:masters"},
        {"X_Remote_User": "system:admin", "X_Remote_Group": "system:masters"},
        {"X_Forwarded_Access_Token": reader},
    ):
        assert status("/", nobody, **trick) == 403
        assert status("/", "", **trick) == 401
    slow = [socket.create_connection(("127.0.0.1", int(service.url.rpartition(":")[2])))]
    try:
        for connection in slow:
            connection.sendall(b"GET / HTTP/1.1\r\nAuthorization: Bearer ")
        assert status("/", reader) == 200
    finally:
        for connection in slow:
            connection.close()

    cluster.api.delete(PEOPLE[4])
    cluster.until(lambda: status("/", reader) == 403, "the right that was taken away", 30)
    assert reader not in service.said()
