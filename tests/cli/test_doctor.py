"""`rescheduler doctor`, against an API server and a Prometheus: it goes on where a part fails."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime.inspecting.expected_rights import expected_rights
from tests.cli.recorded import call
from tests.deploy.manifests import ACTING, AUDITING
from tests.deploy.rights import granted
from tests.runtime.skewed import HOT, SPREAD, spread
from tests.sources.connected import NODES, PODS, kubeconfig
from tests.sources.metrics import Stub
from tests.sources.objects import Api, named, node, pod, refusal, reply
from tests.sources.server import Reply, Request, serving

OTHERS = {"create subjectaccessreviews"}
"""Who may not ask about others is told of itself."""


@dataclass
class Reviewed:
    """An API server that answers about rights too. denied: `verb resource`, of anybody."""

    api: Api
    denied: set[str] = field(default_factory=lambda: set(OTHERS))
    rules: list[dict[str, Any]] = field(default_factory=list)
    user: str = "system:serviceaccount:rescheduler:rescheduler-audit"
    down: bool = False
    ahead: timedelta = timedelta()

    def __call__(self, request: Request) -> Reply:
        if request.method == "GET":
            answer = self.api(request)
            answer.headers["Date"] = format_datetime(datetime.now(UTC) + self.ahead, usegmt=True)
            return answer
        if self.down:
            return refusal(500, "the authorizer is down")
        if request.path.endswith("selfsubjectreviews"):
            return reply({"status": {"userInfo": {"username": self.user}}}, 201)
        if request.path.endswith("rulesreviews"):
            return reply({"status": {"resourceRules": self.rules}}, 201)
        return reply({"status": {"allowed": self._allows(request)}}, 201)

    def _allows(self, request: Request) -> bool:
        attributes = json.loads(request.body)["spec"]["resourceAttributes"]
        return f"{attributes['verb']} {attributes['resource']}" not in self.denied


@dataclass
class Examined:
    """A cluster to examine, with its kubeconfig and policies."""

    server: Reviewed
    folder: Path
    url: str

    def run(self, policies: str, *arguments: str) -> Result:
        (self.folder / "policy.yaml").write_text(policies)
        config = kubeconfig(self.folder, self.url)
        own = ("--kubeconfig", str(config), "-p", str(self.folder / "policy.yaml"))
        result = call("doctor", *own, *arguments)
        assert "Traceback" not in result.output
        return result

    def read(self, policies: str, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        result = self.run(policies, "-o", "json", *arguments)
        assert result.exit_code == code, result.output
        answer: list[dict[str, Any]] = json.loads(result.stdout)["diagnoses"]
        return answer


@pytest.fixture
def examined(tmp_path: Path) -> Iterator[Examined]:
    api = Api(
        {
            PODS: [pod(f"web-{n}", "n1") for n in range(3)],
            NODES: [node("n1"), node("n2")],
            "/api/v1/namespaces": [named("kube-system"), named("team")],
        }
    )
    server = Reviewed(api)
    with serving(server) as served:
        yield Examined(server, tmp_path, served.url)


def of(rows: list[dict[str, Any]], area: str) -> list[tuple[str, str]]:
    return [(row["severity"], row["message"]) for row in rows if row["area"] == area]


def test_a_cluster_in_order_has_no_error(examined: Examined) -> None:
    policies = SPREAD.replace("namespaces: [default]", "all: true")
    rows = examined.read(policies)
    assert [row["area"] for row in rows if row["severity"] == "error"] == []
    ((severity, said),) = of(rows, "Rights")
    assert severity == "ok"
    assert said.startswith("system:serviceaccount:rescheduler:rescheduler-audit has the ")
    assert of(rows, "API server")[0][0] == of(rows, "Clock")[0][0] == "ok"
    assert of(rows, "Prometheus")[0][0] == "note", "no policy needs it"


def test_a_policy_that_can_never_act_is_a_warning(examined: Examined) -> None:
    rows = examined.read(SPREAD)
    ((severity, said),) = of(rows, "Policies")
    assert severity == "warning"
    assert said.startswith("Spread zones has rules without effect here: ")
    assert any("No policy selects a node of" in row["message"] for row in rows)


@pytest.mark.parametrize("mode", ["Audit", "Enforce"])
def test_what_deploy_grants_is_what_is_expected(mode: Any) -> None:
    folder = "enforce-cronjob" if mode == "Enforce" else "audit-cronjob"
    account = ACTING if mode == "Enforce" else AUDITING
    expected = {
        (right.group, right.resource, right.verb, right.namespace, right.name)
        for right in expected_rights(mode, policy_set([spread()]))
        if not right.optional or (mode == "Enforce" and right.name != TABLE)
    }
    assert expected == {tuple(right) for right in granted(folder, account)}


def test_a_right_that_is_missing_is_named(examined: Examined) -> None:
    examined.server.denied |= {"create pods", "update configmaps"}
    rows = examined.read(SPREAD, "--mode", "Enforce", code=1)
    (error,) = [said for severity, said in of(rows, "Rights") if severity == "error"]
    assert "lacks for mode Enforce: create pods/eviction, update configmaps" in error
    examined.server.denied = {"list podgroups", *OTHERS}
    examined.server.api.served = {}
    rows = examined.read(SPREAD)
    assert "error" not in dict(of(rows, "Rights")), "nobody needs what is not served"


def test_a_right_that_is_spare_is_named(examined: Examined) -> None:
    examined.server.rules = [{"verbs": ["delete"], "apiGroups": [""], "resources": ["pods"]}]
    rows = examined.read(SPREAD)
    spare = [said for severity, said in of(rows, "Rights") if severity == "warning"]
    assert "may do what mode Audit does not need: delete pods" in spare[0]
    examined.server.rules = []
    examined.server.user = "alice"
    rows = examined.read(SPREAD)
    assert any("These are your own rights" in said for _, said in of(rows, "Rights"))


def test_where_nobody_says_what_the_rights_are_the_rest_goes_on(examined: Examined) -> None:
    examined.server.down = True
    rows = examined.read(SPREAD)
    assert of(rows, "Rights")[0][1].startswith("The rights are not known: ")
    assert of(rows, "Node pools")


def test_a_cluster_that_cannot_be_read_is_an_error_beside_the_rights(examined: Examined) -> None:
    examined.server.api.fail = lambda request: (
        refusal(403, "pods is forbidden") if request.path == PODS else None
    )
    rows = examined.read(SPREAD, code=1)
    assert of(rows, "API server")[0][0] == "error"
    assert of(rows, "Rights")
    assert of(rows, "Node pools") == []


def test_prometheus_is_found_asked_and_told(examined: Examined) -> None:
    rows = examined.read(HOT, code=1)
    assert "No Service of Prometheus" in of(rows, "Prometheus")[0][1]
    port = {"name": "http-web", "port": 9090}
    service = named("prometheus-k8s", "monitoring", spec={"ports": [{**port, "name": "web"}]})
    examined.server.api.lists["/api/v1/services"] = [service]
    said = of(examined.read(HOT, code=1), "Prometheus")[0][1]
    assert "No metric source of this cluster was found: http://prometheus-k8s.monitoring" in said
    url = "http://prometheus-k8s.monitoring.svc:9090"
    table = examined.run(HOT, "--prometheus-url", url)
    assert (table.exit_code, "port-forward" in table.stdout) == (1, True)
    with serving(Stub()) as prometheus:
        rows = examined.read(HOT, "--prometheus-url", prometheus.url, code=1)
    assert of(rows, "Prometheus") == [("ok", f"{prometheus.url} answers.")]
    assert "Prometheus has no series of node-exporter. Needed for CPU (node.cpu)" in (
        " ".join(said for _, said in of(rows, "Exporters"))
    )


def test_it_needs_policies_that_can_be_used(examined: Examined) -> None:
    assert examined.run(SPREAD.replace("maxSkew", "maxSkw")).exit_code == 2


def test_a_clock_that_is_wrong_is_an_error(examined: Examined) -> None:
    examined.server.ahead = timedelta(minutes=2)
    rows = examined.read(SPREAD, code=1)
    assert "behind the API server's; 30 s are allowed" in of(rows, "Clock")[0][1]


def test_the_account_of_a_run_is_asked_for_where_that_is_allowed(examined: Examined) -> None:
    examined.server.denied = {"* *", "delete pods", "create pods", "patch pods"}
    examined.server.denied |= {"update deployments", "create rolebindings"}
    rows = examined.read(SPREAD, "--mode", "Enforce", code=1)
    said = dict(of(rows, "Rights"))
    account = "system:serviceaccount:rescheduler:rescheduler "
    assert said["error"].startswith(f"{account}lacks for mode Enforce: create pods/eviction")
    assert said["warning"].startswith(
        f"{account}may do what mode Enforce does not need: patch nodes, list secrets"
    )
    examined.server.denied = set()
    rows = examined.read(SPREAD)
    assert "may do everything in this cluster" in " ".join(text for _, text in of(rows, "Rights"))
