"""A recording holds the whole snapshot and nothing that must stay secret, or it is refused."""

import contextlib
import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube.extensions import Webhook, WebhookConfiguration
from rescheduler.kube.objects import ContainerImage, ObjectMeta, Pod, PodStatus
from rescheduler.model.cluster.readings import Readings
from rescheduler.model.cluster.snapshot import Snapshot, Undecodable
from rescheduler.model.dependencies import Address, Dependencies
from rescheduler.model.errors import OutputError, SnapshotUnreadable
from rescheduler.model.problem import Problem
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.recording import load, save
from tests import cluster
from tests.bench.synthetic import Fleet
from tests.sources.connected import connected
from tests.sources.objects import CANARY, Api, node, pod
from tests.sources.same import same


def full() -> Snapshot:
    top, replicas = cluster.deployment("web")
    pods = [cluster.pod(f"web-{n}", "n1", owner=replicas, labels={"app": "web"}) for n in range(3)]
    lasting = cluster.reading("node.cpu", [0.5, 0.25], capacity=[8, 8])
    readings = [
        cluster.reading("node.gpu", [0.5, float("nan")], capacity=[8, 8]),
        replace(
            lasting,
            request=replace(lasting.request, span=120.0),
            range_samples=np.array([[0.1, float("nan")], [0.3, 0.2], [0.5, 0.25]]),
        ),
        replace(
            cluster.reading("pod.gpu", [0.5, 1.0, float("nan")], window=60.0),
            notes=("odd",),
            problem=Problem("RDG002", "partly"),
            query="up",
        ),
    ]
    return cluster.snapshot(
        [cluster.node("n1"), cluster.node("n2")],
        pods,
        controllers=[top, replicas],
        budgets=[cluster.budget("web", "web")],
        readings=readings,
        undecodable=[Undecodable("Pod", "team", "bad", "odd", "n1")],
        unread=["ResourceQuota"],
        failed=[Pod(metadata=ObjectMeta(name="broken"), status=PodStatus(phase="Failed"))],
        clock_skew=0.5,
        mutating_webhooks=[WebhookConfiguration(webhooks=[Webhook(name="guard")])],
        dependencies=Dependencies((Address("prom", "ours", "Prometheus"),), "ours", "rescheduler"),
    )


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    save(full(), tmp_path / "a", tool="rescheduler 1")
    loaded = load(tmp_path / "a")
    assert same(full(), loaded)
    save(loaded, tmp_path / "b", tool="rescheduler 1")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_whole_cluster_keeps_what_its_pods_share(tmp_path: Path) -> None:
    snapshot = read_cluster(Fleet(20, 400, templates=10))  # type: ignore[arg-type]
    save(snapshot, tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert same(snapshot, loaded)
    assert len({id(pod.spec) for pod in loaded.pods}) == len({id(p.spec) for p in snapshot.pods})
    assert (tmp_path / "a").stat().st_size < 60_000


def test_what_pods_and_nodes_have_alike_is_kept_once_and_nothing_is_lost(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def status(**given: object) -> PodStatus:
        fields = {
            "phase": "Running", "podIP": "10.244.0.7", "reason": "odd", "nominatedNodeName": "n2",
            "startTime": now,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}],
            "containerStatuses": [{"name": "main", "restartCount": 3}],
            "initContainerStatuses": [{"name": "first", "ready": True}],
            "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}},
        }  # fmt: skip
        return msgspec.convert(fields | given, PodStatus)

    made = status()
    assert all(getattr(made, name) for name in made.__struct_fields__), "each is given"
    alike: dict[str, Any] = {
        "conditions": [{}],
        "containerStatuses": [{}],
        "initContainerStatuses": [],
    }
    pods = [Pod(status=pod_status) for pod_status in (made, status(), status(**alike), PodStatus())]
    nodes = [cluster.node(f"n{n}") for n in range(2)]
    for node_object in nodes:
        node_object.status.images = [ContainerImage(names=["web:1"], sizeBytes=7), ContainerImage()]
        node_object.status.declaredFeatures, node_object.spec.unschedulable = (
            ["GuaranteedQoS"],
            True,
        )
    save(cluster.snapshot(nodes, pods), tmp_path / "a")
    loaded = load(tmp_path / "a")
    assert [pod.status for pod in loaded.pods] == [pod.status for pod in pods]
    assert loaded.nodes == nodes
    one, two = (pod.status for pod in loaded.pods[:2])
    for name in ("phase", "startTime", "conditions", "containerStatuses", "initContainerStatuses"):
        assert getattr(one, name) is getattr(two, name), name
    images = [node.status.images or [] for node in loaded.nodes]
    assert images[0][0] is images[1][0]


