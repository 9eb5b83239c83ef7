"""What the program asks of the API server is what deploy/ lets it ask, and no less is asked."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.gang_kinds import GANG_KINDS, RUNNERS, served
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment, job, stateful_set
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.audit import Records
from tests.e2e.controlplane.manifests import apply_manifests, load_manifests
from tests.e2e.loop import (
    ACTING,
    AUDITING,
    CONFORMING,
    NAMESPACE,
    Loop,
    install,
    manifests,
    write_policies,
)
from tests.e2e.program import ROOT, Program
from tests.e2e.steering import KUSTOMIZE, install_policy, steered

pytestmark = pytest.mark.e2e

WEBHOOK = "rescheduler-webhook"
COMPONENTS = ("remembering", "scheduler-reading", "steering-table")
TOPOLOGIES = ROOT / "tests" / "e2e" / "builders" / "topology_crd.yaml"

RULES = f"{CONFORMING}  stableFor: 1s\n"


class Right(NamedTuple):
    """To do `verb` to a resource of an API group, or to one path; name: to that object only."""

    account: str
    group: str
    resource: str
    verb: str
    name: str = ""


def objects() -> list[Manifest]:
    folders = [KUSTOMIZE / name for name in COMPONENTS]
    access = KUSTOMIZE / "steering-webhook" / "access.yaml"
    return load_manifests([*manifests("enforce-cronjob"), *folders, access])


def granted(made: Iterable[Manifest]) -> Iterator[Right]:
    """Every single right that these objects give an account."""
    made = list(made)
    roles = {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in made}
    for binding in made:
        if not binding["kind"].endswith("Binding"):
            continue
        role = roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]
        for account in (subject["name"] for subject in binding["subjects"]):
            for rule in role["rules"]:
                for verb in rule["verbs"]:
                    for path in rule.get("nonResourceURLs", []):
                        yield Right(account, "", path, verb)
                    for group in rule.get("apiGroups", []):
                        for resource in rule["resources"]:
                            for name in rule.get("resourceNames", [""]):
                                yield Right(account, group, resource, verb, name)


def asked(records: Records) -> Iterator[Right]:
    """Every right that a request needed, by the account that sent it."""
    prefix = f"system:serviceaccount:{NAMESPACE}:"
    for record in records.by(f"{prefix}*"):
        account, of = record.by.removeprefix(prefix), record.objectRef
        if of.resource:
            yield Right(account, of.apiGroup, record.resource, record.verb, of.name)
    # kube-scheduler has no audit log of its own, but asks the API server whether it may answer.
    for record in records.on("subjectaccessreviews"):
        spec = (record.requestObject or {}).get("spec") or {}
        attributes = spec.get("nonResourceAttributes")
        if attributes and spec.get("user", "").startswith(prefix):
            account = spec["user"].removeprefix(prefix)
            yield Right(account, "", attributes["path"], attributes["verb"])


def controller(name: str) -> Manifest:
    """A ReplicationController of two pods."""
    made: dict[str, Any] = deployment(name, 2, node_selector={"disk": "ssd"})
    spec = {**made["spec"], "selector": made["spec"]["selector"]["matchLabels"]}
    return {**made, "apiVersion": "v1", "kind": "ReplicationController", "spec": spec}


def run_by(cluster: Cluster, version: str, kind: str, below: Manifest) -> Manifest:
    """The controller, below an object of this kind that makes nothing itself."""
    name, spec = below["metadata"]["name"], {}
    if kind == "CronJob":
        template = {"spec": below["spec"]}
        spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": template}
    above = {"apiVersion": version, "kind": kind}
    stored = cluster.api.create(
        {**above, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
    )
    owner = {**above, "name": name, "uid": stored["metadata"]["uid"], "controller": True}
    below["metadata"]["ownerReferences"] = [owner]
    return below


def every_owner(cluster: Cluster) -> None:
    """A workload of each kind that is moved, each with one pod where none may be any more."""
    cluster.create(*nodes(6, cpu=16, memory="64Gi", zones=["a", "b"], labels={"disk": "ssd"}))
    ssd = {"disk": "ssd"}
    made = [
        deployment("web", 2, node_selector=ssd),
        stateful_set("db", 2, node_selector=ssd),
        controller("old"),
        job("batch", 2, node_selector=ssd),
        run_by(cluster, "batch/v1", "CronJob", job("nightly", 2, node_selector=ssd)),
        run_by(cluster, "jobset.x-k8s.io/v1alpha2", "JobSet", job("train", 2, node_selector=ssd)),
        run_by(
            cluster,
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            stateful_set("llm", 2, node_selector=ssd),
        ),
    ]
    cluster.arrange([(manifest, ["n1", "n2"]) for manifest in made], deadline=120)
    first = cluster.api.read("v1", "Node", "n1")
    cluster.api.patch(first, {"metadata": {"labels": {"disk": "hdd"}}})


@pytest.fixture
def kinds(cluster: Cluster) -> Iterator[None]:
    """The kinds of others that are read where there are such."""
    topologies = yaml.safe_load(TOPOLOGIES.read_text(encoding="utf-8"))
    with served(cluster, [*GANG_KINDS, *RUNNERS, topologies]):
        yield


@pytest.mark.usefixtures("kinds")
def test_each_right_is_used_and_none_is_missing(
    binary: Path, cluster: Cluster, tmp_path: Path
) -> None:
    plane = cluster.control_plane
    actor = Program(binary, install(cluster, "enforce-cronjob", tmp_path, first=True))
    auditor = Program(binary, plane.kubeconfig_for(NAMESPACE, AUDITING))
    access = KUSTOMIZE / "steering-webhook" / "access.yaml"
    folders = [KUSTOMIZE / name for name in COMPONENTS]
    apply_manifests(cluster.api, [*folders, access], namespace=NAMESPACE)
    install_policy(cluster)
    scheduler = (
        *("--scheduler-url", plane.scheduler_url),
        "--scheduler-insecure-skip-tls-verify",  # its certificate is created again at each start
    )
    policies = write_policies(
        tmp_path / "policies", RULES, f"{steered(batch=8)}  jobs: Allow\n  gangs: Whole\n"
    )
    mark = plane.audit.mark()

    # The first run makes the Lease; what comes then need not begin as slowly as one.
    first = Loop(actor, policies).once(code=1)
    assert first["verdict"]["code"] == "GRD011", "the cluster has no node yet"
    install(cluster, "enforce-cronjob", tmp_path)
    every_owner(cluster)
    seen = Loop(auditor, policies, scheduler).once(mode="Audit")
    assert seen["policies"][0]["cost"]["before"] > 0
    loop = Loop(actor, policies, scheduler)
    cluster.until(lambda: len(loop_once(loop)) == 7, "a pod of each kind moved", 600)
    cluster.settled()
    webhook(cluster, Program(binary, plane.kubeconfig_for(NAMESPACE, WEBHOOK)), tmp_path)

    records = plane.audit.since(mark)
    ours = records.by(f"system:serviceaccount:{NAMESPACE}:*")
    refused = {(our.by, our.verb, our.requestURI) for our in ours if our.code in (401, 403)}
    assert not refused
    used = set(asked(records))
    bare = {right._replace(name="") for right in used}
    rights = set(granted(objects()))
    assert {right.account for right in rights} == {ACTING, AUDITING, WEBHOOK}
    unused = {right for right in rights if right not in (used if right.name else bare)}
    assert not unused, sorted(unused)


def loop_once(loop: Loop) -> list[Any]:
    loop.once(code=None, timeout=400)
    return loop.evicted()


def webhook(cluster: Cluster, program: Program, folder: Path) -> None:
    """Let the webhook run until it watches the table and has registered its own certificate."""
    (registered,) = apply_manifests(
        cluster.api, [KUSTOMIZE / "steering-webhook" / "configuration.yaml"]
    )
    mark, user = cluster.control_plane.audit.mark(), f"system:serviceaccount:{NAMESPACE}:{WEBHOOK}"
    log = folder / "webhook.log"
    process = program.start("webhook", "--listen", "127.0.0.1:0", log=log)

    def known() -> bool:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        reads = cluster.control_plane.audit.since(mark).reads(by=user).on("configmaps")
        if "watch" not in {read.verb for read in reads}:
            return False
        found = cluster.api.read(
            registered["apiVersion"], registered["kind"], registered["metadata"]["name"]
        )
        return all(webhook["clientConfig"].get("caBundle") for webhook in found["webhooks"])

    try:
        cluster.until(known, f"the webhook: {log}", 180)
    finally:
        process.terminate()
        process.wait(20)
        cluster.api.delete(registered)
