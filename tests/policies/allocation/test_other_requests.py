"""What Allocation makes of a replacement that asks for something else than the pod that goes."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from rescheduler.kube.controllers import PodTemplate
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Shift
from rescheduler.policies.allocation.policy import Allocation
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.match import Match
from rescheduler.policies.shared.hinges import Hinges
from tests.cluster import NOW, deployment, node, pod, snapshot

NODES = np.arange(3, dtype=np.int32)


def three_ages() -> Snapshot:
    """Pods of 1, 2 and 3 CPUs on n0 and n1, the newest the largest; n2 is empty."""
    top, owner = deployment("web")
    pods = [pod(f"web-{n}", f"n{n // 2}", owner=owner, requests={"cpu": n + 1}) for n in range(3)]
    owner.spec.template = PodTemplate(spec=pods[0].spec)
    for number, pod_object in enumerate(pods):
        pod_object.metadata.creationTimestamp = NOW - timedelta(days=9 - number)
    nodes = [node(f"n{n}", allocatable={"cpu": "10"}) for n in range(3)]
    return snapshot(nodes, pods, controllers=[top, owner])


def term(before: Snapshot, **more: Any) -> Any:
    policy = Allocation(name="a", match=Match(all=True), nodes=NodeMatch(all=True), **more)
    return policy.compile(before)


TARGET = {"resources": [{"resource": "cpu", "target": 0.2}]}
"""2 of 10 CPUs; the average pod has 2."""


def test_the_node_of_the_landing_is_charged_for_the_replacement() -> None:
    made = term(three_ages(), **TARGET)
    assert made.cost() == pytest.approx((1 + 1) / 2)
    assert made.deltas(0, NODES).tolist() == pytest.approx([0, (-1 + 3) / 2, (-1 + 1) / 2])
    assert made.deltas(1, NODES).tolist() == pytest.approx([0, (-1 + 3) / 2, (-1 + 1) / 2])
    made.commit(Shift(0, 0, 2))
    assert made.cost() == pytest.approx((0 + 1 + 1) / 2)
    assert made.deltas(0, NODES).tolist() == pytest.approx([(1 - 1) / 2, (-1 + 3) / 2, 0])
    kernel = made.kernel()
    assert isinstance(kernel, Hinges)
    assert kernel.cost() == pytest.approx(made.cost())
    made.commit(Shift(0, 2, 0))
    assert made.cost() == pytest.approx(1)


def test_packing_frees_a_node_only_where_the_replacements_have_room() -> None:
    pack: Any = {"strategy": "Pack", "cold": 0.15}
    made = term(three_ages(), resources=[{"resource": "cpu", "target": 0.5}], **pack)
    assert made.deltas(0, NODES).tolist() == pytest.approx([0, (6 - 5) / 2, 1])
    made.commit(Shift(0, 0, 1))
    assert made.load_after()["node.requests.cpu"].tolist() == pytest.approx([0.2, 0.6, 0])
    before = three_ages()
    before.pods[0].node = "n2"
    target = [{"resource": "cpu", "target": 0.3}]
    assert term(before, resources=target, **pack).cost() == 0, "as 3 CPUs it fits nowhere"
    alone = replace(before, controllers=[])
    assert term(alone, resources=target, **pack).cost() == 1
