"""Reading a cluster from a server that pages, expires, refuses and lies."""

import gzip
import json
import re
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rescheduler.kube.extensions import ServiceReference
from rescheduler.kube.objects import ContainerStateTerminated, PodSpec
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.policies.limits import Limits
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.cluster import read_cluster, read_pods
from rescheduler.sources.recording import load, save
from tests.sources.connected import NODES, PODS, connected, kubeconfig, small
from tests.sources.objects import Api, named, pod, refusal, reply
from tests.sources.server import Reply, Request


def test_a_cluster_is_read_whole_in_pages_of_one_template(tmp_path: Path) -> None:
    with connected(small(pods=7, page=3), tmp_path) as (connection, served):
        snapshot = read_cluster(connection)
    assert [pod.metadata.name for pod in snapshot.pods] == [f"web-{n}" for n in range(7)]
    assert len({id(pod.spec) for pod in snapshot.pods}) == 1
    assert {pod.node for pod in snapshot.pods} == {"n1"}
    assert snapshot.pods[0].spec.nodeName is None
    assert [volume.name for volume in snapshot.pods[0].spec.volumes or ()] == ["scratch"]
    assert snapshot.cluster.uid == "uid-kube-system"
    assert snapshot.cluster.version == "v1.36.3"
    assert snapshot.taken == datetime(2026, 11, 21, 12, tzinfo=UTC)
    pages = [request for request in served.requests if request.path == PODS]
    assert [page.query["limit"] for page in pages] == ["500"] * 3
    assert all("status.phase!=Succeeded" in page.query["fieldSelector"] for page in pages)
    assert all("resourceVersion" not in request.query for request in served.requests)
    head = pages[0].headers
    assert head["user-agent"].startswith("rescheduler/")
    assert head["authorization"] == "Bearer t0ken"
    assert "gzip" in head["accept-encoding"]


def test_only_annotations_that_are_read_are_kept(tmp_path: Path) -> None:
    with connected(small(), tmp_path) as (connection, _):
        snapshot = read_cluster(connection)
    kept = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    assert all(pod.metadata.annotations == kept for pod in snapshot.pods)


def test_annotations_of_own_marks_and_those_that_ask_to_stay_are_kept(
    tmp_path: Path,
) -> None:
    api = small()
    notes = {"acme.test/rack-7": "tonight", "acme.test/do-not-evict": "true", "else": "x"}
    for made in (*api.lists[PODS], *api.lists[NODES]):
        made["metadata"]["annotations"] = notes
    limits = Limits.model_validate(
        {
            "avoidNodes": [{"annotation": "acme.test/rack-7=tonight"}, {"label": "else"}],
            "optOuts": [{"annotation": "acme.test/rack-7"}, {"label": "else"}],
        }
    )
    with connected(api, tmp_path) as (connection, _):
        plain, read = read_cluster(connection), read_cluster(connection, limits.own_annotations)
    asks = {"acme.test/do-not-evict": "true"}
    assert plain.pods[0].metadata.annotations == plain.nodes[0].metadata.annotations == asks
    kept = {"acme.test/rack-7": "tonight", **asks}
    assert read.pods[0].metadata.annotations == kept
    own = limits.avoided_marks.first_mark(read.nodes[0])
    assert own == "annotation acme.test/rack-7=tonight"


def test_a_compressed_answer_is_inflated(tmp_path: Path) -> None:
    api = small()
    body = gzip.compress(json.dumps({"metadata": {}, "items": api.lists[PODS]}).encode())
    api.fail = lambda r: (
        Reply(body, headers={"Content-Encoding": "gzip"}) if r.path == PODS else None
    )
    with connected(api, tmp_path) as (connection, _):
        assert len(read_cluster(connection).pods) == 3


def test_an_expired_list_is_begun_again_and_not_doubled(tmp_path: Path) -> None:
    api = small(pods=5, page=2)
    expired: list[Request] = []

    def fail(request: Request) -> Reply | None:
        if request.query.get("continue") == "4" and not expired:
            expired.append(request)
            return refusal(410, "the continue token expired")
        return None

    api.fail = fail
    with connected(api, tmp_path) as (connection, _):
        assert len(read_cluster(connection).pods) == 5
    assert expired


