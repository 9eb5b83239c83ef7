"""Policies that pull in opposite directions: the planner converges, and the report shows how."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from rescheduler.kube.nodes.node_resource_topology import NodeResourceTopology
from rescheduler.model.cluster.readings import Reading, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.numa.policy import Numa
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from tests.picture import picture
from tests.planning.roomy import ROOMY

EVERYTHING: Any = {"all": True}
GPU = "nvidia.com/gpu"


def planned(before: Snapshot, *policies: Policy) -> Plan:
    return plan(before, policy_set(list(policies), ROOMY), History(), mode="Enforce")


def carried_out(before: Snapshot, made: Plan) -> Snapshot:
    """The cluster after the plan: pods where they landed, with loads and zones that follow."""
    index = {pod.metadata.uid: number for number, pod in enumerate(before.pods)}
    names = {node.metadata.name: number for number, node in enumerate(before.nodes)}
    place = before.pod_node.copy()
    for move in made.moves:
        place[index[move.pod.uid]] = names[max(move.landing, key=lambda one: one.probability).node]
    pods = []
    for pod, node in zip(before.pods, place.tolist(), strict=True):
        moved = msgspec.structs.replace(pod)
        moved.node = before.nodes[node].metadata.name
        pods.append(moved)
    after = replace(before, pods=pods, readings=_followed(before, place))
    return replace(
        after, topologies=[_freed(topology, before, after) for topology in before.topologies]
    )


def _followed(before: Snapshot, place: Any) -> Readings:
    entries: list[Reading] = []
    for reading in before.readings.entries:
        if reading.request.subject != "node":
            entries.append(reading)
            continue
        [used] = [r.values for r in before.readings.entries if r.name == f"pod{reading.name[4:]}"]
        nodes = len(before.nodes)
        change = np.bincount(place, used, nodes) - np.bincount(before.pod_node, used, nodes)
        assert reading.capacity is not None
        entries.append(replace(reading, values=reading.values + change / reading.capacity))
    return Readings(tuple(entries))


def _freed(
    reported: NodeResourceTopology, before: Snapshot, after: Snapshot
) -> NodeResourceTopology:
    """The node's zones after the moves: who left frees its half of each zone, who came fills one.

    Good for pods of two GPUs of which the leaving ones were split.
    """
    copy = msgspec.convert(msgspec.to_builtins(reported), NodeResourceTopology)
    name = reported.metadata.name
    was = sum(pod.node == name for pod in before.pods)
    now = sum(pod.node == name for pod in after.pods)
    rooms = [zone.resources[0] for zone in copy.zones or () if zone.resources]
    for _ in range(was - now):
        for room in rooms:
            room.available = str(int(room.available) + 1)
    for _ in range(now - was):
        best = max(rooms, key=lambda room: int(room.available))
        best.available = str(int(best.available) - 2)
    return copy


def zones(policy: str, *free: int) -> dict[str, Any]:
    return {"policy": policy, "zones": [{GPU: [4, gpus]} for gpus in free]}


def test_utilization_and_numa_converge_on_a_node_that_serves_both() -> None:
    # n1 is hot, and train-0 lies in both of its zones. n2 has a whole zone but is nearly hot; n3
    # has room, load and a zone.
    gpu: Any = {"gpu": {"high": "60%", "low": "50%"}}
    hot = Utilization(
        name="hot",
        nodes=EVERYTHING,
        match=EVERYTHING,
        targets=gpu,
        wholeDevices="Count",
    )
    numa = Numa(name="zones", nodes=EVERYTHING, match=EVERYTHING)
    before = picture(
        """
            zone a | n1 gpu 8 | train train train
            zone a | n2 gpu 8 | serve serve
            zone a | n3 gpu 8 | train
            zone a | n4 gpu 8 | -
            zone a | n5 gpu 8 | -
        """,
        requests={"train": {GPU: "2"}, "serve": {GPU: "2"}},
        readings={
            "node.gpu": {"n1": "75%", "n2": "55%", "n3": "25%", "n4": 0, "n5": 0},
            "pod.gpu": {"train": 2.0, "serve": 2.2},
        },
        zones={
            "n1": zones("best-effort", 1, 1),
            "n2": zones("restricted", 2, 2),
            "n3": zones("single-numa-node", 2, 4),
            "n4": zones("single-numa-node", 4, 4),
            "n5": zones("none", 4, 4),
        },
        policies=[hot, numa],
    )
    made = planned(before, hot, numa)
    assert made.moves
    assert {move.source for move in made.moves} == {"n1"}
    for move in made.moves:
        assert set(move.gains) == {"hot", "zones"}
        assert move.gain > 0
    settled = carried_out(before, made)
    again = planned(settled, hot, numa)
    assert again.moves == []
    costs = {policy.name: policy.cost for policy in made.policies}
    assert costs["hot"].after < costs["hot"].before
    assert {policy.problem for policy in again.policies} == {None}


def test_packing_against_spread_stops_at_the_compromise() -> None:
    cpu: Any = {"cpu": {"high": "80%"}}
    pack = Utilization(
        name="pack",
        nodes=EVERYTHING,
        match=EVERYTHING,
        strategy="Pack",
        cold=0.3,
        targets=cpu,
    )
    of_web: Any = {"labels": {"matchLabels": {"app": "web"}}}
    apart = Spread(name="apart", match=of_web, topologyKey="kubernetes.io/hostname")
    before = picture(
        """
            zone a | n1 | fat fat web
            zone a | n2 | fat fat web
            zone a | n3 cpu 4 | web
        """,
        requests={"fat": {"cpu": "100m"}, "web": {"cpu": "2500m"}},
        readings={
            "node.cpu": {"n1": "50%", "n2": "50%", "n3": "20%"},
            "pod.cpu": {"fat": 1.6, "web": 0.8},
        },
        policies=[pack],
    )
    alone = planned(before, pack)
    assert [(m.pod.name, m.source) for m in alone.moves] == [("web-2", "n3")]
    # Two of web on one node cost Spread as much as the free node gains, and more when it counts.
    strong = apart.model_copy(update={"weight": 3.0})
    both = planned(before, pack, strong)
    assert both.moves == []
    [refused] = [refusal for refusal in both.refused if refusal.pod.name == "web-2"]
    assert refused.code in ("FEA003", "MRG001")
    assert "it would be no better placed" in refused.message
    settled = carried_out(before, alone)
    assert planned(settled, pack).moves == []
