from typing import Any

import msgspec

from rescheduler.kube.storage import PersistentVolume
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import controller, node, pod, snapshot
from tests.scheduler.plugins.claims import claim

HOST = "kubernetes.io/hostname"


def volume(name: str, *, host: str = "", labels: Any = None) -> Any:
    expression = {"key": HOST, "operator": "In", "values": [host]}
    required = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return msgspec.convert(
        {
            "metadata": {"name": f"pv-{name}", "labels": labels or {}},
            "spec": {"nodeAffinity": required if host else None},
        },
        PersistentVolume,
    )


def mounts(*names: str) -> dict[str, Any]:
    return {
        "volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    }


def four() -> list[Any]:
    return [node("a", zone="1"), node("b", zone="2"), node("c", zone="3"), node("d")]


def model(pods: list[Any], claims: list[Any], volumes: list[Any]) -> SchedulerModel:
    return SchedulerModel(snapshot(four(), pods, claims=claims, volumes=volumes))


def test_a_pinned_volume_leaves_its_node_alone() -> None:
    answer = model([pod("p", **mounts("x"))], [claim("x")], [volume("x", host="b")])
    assert answer.feasible(0).tolist() == [False, True, False, False]
    landing = answer.landing(0)
    assert landing.nodes.tolist() == [1]
    assert landing.rejections == {"VolumeBinding": 3}


def test_all_volumes_must_be_reached() -> None:
    pods = [pod("p", **mounts("x", "y"))]
    volumes = [volume("x", host="b"), volume("y", host="c")]
    answer = model(pods, [claim("x"), claim("y")], volumes)
    assert answer.landing(0).unschedulable == 1.0


def test_a_volume_stays_in_its_zones() -> None:
    zones = {"topology.kubernetes.io/zone": "1__2"}
    answer = model([pod("p", **mounts("x"))], [claim("x")], [volume("x", labels=zones)])
    assert answer.feasible(0).tolist() == [True, True, False, True]


def test_a_beta_zone_label_is_the_same_zone() -> None:
    zones = {"failure-domain.beta.kubernetes.io/zone": "3"}
    answer = model([pod("p", **mounts("x"))], [claim("x")], [volume("x", labels=zones)])
    assert answer.feasible(0).tolist() == [False, False, True, True]


@every(
    [
        ([], [], "x is not there"),
        ([claim("x", phase="Pending")], [volume("x")], "no volume yet"),
        ([claim("x", phase="Lost")], [volume("x")], "is Lost"),
        ([claim("x")], [], "pv-x is not there"),
    ]
)
def test_a_claim_that_nothing_serves_fits_nowhere(claims: Any, volumes: Any, said: Any) -> None:
    landing = model([pod("p", **mounts("x"))], claims, volumes).landing(0)
    assert landing.unschedulable == 1.0
    assert landing.rejections == {"VolumeBinding": 4}
    refusal = model([pod("p", "a", **mounts("x"))], claims, volumes).landing(0).refusal
    assert refusal is not None
    assert refusal.code == "FEA005"
    assert said in refusal.message


def test_a_claim_for_one_pod_waits_until_the_old_pod_is_gone() -> None:
    owner = controller("ReplicaSet", "r")
    once = claim("x", modes=["ReadWriteOncePod"])
    mine = pod("p", "a", owner=owner, **mounts("x"))
    answer = model([mine], [once], [volume("x")])
    assert answer.feasible(0).all()
    other = pod("q", "b", **mounts("x"))
    assert model([mine, other], [once], [volume("x")]).landing(0).unschedulable == 1.0


@every(
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d"}}, True),
        (
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            False,
        ),
        (
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            True,
        ),
        ({"iscsi": {"iqn": "d"}}, {"iscsi": {"iqn": "e"}}, False),
        (
            {"rbd": {"monitors": ["m", "n"], "image": "i"}},
            {"rbd": {"monitors": ["n"], "image": "i"}},
            True,
        ),
        (
            {"rbd": {"monitors": ["m"], "image": "i"}},
            {"rbd": {"monitors": ["m"], "image": "i", "pool": "other"}},
            False,
        ),
    ]
)
def test_disks_that_one_node_mounts_once(held: Any, wanted: Any, clash: Any) -> None:
    holder = pod("q", "a", volumes=[{"name": "v", **held}])
    newcomer = pod("p", volumes=[{"name": "v", **wanted}])
    answer = model([newcomer, holder], [], [])
    assert answer.feasible(0).tolist() == [not clash, True, True, True]