def test_a_list_that_always_expires_is_an_error(tmp_path: Path) -> None:
    api = small(pods=5, page=2)
    api.fail = lambda r: refusal(410, "expired") if r.query.get("continue") else None
    with connected(api, tmp_path) as (connection, _), pytest.raises(ClusterUnavailable) as caught:
        read_cluster(connection)
    assert "/api/v1/pods expired 3 times" in str(caught.value)


@pytest.mark.parametrize("status", [429, 503])
def test_asked_to_wait_it_waits_and_goes_on(status: int, tmp_path: Path) -> None:
    api = small()
    asked: list[Request] = []

    def fail(request: Request) -> Reply | None:
        if request.path == PODS and len(asked) < 2:
            asked.append(request)
            return refusal(status, "slow down", **{"Retry-After": "0"})
        return None

    api.fail = fail
    with connected(api, tmp_path) as (connection, _):
        assert len(read_cluster(connection).pods) == 3
    assert len(asked) == 2


def test_asked_to_wait_for_ever_it_gives_up(tmp_path: Path) -> None:
    api = small()
    api.fail = lambda r: refusal(429, "slow down", **{"Retry-After": "0"})
    with connected(api, tmp_path) as (connection, served):
        with pytest.raises(ClusterUnavailable, match="answered 429: slow down"):
            read_cluster(connection)
        assert len(served.requests) == connection.attempts


def test_a_bad_object_is_set_aside_with_its_name_and_node(tmp_path: Path) -> None:
    api = small()
    bad = pod("bad", "n1", priority="very")
    unparsable = pod("odd", "n2", containers=[{"resources": {"requests": {"cpu": "lots"}}}])
    whole = pod("whole", "n2", resources={"limits": {"cpu": "many"}})
    api.lists[PODS][1:1] = [bad, unparsable, whole]
    api.lists[NODES].append(named("broken", status={"conditions": 7}))
    with connected(api, tmp_path) as (connection, _):
        snapshot = read_cluster(connection)
    found = {
        (undecodable.kind, undecodable.name, undecodable.node)
        for undecodable in snapshot.undecodable
    }
    pods = {("Pod", "bad", "n1"), ("Pod", "odd", "n2"), ("Pod", "whole", "n2")}
    assert found == pods | {("Node", "broken", "")}
    assert len(snapshot.pods) == 3
    assert len(snapshot.nodes) == 1
    assert any("'lots'" in undecodable.message for undecodable in snapshot.undecodable)


def test_failed_pods_are_beside_the_others_and_hold_nothing(tmp_path: Path) -> None:
    api = small()
    for name, phase in (("broken", "Failed"), ("done", "Succeeded")):
        made = pod(name, "n1")
        made["status"] |= {"phase": phase, "reason": "Evicted"}
        state = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
        made["status"]["containerStatuses"] = [{"name": "main", "state": state}]
        api.lists[PODS].append(made)
    with connected(api, tmp_path) as (connection, served):
        snapshot = read_cluster(connection)
    assert len(snapshot.pods) == 3
    (broken,) = snapshot.failed or []
    assert (broken.metadata.name, broken.node, broken.status.reason) == ("broken", "n1", "Evicted")
    (status,) = broken.status.containerStatuses or []
    assert status.state is not None
    assert status.state.terminated == ContainerStateTerminated(exitCode=137, reason="OOMKilled")
    assert broken.spec == PodSpec()
    selectors = {
        request.query["fieldSelector"] for request in served.requests if request.path == PODS
    }
    assert selectors == {"status.phase!=Succeeded"}


def test_pods_that_ended_and_old_replica_sets_are_left_out(tmp_path: Path) -> None:
    api = small()
    ended = pod("done", "n1")
    ended["status"]["phase"] = "Succeeded"
    api.lists[PODS].append(ended)
    api.lists["/apis/apps/v1/replicasets"] = [
        named("old", "team", spec={"replicas": 0}),
        named("scaled", "team", spec={"replicas": 2}),
        {**named("web", "team", spec={"replicas": 0}), "metadata": {"name": "web", "uid": "rs"}},
    ]
    with connected(api, tmp_path) as (connection, _):
        snapshot = read_cluster(connection)
    assert len(snapshot.pods) == 3
    assert [(controller.kind, controller.metadata.name) for controller in snapshot.controllers] == [
        ("ReplicaSet", "scaled"),
        ("ReplicaSet", "web"),
    ]


