"""Claims that wait for their pod: ready volumes, new ones, and their room."""

from dataclasses import replace
from typing import Any

from rescheduler.model.cluster.snapshot import Cluster
from rescheduler.scheduler.model import SchedulerModel
from tests.cases import every
from tests.cluster import controller, node, pod, snapshot
from tests.scheduler.plugins.mounts import mounts
from tests.scheduler.storage import capacity, driver, ready, storage_class, unbound

ZONE = "topology.kubernetes.io/zone"
MADE = {"name": "x", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "late"}}}}


def three() -> list[Any]:
    return [node(name, zone=zone) for name, zone in (("a", "1"), ("b", "2"), ("c", "3"))]


def where(claims: list[Any], *, names: Any = ("x",), **more: Any) -> Any:
    made = snapshot(three(), [pod("p", **mounts(*names))], claims=claims, **more)
    model = SchedulerModel(made)
    assert model.landing(0).refusal is None
    return model.feasible(0).tolist()


@every(
    [
        (ready("v", host="b"), [False, True, False]),
        (ready("v"), [True, True, True]),
        (ready("v", size="1Mi"), [False, False, False]),
        (ready("v", accessModes=["ReadOnlyMany"]), [False, False, False]),
        (ready("v", volumeMode="Block"), [False, False, False]),
        (ready("v", storageClassName="other"), [False, False, False]),
        (ready("v", volumeAttributesClassName="gold"), [False, False, False]),
        (ready("v", claimRef={"namespace": "default", "name": "y"}), [False, False, False]),
        (ready("v", claimRef={"namespace": "default", "name": "x"}), [True, True, True]),
        (
            ready("v", claimRef={"namespace": "default", "name": "x", "uid": "older"}),
            [False, False, False],
        ),
    ]
)
def test_a_volume_serves_a_claim_that_it_suits(volume: Any, expected: Any) -> None:
    found = where([unbound("x")], volumes=[volume], storage_classes=[storage_class()])
    assert found == expected


def test_a_claim_chooses_volumes_by_label() -> None:
    claim = unbound("x", selector={"matchLabels": {"disk": "fast"}})
    volumes = [ready("v", host="a"), ready("w", host="b", labels={"disk": "fast"})]
    found = where([claim], volumes=volumes, storage_classes=[storage_class()])
    assert found == [False, True, False]


def test_two_claims_need_two_volumes_and_the_smaller_chooses_first() -> None:
    claims = [unbound("x", "10Gi"), unbound("y", "1Gi")]
    volumes = [
        ready("small", "1Gi", host="a"),
        ready("large", "10Gi", host="a"),
        ready("alone", "10Gi", host="b"),
        ready("one", "10Gi", host="c"),
        ready("two", "20Gi", host="c"),
    ]
    classes = [storage_class()]
    found = where(claims, names=("x", "y"), volumes=volumes, storage_classes=classes)
    assert found == [True, False, True]


def test_a_reserved_volume_out_of_reach_closes_the_others() -> None:
    reference = {"namespace": "default", "name": "x"}
    volumes = [ready("mine", host="a", claimRef=reference), ready("free", host="b")]
    found = where([unbound("x")], volumes=volumes, storage_classes=[storage_class()])
    assert found == [True, False, False]


def test_a_new_volume_is_made_where_the_class_allows_it() -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["1", "3"]}]}]
    chosen = storage_class("csi", allowedTopologies=allowed)
    assert where([unbound("x")], storage_classes=[chosen]) == [True, False, True]


def test_a_driver_that_reports_its_room_has_to_have_it() -> None:
    found = where(
        [unbound("x", "5Gi")],
        storage_classes=[storage_class("csi")],
        csi_drivers=[driver("csi", storageCapacity=True)],
        storage_capacities=[
            capacity("1", "4Gi"),
            capacity("2", "8Gi"),
            capacity("3", "8Gi", maximumVolumeSize="2Gi"),
        ],
    )
    assert found == [False, True, False]


def test_a_claim_for_which_a_node_was_chosen_goes_there() -> None:
    claim = unbound("x")
    claim.metadata.annotations = {"volume.kubernetes.io/selected-node": "c"}
    assert where([claim], storage_classes=[storage_class("csi")]) == [False, False, True]


def test_a_claim_that_should_be_bound_first_fits_nowhere() -> None:
    classes = [storage_class("csi", mode="Immediate")]
    assert where([unbound("x")], storage_classes=classes) == [False, False, False]


def test_more_room_scores_higher_since_1_37() -> None:
    made = snapshot(
        three(),
        [pod("p", **mounts("x"))],
        claims=[unbound("x", "10Gi")],
        storage_classes=[storage_class("csi")],
        csi_drivers=[driver("csi", storageCapacity=True)],
        storage_capacities=[capacity("1", "20Gi"), capacity("2", "40Gi"), capacity("3", "10Gi")],
    )
    assert len(SchedulerModel(made).landing(0).nodes) == 3
    newer = SchedulerModel(replace(made, cluster=Cluster(uid="1", version="v1.37.1")))
    reported = next(score for score in newer.verdicts(0).scores if score.name == "VolumeBinding")
    assert reported.points.tolist() == [50, 75, 0]
    assert newer.landing(0).nodes.tolist() == [1]


def test_kinds_that_were_not_read_refuse_what_depends_on_them() -> None:
    made = snapshot(
        three(), [pod("p", **mounts("x"))], claims=[unbound("x")], unread=["StorageClass"]
    )
    refusal = SchedulerModel(made).landing(0).refusal
    assert refusal is not None
    assert "StorageClass" in refusal.message


def test_an_ephemeral_claim_is_served_where_a_volume_lies_ready() -> None:
    mine = pod("p", "a", owner=controller("StatefulSet", "s"), volumes=[MADE])
    volumes = [ready("v", host="b"), ready("w", host="c")]
    made = snapshot(three(), [mine], volumes=volumes, storage_classes=[storage_class()])
    assert SchedulerModel(made).feasible(0).tolist() == [False, True, True]


def test_an_ephemeral_claim_makes_the_state_uncertain() -> None:
    owner = controller("ReplicaSet", "r")
    mine = pod("p", "a", owner=owner, requests={"cpu": "5"}, volumes=[MADE])
    made = snapshot(three(), [mine], storage_classes=[storage_class("csi")])
    refusal = SchedulerModel(made).landing(0).refusal
    assert refusal is not None
    assert "waits for its volumes" in refusal.message
