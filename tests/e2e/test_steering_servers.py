"""The admission policy on other API servers: v1beta1, one that restarts, and a second one."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.actions.steering.steering_format import SEEN, encode_entries
from rescheduler.actions.steering.steering_table import TABLE
from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.manifests import apply_manifests
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.loop import NAMESPACE
from tests.e2e.steering_entries import KUSTOMIZE, entry, fill, made, pod

pytestmark = pytest.mark.e2e

Made = Callable[..., Cluster]
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{TABLE}"


@pytest.fixture
def planes() -> Iterator[Made]:
    """Starts a control plane of its own, with these options of kube-apiserver."""
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-servers-"))
    started: list[ControlPlane] = []

    def start(*options: str) -> Cluster:
        started.append(ControlPlane(folder, audited=False, server_options=options))
        made_cluster = Cluster(started[-1])
        made_cluster.namespace(NAMESPACE)
        return made_cluster

    yield start
    for plane in started:
        plane.stop()
    shutil.rmtree(folder, ignore_errors=True)


def shows(api: Api) -> bool:
    """Whether this API server shows that it reads the table as it is stored, as acting asks it."""
    table = api.request("GET", PATH)
    answer = api.request("PUT", f"{PATH}?dryRun=All", table)
    notes = answer["metadata"].get("annotations") or {}
    return bool(notes.get(SEEN) == table["metadata"]["resourceVersion"])


def affinity(api: Api) -> Any:
    """What this API server would give a pod of the table's controller."""
    path = "/api/v1/namespaces/default/pods?dryRun=All"
    return api.request("POST", path, pod())["spec"].get("affinity")


def test_it_is_the_same_where_v1beta1_is_served(planes: Made, tmp_path: Path) -> None:
    group = "admissionregistration.k8s.io/v1beta1"
    cluster = planes(f"--runtime-config={group}=true")
    patched = yaml.safe_load(
        (KUSTOMIZE / "steering-policy-v1beta1" / "kustomization.yaml").read_text()
    )
    assert {yaml.safe_load(patch["patch"])[0]["value"] for patch in patched["patches"]} == {group}
    text = (KUSTOMIZE / "steering-policy" / "policy.yaml").read_text()
    documents = [yaml_object for yaml_object in yaml.safe_load_all(text) if yaml_object]
    kinds = {patch["target"]["kind"] for patch in patched["patches"]}
    for document in documents:
        if document["kind"] in kinds:
            document["apiVersion"] = group
    assert kinds == {document["kind"] for document in documents if document["apiVersion"] == group}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump_all(documents))
    apply_manifests(cluster.api, [KUSTOMIZE / "steering-table", tmp_path])
    fill(cluster, encode_entries([entry()]))
    cluster.until(lambda: made(cluster, pod()) is not None, "the policy", 60)
    cluster.until(lambda: shows(cluster.api), "the table to be read", 60)


def test_an_api_server_that_restarts_steers_on_whatever_is_in_the_table(planes: Made) -> None:
    cluster = planes()
    apply_manifests(cluster.api, [KUSTOMIZE / "steering-table", KUSTOMIZE / "steering-policy"])
    fill(cluster, encode_entries([entry()]))
    cluster.until(lambda: made(cluster, pod()) is not None, "the policy", 60)

    cluster.control_plane.restart_api_server()
    cluster.until(lambda: made(cluster, pod()) is not None, "the policy again", 60)
    cluster.until(lambda: shows(cluster.api), "the table to be read", 60)

    # Another controller's entry is garbage, then this one's too: pods are made all the same.
    fill(cluster, {**encode_entries([entry()]), "another": "Require|||;;|\n"})
    cluster.control_plane.restart_api_server()
    cluster.until(lambda: made(cluster, pod()) is not None, "the policy again", 60)
    fill(cluster, {entry().owner: "junk\n|||||"})
    cluster.control_plane.restart_api_server()
    assert made(cluster, pod()) is None
    cluster.until(lambda: shows(cluster.api), "the table to be read", 60)


def test_of_several_api_servers_only_the_one_that_is_asked_answers(planes: Made) -> None:
    """The other one makes the pod without; acting sees that by the replacement (STR005)."""
    cluster = planes()
    apply_manifests(cluster.api, [KUSTOMIZE / "steering-table", KUSTOMIZE / "steering-policy"])
    fill(cluster, encode_entries([entry()]))
    cluster.until(lambda: shows(cluster.api), "the table to be read", 60)

    alike = cluster.control_plane.another_api_server()
    cluster.until(lambda: shows(alike), "the second to read the table", 60)
    assert affinity(alike) == affinity(cluster.api) is not None

    apart = cluster.control_plane.another_api_server(
        "--disable-admission-plugins=MutatingAdmissionPolicy"
    )
    assert shows(cluster.api)
    assert not shows(apart)
    assert affinity(apart) is None
