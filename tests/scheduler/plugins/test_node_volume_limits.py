from dataclasses import replace
from typing import Any

import pytest

from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import controller, node, pod, snapshot
from tests.scheduler.plugins.claims import claim
from tests.scheduler.plugins.mounts import mounts
from tests.scheduler.storage import attachment, csi_node, driver, ready


def disk(name: str) -> Any:
    return ready(f"pv-{name}", csi={"driver": "csi", "volumeHandle": f"h-{name}"})


def cluster(*pods: Any, limits: tuple[int | None, int | None] = (1, 1), **more: Any) -> Snapshot:
    names = ("x", "y", "z")
    return snapshot(
        [node("a"), node("b")],
        pods,
        claims=[claim(name) for name in names],
        volumes=[disk(name) for name in names],
        csi_nodes=[csi_node(name, csi=limit) for name, limit in zip("ab", limits, strict=True)],
        **more,
    )


def test_a_node_that_has_its_number_of_volumes_takes_no_more() -> None:
    made = cluster(pod("p", **mounts("x")), pod("q", "a", **mounts("y")))
    model = SchedulerModel(made)
    assert model.feasible(0).tolist() == [False, True]
    assert model.landing(0).rejections == {"NodeVolumeLimits": 1}


def test_a_volume_that_is_there_costs_nothing() -> None:
    made = cluster(pod("p", **mounts("x")), pod("q", "a", **mounts("x")))
    assert SchedulerModel(made).feasible(0).tolist() == [True, True]


@pytest.mark.parametrize("limits", [(None, None), (2, 2)])
def test_without_a_limit_or_below_it_there_is_room(limits: Any) -> None:
    made = cluster(pod("p", **mounts("x")), pod("q", "a", **mounts("y")), limits=limits)
    assert SchedulerModel(made).feasible(0).tolist() == [True, True]


def test_an_attachment_without_a_pod_counts_once() -> None:
    made = cluster(pod("p", **mounts("x")), attachments=[attachment("pv-y", "a")])
    assert SchedulerModel(made).feasible(0).tolist() == [False, True]
    both = cluster(
        pod("p", **mounts("x")),
        pod("q", "a", **mounts("y")),
        limits=(2, 2),
        attachments=[attachment("pv-y", "a")],
    )
    assert SchedulerModel(both).feasible(0).tolist() == [True, True]


def test_counts_follow_the_pods() -> None:
    owner = controller("StatefulSet", "s")
    made = cluster(
        pod("p", **mounts("x")), pod("q", "a", owner=owner, **mounts("y")), pod("r", "b")
    )
    model = SchedulerModel(made)
    assert model.feasible(1).tolist() == [True, True]
    assert model.feasible(0).tolist() == [False, True]
    model.commit(Shift(1, 0, 1))
    assert model.feasible(0).tolist() == [True, False]
    model.commit(Shift(1, 1, 0))
    assert model.feasible(0).tolist() == [False, True]
    model.commit(Shift(0, -1, 1))
    assert model.feasible(1).tolist() == [True, False]


def test_a_driver_that_insists_has_to_be_there_since_1_37() -> None:
    made = cluster(
        pod("p", **mounts("x")), csi_drivers=[driver("csi", preventPodSchedulingIfMissing=True)]
    )
    made.csi_nodes[0].spec.drivers = []
    assert SchedulerModel(made).feasible(0).tolist() == [True, True]
    newer = replace(made, cluster=Cluster(uid="1", version="v1.37.0"))
    assert SchedulerModel(newer).feasible(0).tolist() == [False, True]


def test_unread_attachments_refuse_a_pod_with_a_driver() -> None:
    made = cluster(pod("p", **mounts("x")), unread=["VolumeAttachment"])
    refusal = SchedulerModel(made).landing(0).refusal
    assert refusal is not None
    assert "VolumeAttachment" in refusal.message