def test_a_job_that_is_suspended_is_there_and_one_that_has_ended_is_not(tmp_path: Path) -> None:
    """Kueue suspends the Job of a gang that we moved, until it has its quota again."""
    api = small()
    api.lists["/apis/batch/v1/jobs"] = [
        named("waits", "team", spec={"suspend": True, "parallelism": 3, "template": {"spec": {}}}),
        named("done", "team", status={"conditions": [{"type": "Complete", "status": "True"}]}),
        named(
            "failed",
            "team",
            spec={"suspend": True},
            status={"conditions": [{"type": "Failed", "status": "True"}]},
        ),
        named("none", "team", spec={"parallelism": 0}),
    ]
    with connected(api, tmp_path) as (connection, _):
        (waits,) = read_cluster(connection).controllers
    assert (waits.metadata.name, waits.wanted, waits.resumed) == ("waits", 0, 3)
    assert waits.spec.template is None, "there may be thousands, and no pod is made from it"


def test_what_is_above_controllers_is_read_with_its_annotations(tmp_path: Path) -> None:
    notes = {"rescheduler.io/opt-out": "true", "else": "x"}
    api = small()
    for path in (
        "/apis/batch/v1/cronjobs",
        "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
        "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    ):
        made = named("top", "team", spec={"odd": []})
        made["metadata"]["annotations"] = notes
        api.lists[path] = [made]
    with connected(api, tmp_path) as (connection, _):
        read = read_cluster(connection)
    assert [owner.kind for owner in read.owners] == ["CronJob", "JobSet", "LeaderWorkerSet"]
    kept = [owner.metadata.annotations for owner in read.owners]
    assert kept == [{"rescheduler.io/opt-out": "true"}] * 3
    file = tmp_path / "here.snapshot"
    save(read, file)
    assert load(file).owners == read.owners


def test_what_the_api_server_calls_is_read(tmp_path: Path) -> None:
    config = {"service": {"namespace": "policy", "name": "guard"}, "caBundle": "c2VjcmV0"}
    hooks = [named("guard", webhooks=[{"name": "a", "clientConfig": config}])]
    group = "/apis/admissionregistration.k8s.io/v1"
    api = small()
    api.lists[f"{group}/validatingwebhookconfigurations"] = hooks
    api.lists[f"{group}/mutatingwebhookconfigurations"] = hooks
    api.lists["/apis/apiregistration.k8s.io/v1/apiservices"] = [
        named("v1.metrics", spec={"service": {"namespace": "kube-system", "name": "metrics"}})
    ]
    with connected(api, tmp_path) as (connection, _):
        read = read_cluster(connection)
    assert read.validating_webhooks == read.mutating_webhooks
    ((webhook,),) = [
        validating_webhook.webhooks or [] for validating_webhook in read.validating_webhooks
    ]
    assert webhook.clientConfig.service == ServiceReference(namespace="policy", name="guard")
    assert read.api_services[0].spec.service is not None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refusal(401, "Unauthorized"), "answered 401: Unauthorized"),
        (Reply(b"<html>Log in</html>"), "is not a list of Kubernetes objects"),
        (Reply(b"[]"), "is not a list of Kubernetes objects"),
        (Reply(b'{"metadata": {}, "items": [', 200), "is not a list of Kubernetes objects"),
        (Reply(b"not gzip", headers={"Content-Encoding": "gzip"}), "cannot be read"),
        (Reply(b"x" * 100, cut=True), "cannot be read"),
        (Reply(b"", 302, {"Location": "/login"}), "answered 302"),
        (refusal(500, "etcd is down"), "answered 500: etcd is down"),
    ],
)
def test_every_other_answer_is_one_clear_error(answer: Reply, words: str, tmp_path: Path) -> None:
    api = small()
    api.fail = lambda _request: answer
    with connected(api, tmp_path) as (connection, _):
        connection.attempts = 2
        with pytest.raises(ClusterUnavailable, match=re.escape(words)) as caught:
            read_cluster(connection)
    assert "Maybe" in str(caught.value)


