"""A kind that cannot be listed is never taken for one of which there are none."""

from itertools import product
from pathlib import Path

import pytest
from msgspec import structs

from rescheduler.kube.controllers import READ_OWNERS
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.numa.policy import Numa
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.sources.kubernetes import pod_reread
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.kubernetes.listed_kinds import (
    CONTROLLERS,
    GANG_OBJECTS,
    LISTS,
    OWNERS,
    POD,
)
from rescheduler.sources.recording import load, save
from tests.sources.connected import NODES, PODS, connected, small
from tests.sources.objects import Api, node, pod, refusal
from tests.sources.server import Reply, Request

DEVICES = {"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"}
RULE, RULES = "DeviceTaintRule", LISTS["device_taint_rules"].path
GANGS = {kind.name for kind in GANG_OBJECTS}
QUEUES = {"ClusterQueue", "LocalQueue"}
RUNNERS = {"JobSet", "LeaderWorkerSet"}
EXTENSIONS = {
    kind.path: kind.name for kind in (*LISTS.values(), *GANG_OBJECTS, *OWNERS) if kind.extension
}
BUILT_IN = [PODS, NODES] + [
    kind.path for kind in (*LISTS.values(), *CONTROLLERS, *OWNERS) if not kind.extension
]
OPTIONAL = {kind.path: kind.name for kind in LISTS.values() if kind.optional}


def test_of_what_is_listed_above_pods_it_is_known_that_it_is_read() -> None:
    assert {kind.name for kind in (*CONTROLLERS, *OWNERS, POD)} == READ_OWNERS


def test_owners_are_read_again_where_they_are_listed() -> None:
    """But for DaemonSets: their pods are never moved."""
    again = {
        kind: f"{api}/{resource}"
        for kind, (api, resource) in {**pod_reread._CONTROLLERS, **pod_reread._OWNERS}.items()
    }
    listed = {kind.name: kind.path for kind in (*CONTROLLERS, *OWNERS, POD)}
    assert again == {kind: path for kind, path in listed.items() if kind != "DaemonSet"}


def refusing(path: str, status: int) -> Api:
    api = Api({PODS: [pod("web-0", "n1")], NODES: [node("n1")]})
    api.fail = lambda request: refusal(status, "no") if request.path == path else None
    return api


def fault_of(api: Api, folder: Path) -> str:
    with connected(api, folder) as (connection, _):
        connection.attempts = 1
        with pytest.raises(ClusterUnavailable) as caught:
            read_cluster(connection)
    return str(caught.value)


def test_extensions_are_what_a_supported_cluster_may_lack() -> None:
    assert set(EXTENSIONS.values()) == DEVICES | GANGS | QUEUES | RUNNERS | {
        "NodeResourceTopology",
        RULE,
    }


def noted(made: Snapshot) -> list[tuple[str, str, int]]:
    """What a plan notes of kinds that were not read, and with which exit code it ends."""
    found = structs.replace(plan(made, policy_set([]), History(), mode="Audit"), policies=())
    return [(n.code, n.message, exit_code(found)) for n in found.notes if n.code[:3] == "DAT"]


@pytest.mark.parametrize("status", [403, 404, 500, 503])
@pytest.mark.parametrize("path", BUILT_IN)
def test_a_built_in_kind_that_cannot_be_listed_is_an_error(
    path: str, status: int, tmp_path: Path
) -> None:
    if status == 403 and path in OPTIONAL:
        with connected(refusing(path, status), tmp_path) as (connection, _):
            made = read_cluster(connection)
        assert made.unread == [OPTIONAL[path]]
        assert noted(made) == [("DAT004", f"not read: {OPTIONAL[path]} (it answered 403: no)", 1)]
        return
    fault = fault_of(refusing(path, status), tmp_path)
    assert f"{path} answered {status}: no" in fault
    if status == 403:
        resource = path.rsplit("/", 1)[1]
        assert f"grant the right to list {resource}" in fault
        assert "cannot be listed" in fault


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize("path", EXTENSIONS)
def test_an_extension_that_fails_alone_costs_what_it_governs_and_no_more(
    path: str, status: int, tmp_path: Path
) -> None:
    """As where the webhook that converts its objects is down."""
    with connected(refusing(path, status), tmp_path) as (connection, _):
        connection.attempts = 1
        made = read_cluster(connection)
    assert [pod.metadata.name for pod in made.pods] == ["web-0"]
    assert made.unread == [EXTENSIONS[path]]
    assert made.served == {EXTENSIONS[path]: f"it answered {status}: no"}
    again = tmp_path / "recording"
    save(made, again)
    assert load(again).unread == made.unread
    shown = f"not read: {EXTENSIONS[path]} (it answered {status}: no)"
    assert noted(made) == noted(load(again)) == [("DAT004", shown, 1)]


