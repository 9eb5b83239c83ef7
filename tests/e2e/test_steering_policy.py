"""The MutatingAdmissionPolicy of `deploy/` on a real API server: whom it steers, how it merges."""

import random
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from rescheduler.actions.steering.steering_format import encode_entries
from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.kube.pods.steered_affinity import HOSTNAME, PREFERRED, REQUIRED, steered_affinity
from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import deployment
from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.loop import NAMESPACE
from tests.e2e.steering import told
from tests.e2e.steering_entries import KUSTOMIZE, OWNER, entry, fill, made, pod
from tests.fakes.steering import wanted

pytestmark = pytest.mark.e2e

CREATES = 150


def steered_now(cluster: Cluster, owner: str) -> bool:
    return made(cluster, pod(owner)) is not None


@pytest.fixture
def steering(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster with the policy in effect; nothing of it stays behind."""
    if not any(
        manifest["metadata"]["name"] == NAMESPACE
        for manifest in cluster.api.items("v1", "Namespace")
    ):
        cluster.namespace(NAMESPACE)
    applied = apply_manifests(
        cluster.api, [KUSTOMIZE / "steering-table", KUSTOMIZE / "steering-policy"]
    )
    fill(cluster, encode_entries([entry()]))
    try:
        cluster.until(lambda: made(cluster, pod()) is not None, "the policy", 20)
        yield cluster
    finally:
        for manifest in applied:
            cluster.api.delete(manifest)


def drawn_expression(draw: random.Random) -> dict[str, Any]:
    operator = draw.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt"])
    values = {"In": ["a", "b"], "NotIn": ["a"], "Gt": ["3"]}.get(operator)
    key = draw.choice(["zone", "gpu", HOSTNAME])
    return {"key": key, "operator": operator, **({"values": values} if values else {})}


def drawn_term(draw: random.Random) -> dict[str, Any]:
    term: dict[str, Any] = {}
    if draw.random() < 0.7:
        term["matchExpressions"] = [drawn_expression(draw) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.3:
        field = {"key": "metadata.name", "operator": "In", "values": ["n7"]}
        term["matchFields"] = [field]
    return term


def drawn_affinity(draw: random.Random) -> dict[str, Any] | None:
    """Node affinity of every shape, also beside affinity to pods."""
    if draw.random() < 0.1:
        return None
    affinity: dict[str, Any] = {}
    if draw.random() < 0.3:
        term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
        affinity["podAntiAffinity"] = {REQUIRED: [term]}
    if draw.random() < 0.85:
        node: dict[str, Any] = {}
        if draw.random() < 0.6:
            terms = [drawn_term(draw) for _ in range(draw.randint(1, 4))]
            node[REQUIRED] = {"nodeSelectorTerms": terms}
        if draw.random() < 0.5:
            node[PREFERRED] = [
                {"weight": draw.randint(1, 99), "preference": drawn_term(draw)}
                for _ in range(draw.randint(1, 3))
            ]
        affinity["nodeAffinity"] = node
    return affinity


def test_it_merges_as_we_do(steering: Cluster) -> None:
    """The landing of the steered pod is judged by our merge, so it must be the API server's."""
    strict, soft = "7b4ef0d6-0000-4000-8000-0000000000aa", "7b4ef0d6-0000-4000-8000-0000000000bb"
    hosts = ("n1", "node-2.example", "n3")
    entries = [
        entry(strict, hostnames=hosts),
        entry(soft, hostnames=hosts, strength="Prefer"),
    ]
    fill(steering, encode_entries(entries))
    steering.until(lambda: made(steering, pod(soft)) is not None, "the new table", 10)
    draw = random.Random(7)
    cases = [(drawn_affinity(draw), owner) for _ in range(CREATES) for owner in (strict, soft)]

    def asked(case: tuple[dict[str, Any] | None, str]) -> Any:
        return made(steering, pod(case[1], affinity=case[0]))

    answers = steering.api.parallel(asked, cases)
    for (affinity, owner), found in zip(cases, answers, strict=True):
        assert found == steered_affinity(affinity, hosts, require=owner == strict), affinity


def test_only_the_pods_that_are_meant_are_steered(steering: Cluster) -> None:
    db = "7b4ef0d6-0000-4000-8000-0000000000db"
    entries = [
        entry(),
        entry(hostnames=("n2", "n3"), pod="v"),
        entry(db, template="r1", name="db-1"),
        entry(db, template="r1", name="db-2", hostnames=("n9",), strength="Prefer"),
    ]
    fill(steering, encode_entries(entries))
    steering.until(lambda: "n3" in str(made(steering, pod())), "the new table", 10)

    def hosts(found: Any) -> list[str]:
        terms = found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        return list(terms[0]["matchExpressions"][0]["values"])

    both = wanted(entries[:2], "abc", "")
    assert both is not None
    assert sorted(set(hosts(made(steering, pod())))) == sorted(both.hostnames)
    stateful: dict[str, Any] = {"labels": {"controller-revision-hash": "r1"}, "generateName": ""}
    assert hosts(made(steering, pod(db, name="db-1", **stateful))) == ["n1", "n2"]
    assert PREFERRED in made(steering, pod(db, name="db-2", **stateful))["nodeAffinity"]
    untouched = [
        pod(db, name="db-3", **stateful),
        pod(db, name="db-1"),
        pod("7b4ef0d6-0000-4000-8000-0000000000ff"),
        pod(template="def"),
        pod(template=""),
        pod(ownerReferences=[]),
        pod(ownerReferences=[{**pod()["metadata"]["ownerReferences"][0], "kind": "DaemonSet"}]),
        pod(namespace="kube-system"),
        pod(namespace=NAMESPACE),
        pod(ownerReferences=[{**pod()["metadata"]["ownerReferences"][0], "controller": False}]),
    ]
    assert [made(steering, manifest) for manifest in untouched] == [None] * len(untouched)
    again = made(steering, pod())
    assert made(steering, pod(affinity=again)) == again


DEADLINE = "2026-11-21T12:02:00Z,p,u"
GARBAGE = {
    "words": ("hello", False),
    "no text": ("", False),
    "too few fields": ("Require|abc||n1|web", False),
    "another strength": (f"Force|abc||n1|web|{DEADLINE}", False),
    "no host": (f"Require|abc|||web|{DEADLINE}", False),
    "only commas": (f"Require|abc||,,|web|{DEADLINE}", False),
    "no label value": (f"Require|abc||no such/node!|web|{DEADLINE}", False),
    "too long a label value": (f"Require|abc||n1,{'n' * 64}|web|{DEADLINE}", False),
    "a broken line beside a good one": (f"?\nPrefer|abc||n1|web|{DEADLINE}", True),
    "full": ("|" * (2**20 - 500), False),
    "full of lines": ("\n" * (2**20 - 500), False),
    "many lines": ("\n" * 65_000, False),
    "many fields": ("|" * 65_000, False),
    "full of hosts": (f"Require|abc||{'n1,' * 340_000}n1|web|{DEADLINE}", False),
}
"""Values of an entry, and whether a pod is steered by it."""


def test_no_table_keeps_a_pod_from_being_made(steering: Cluster) -> None:
    """Gone, full, stale or garbage: a pod is made at once, and at worst as it came."""
    for number, (what, (value, steered)) in enumerate(GARBAGE.items()):
        other = f"7b4ef0d6-0000-4000-8001-{number:012}"
        mark = entry(other, hostnames=("seen",))
        fill(
            steering,
            {OWNER: value, **encode_entries([mark])} if len(value) < 9999 else {OWNER: value},
        )
        if len(value) < 9999:
            steering.until(partial(steered_now, steering, other), what, 10)
        else:
            time.sleep(1)
        began = time.monotonic()
        found = made(steering, pod())
        assert time.monotonic() - began < 1.0, what
        assert (found is not None) == steered, what
    steering.api.delete(steering.api.read("v1", "ConfigMap", TABLE, NAMESPACE))
    steering.until(lambda: made(steering, pod()) is None, "the table to be gone", 10)
    fill(steering, {})
    assert made(steering, pod()) is None


OWN_STAMP = "seen-by-AdmissionPolicy"


def test_it_tells_which_table_it_steers_by(steering: Cluster) -> None:
    """The version of the table that the API server has, in a dry run, and never in the table."""
    for number in range(3):
        fill(steering, encode_entries([entry(hostnames=(f"n{number}",))]))
        table = steering.api.read("v1", "ConfigMap", TABLE, NAMESPACE)
        path = f"{steering.api.path(table)}?dryRun=All"

        def seen(body: Manifest = table, path: str = path) -> bool:
            notes = steering.api.request("PUT", path, body)["metadata"].get("annotations", {})
            version = body["metadata"]["resourceVersion"]
            shown = {notes.get(f"rescheduler.io/{key}") for key in ("seen", OWN_STAMP)}
            return shown == {version}

        steering.until(seen, "the new table", 5)
        assert f"n{number}" in str(made(steering, pod()))
    steering.api.request("PUT", steering.api.path(table), table)
    kept = steering.api.read("v1", "ConfigMap", TABLE, NAMESPACE)["metadata"]
    assert not [key for key in kept.get("annotations", {}) if "rescheduler.io/seen" in key]


def test_a_deployment_that_changes_while_its_entry_stands(steering: Cluster) -> None:
    """Pods of the entry's controller and template are steered, as long as it stands; no others."""
    steering.create(*nodes(4, cpu=16))
    steering.create(deployment("web", 2, cpu="100m"), deployment("calm", 2, cpu="100m"))
    steering.settled()
    web = steering.api.read("apps/v1", "Deployment", "web")
    (first,) = (
        manifest
        for manifest in steering.api.items("apps/v1", "ReplicaSet", labelSelector="app=web")
    )
    template = first["metadata"]["labels"]["pod-template-hash"]
    standing = entry(first["metadata"]["uid"], template=template, hostnames=("n1", "n2"))

    def steered_pods() -> int:
        steering.settled()
        found = [pod for pod in steering.pods() if told(pod)]
        assert all(manifest["metadata"]["labels"]["app"] == "web" for manifest in found)
        assert all(manifest["spec"]["nodeName"] in standing.hostnames for manifest in found)
        return len(found)

    fill(steering, encode_entries([standing]))
    steering.until(lambda: made(steering, pod(standing.owner, template)) is not None, "it", 10)
    assert steered_pods() == 0
    steering.api.patch(web, {"spec": {"replicas": 4}})
    steering.until(lambda: len(steering.pods("web")) == 4, "the pods")
    assert steered_pods() == 2
    # A rollout makes another controller; then the entry is taken out.
    change = {"spec": {"template": {"metadata": {"annotations": {"rolled": "out"}}}}}
    steering.api.patch(web, change)
    steering.until(lambda: not _of(steering, standing.owner), "the rollout", 60)
    assert steered_pods() == 0
    fill(steering, {})
    steering.api.delete(web)
    steering.until(lambda: not steering.pods("web"), "the pods to be gone", 60)
    assert steered_pods() == 0


def _of(cluster: Cluster, owner: str) -> list[Manifest]:
    """The pods of that controller."""
    return [p for p in cluster.pods() if p["metadata"]["ownerReferences"][0]["uid"] == owner]