def test_a_server_that_says_nothing_is_left_in_time(tmp_path: Path) -> None:
    end = threading.Event()
    api = small()
    api.fail = lambda _request: Reply(hang=end)
    with connected(api, tmp_path) as (connection, _):
        connection.read_timeout = 0.2
        with pytest.raises(ClusterUnavailable, match="cannot be read"):
            read_cluster(connection)
        end.set()


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnavailable, match="the cluster is down"):
        connect(kubeconfig(tmp_path, "http://127.0.0.1:9"), None).get("/version")


def test_a_cluster_without_an_identity_is_refused(tmp_path: Path) -> None:
    api = small()
    api.lists["/api/v1/namespaces"] = [named("default")]
    problem = pytest.raises(ClusterUnavailable, match="no namespace kube-system")
    with connected(api, tmp_path) as (connection, _), problem:
        read_cluster(connection)


def test_the_clocks_are_compared(tmp_path: Path) -> None:
    with connected(small(), tmp_path) as (connection, _):
        skew = read_cluster(connection).clock_skew
    ahead = (datetime.now(UTC) - datetime(2026, 11, 21, 12, tzinfo=UTC)).total_seconds()
    assert skew == pytest.approx(ahead, abs=5)


def test_without_a_date_the_given_clock_stands_in(tmp_path: Path) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    api = small()
    body = json.dumps({"metadata": {}, "items": []}).encode()
    api.fail = lambda r: Reply(body) if r.path == PODS else None
    with connected(api, tmp_path) as (connection, _):
        snapshot = read_cluster(connection, now=lambda: now)
    assert snapshot.taken == now
    assert snapshot.clock_skew is None


def test_pods_of_a_namespace_are_read_again(tmp_path: Path) -> None:
    api = Api({"/api/v1/namespaces/team/pods": [pod("web-0", "n2")]})
    with connected(api, tmp_path) as (connection, _):
        assert [(p.metadata.name, p.node) for p in read_pods(connection, "team")] == [
            ("web-0", "n2")
        ]


def test_a_pod_that_cannot_be_decoded_is_not_taken_for_gone(tmp_path: Path) -> None:
    api = Api({"/api/v1/namespaces/team/pods": [pod("web-0", "n2", priority=[])]})
    problem = pytest.raises(ClusterUnavailable, match="team/web-0 cannot be decoded")
    with connected(api, tmp_path) as (connection, _), problem:
        read_pods(connection, "team")


def test_get_raises_for_what_is_not_there(tmp_path: Path) -> None:
    api = small()
    api.fail = lambda _request: refusal(404, "not found")
    with connected(api, tmp_path) as (connection, _):
        with pytest.raises(ClusterUnavailable, match="answered 404: not found"):
            connection.get("/api/v1/pods/none")
        api.fail = lambda _request: reply({"ok": True})
        assert json.loads(connection.get("/readyz")) == {"ok": True}


def test_pod_groups_are_read_where_they_are_served(tmp_path: Path) -> None:
    api = small()
    ours = {"metadata": {"name": "ring", "namespace": "team"}, "spec": {"minMember": 3}}
    api.lists["/apis/scheduling.x-k8s.io/v1alpha1/podgroups"] = [ours]
    owned = {"metadata": {"name": "w", "namespace": "team"}, "spec": {"podSets": [{"count": 2}]}}
    api.lists["/apis/kueue.x-k8s.io/v1beta2/workloads"] = [owned]
    del api.served["scheduling.run.ai/v2alpha2"]
    api.served["scheduling.volcano.sh/v1beta1"].clear()
    del api.served["scheduling.k8s.io/v1beta1"]
    groups = ("podgroups", "workloads")
    api.fail = lambda r: (
        refusal(404, "not found") if r.path.endswith(groups) and r.path not in api.lists else None
    )
    with connected(api, tmp_path) as (connection, _):
        made = read_cluster(connection)
    assert made.unread == []
    assert [(gang_object.apiVersion, gang_object.minimum) for gang_object in made.gang_objects] == [
        ("scheduling.x-k8s.io/v1alpha1", 3),
        ("kueue.x-k8s.io/v1beta2", 2),
    ]
    save(made, tmp_path / "snapshot")
    assert load(tmp_path / "snapshot").gang_objects == made.gang_objects