@pytest.mark.parametrize(
    ("path", "status"), sorted({*product(EXTENSIONS, (403, 404))} - {(RULES, 403)})
)
def test_an_extension_that_is_served_and_cannot_be_listed_is_an_error(
    path: str, status: int, tmp_path: Path
) -> None:
    fault = fault_of(refusing(path, status), tmp_path)
    assert f"{path} answered {status}: no" in fault


@pytest.mark.parametrize(("path", "unread"), [(RULES, [RULE]), (f"{RULES}/x", [])])
def test_without_the_right_to_read_what_taints_devices_that_is_said(
    path: str, unread: list[str], tmp_path: Path
) -> None:
    with connected(refusing(path, 403), tmp_path) as (connection, _):
        assert read_cluster(connection).unread == unread


def test_rules_that_taint_devices_are_read_in_the_version_of_1_36(tmp_path: Path) -> None:
    api = refusing("", 404)
    api.served["resource.k8s.io/v1"].remove("devicetaintrules")
    api.served["resource.k8s.io/v1beta2"] = ["devicetaintrules"]
    older = RULES.replace("/v1/", "/v1beta2/")
    spec = {"taint": {"key": "k", "effect": "NoExecute"}, "deviceSelector": {"pool": "n1"}}
    api.lists[older] = [{"metadata": {"name": "r"}, "spec": spec}]
    api.fail = lambda request: refusal(404, "no") if request.path == RULES else None
    with connected(api, tmp_path) as (connection, _):
        read = read_cluster(connection)
    assert [rule.spec.taint.effect for rule in read.device_taint_rules] == ["NoExecute"]
    assert read.device_taint_rules[0].selects("any", "n1", "0")
    assert read.unread == []


@pytest.mark.parametrize("status", [403, 404])
def test_an_extension_that_is_not_served_is_not_missed(status: int, tmp_path: Path) -> None:
    api = refusing("", status)
    api.served = {}
    api.fail = lambda request: refusal(status, "no") if request.path in EXTENSIONS else None
    with connected(api, tmp_path) as (connection, served):
        unread = read_cluster(connection).unread
    assert set(unread) == DEVICES
    assert [request.path for request in served.requests].count("/apis") == 1


def test_a_group_that_lacks_the_resource_does_not_serve_it(tmp_path: Path) -> None:
    api = refusing("/apis/resource.k8s.io/v1/resourceslices", 404)
    api.served["resource.k8s.io/v1"].remove("resourceslices")
    with connected(api, tmp_path) as (connection, _):
        assert read_cluster(connection).unread == ["ResourceSlice"]


def of_versions(group: str, versions: list[str], *resources: str) -> Api:
    """An API server that serves these resources of a group in these versions, and in no other."""
    api = small()
    for version in [
        group_version for group_version in api.served if group_version.startswith(f"{group}/")
    ]:
        del api.served[version]
    paths = {
        f"/apis/{group}/{version}/{resource}" for version in versions for resource in resources
    }
    for version in versions:
        api.served[f"{group}/{version}"] = list(resources)
    for path in paths:
        version = path.split("/")[3]
        found = {"metadata": {"name": version, "namespace": "team"}, "spec": {}}
        api.lists[path] = [found]
    api.fail = lambda request: (
        refusal(404, "not found")
        if request.path.startswith(f"/apis/{group}/")
        and request.path.rpartition("/")[2] in resources
        and request.path not in paths
        else None
    )
    return api