def test_nothing_secret_is_in_a_recording(tmp_path: Path) -> None:
    api = Api({"/api/v1/pods": [pod("web", "n1")], "/api/v1/nodes": [node("n1")]})
    with connected(api, tmp_path) as (connection, _):
        save(read_cluster(connection), tmp_path / "a")
    inside = gzip.decompress((tmp_path / "a").read_bytes())
    assert b"web" in inside
    assert CANARY.encode() not in inside
    assert b"PASSWORD" not in inside


def body(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def test_what_is_not_a_recording_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "file"
    good = tmp_path / "good"
    save(full(), good)
    packed, inside = good.read_bytes(), body(good)
    head = int.from_bytes(inside[:4], "big") + 4
    newer = msgspec.msgpack.encode({"format": "rescheduler snapshot", "version": 9})
    other = msgspec.msgpack.encode({"format": "something", "version": 1})
    cases = [
        (b"", "is not a recorded snapshot"),
        (b"apiVersion: v1", "is not a recorded snapshot"),
        (gzip.compress(b""), "is not a recorded snapshot"),
        (gzip.compress(b"\xff\xff\xff\xffhello"), "is not a recorded snapshot"),
        (gzip.compress(len(other).to_bytes(4, "big") + other), "is not a recorded snapshot"),
        (gzip.compress(len(newer).to_bytes(4, "big") + newer), "version 9"),
        (packed[:-20], "is damaged"),
        (packed[: len(packed) // 2], "is damaged"),
        (packed[:40] + b"\x00\x01\x02" + packed[43:], "is damaged"),
        (gzip.compress(inside[:-5]), "is damaged"),
        (gzip.compress(inside[:head]), "is damaged"),
        (gzip.compress(inside[:head] + msgspec.msgpack.encode([1, 2])), "is damaged"),
    ]
    for data, words in cases:
        path.write_bytes(data)
        with pytest.raises(SnapshotUnreadable, match=words) as caught:
            load(path)
        assert str(path) in str(caught.value)
    with pytest.raises(SnapshotUnreadable, match="does not exist"):
        load(tmp_path / "none")
    with pytest.raises(SnapshotUnreadable, match="cannot be read"):
        load(tmp_path)


def test_arrays_of_another_cluster_are_refused(tmp_path: Path) -> None:
    odd = Readings((cluster.reading("node.cpu", [0.1, 0.2, 0.3]),))
    save(replace(full(), readings=odd), tmp_path / "a")
    with pytest.raises(SnapshotUnreadable, match=r"node\.cpu expects 3 of 2 subjects"):
        load(tmp_path / "a")


def test_a_past_of_another_length_is_refused(tmp_path: Path) -> None:
    made = cluster.reading("node.cpu", [0.1, 0.2])
    request = replace(made.request, span=120.0)
    odd = Readings((replace(made, request=request, range_samples=np.zeros((2, 2))),))
    save(replace(full(), readings=odd), tmp_path / "a")
    with pytest.raises(SnapshotUnreadable, match=r"node\.cpu has 4 values for 2 subjects"):
        load(tmp_path / "a")


@settings(max_examples=60)
@given(data=st.data())
def test_no_damage_is_anything_but_a_clear_error(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    save(full(), path)
    inside = bytearray(body(path))
    for _ in range(data.draw(st.integers(1, 4))):
        inside[data.draw(st.integers(0, len(inside) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(gzip.compress(bytes(inside), 1))
    with contextlib.suppress(SnapshotUnreadable):
        assert isinstance(load(path), Snapshot)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        save(full(), tmp_path / "no" / "folder")
    (tmp_path / "a").mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        save(full(), tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