def test_a_kind_that_is_served_in_another_version_alone_is_not_absent(tmp_path: Path) -> None:
    """As if Kueue served v1 alone: its jobs must not be taken for ungoverned ones."""
    api = of_versions("kueue.x-k8s.io", ["v1"], "workloads", "clusterqueues", "localqueues")
    with connected(api, tmp_path) as (connection, _):
        made = read_cluster(connection)
    assert made.unread == ["ClusterQueue", "LocalQueue", "Workload.kueue.x-k8s.io"]
    why = "it is served as v1; v1beta2, v1beta1 are read"
    assert made.served == dict.fromkeys(made.unread, why)
    save(made, tmp_path / "snapshot")
    assert load(tmp_path / "snapshot").served == made.served


@pytest.mark.parametrize(
    ("group", "versions", "read"),
    [
        ("kueue.x-k8s.io", ["v1beta1"], "v1beta1"),
        ("kueue.x-k8s.io", ["v1beta1", "v1beta2"], "v1beta2"),
        ("kueue.x-k8s.io", ["v1beta2", "v1"], "v1beta2"),
        ("scheduling.k8s.io", ["v1", "v1alpha2"], "v1alpha2"),
        ("scheduling.k8s.io", ["v1", "v1alpha3"], "v1alpha3"),
        ("scheduling.k8s.io", ["v1", "v1alpha3", "v1beta1"], "v1beta1"),
    ],
)
def test_the_newest_version_that_is_served_and_known_is_read(
    group: str, versions: list[str], read: str, tmp_path: Path
) -> None:
    kueue = group.startswith("kueue")
    resources = ["workloads", "clusterqueues", "localqueues"] if kueue else ["podgroups"]
    with connected(of_versions(group, versions, *resources), tmp_path) as (connection, _):
        made = read_cluster(connection)
    found = [gang_object for gang_object in made.gang_objects if gang_object.group == group]
    assert {gang_object.metadata.name for gang_object in found} == {read}
    assert {gang_object.apiVersion for gang_object in found} == {f"{group}/{read}"}
    assert {queue.metadata.name for queue in made.cluster_queues if kueue} <= {read}
    assert made.served == {}


def test_a_topology_in_a_version_that_is_not_read_is_told_with_both(tmp_path: Path) -> None:
    """As Koordinator and old scheduler-plugins serve it."""
    group = "topology.node.k8s.io"
    with connected(of_versions(group, ["v1alpha1"], "noderesourcetopologies"), tmp_path) as (c, _):
        made = read_cluster(c)
    why = "it is served as v1alpha1; v1alpha2 is read"
    assert made.served == {"NodeResourceTopology": why}
    policy = Numa.model_validate(
        {"kind": "Numa", "name": "n", "match": {"all": True}, "nodes": {"all": True}}
    )
    problem = policy.compile(made)
    assert isinstance(problem, Problem)
    assert problem.code == "NUM004"
    assert f"NodeResourceTopology is not read, as {why}" in problem.message
    noted = plan(made, policy_set([policy]), History(), mode="Audit").notes
    [told] = [noted_problem for noted_problem in noted if noted_problem.code == "DAT002"]
    assert f"NodeResourceTopology ({why})" in told.message


@pytest.mark.parametrize(
    "answer",
    [
        refusal(403, "no"),
        refusal(404, "404 page not found"),
        refusal(503, "no"),
        Reply(b"<html>Log in</html>"),
        Reply(b"{}"),
        Reply(b'{"kind": "Status", "groups": []}'),
    ],
)
def test_without_discovery_nothing_is_taken_for_absent(answer: Reply, tmp_path: Path) -> None:
    api = refusing("", 404)

    def fail(request: Request) -> Reply | None:
        if request.path == "/apis":
            return answer
        return refusal(404, "404 page not found") if request.path in EXTENSIONS else None

    api.fail = fail
    assert "/apis" in fault_of(api, tmp_path)
