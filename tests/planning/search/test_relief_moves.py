"""Chains that make room for measured load, where requests leave room enough."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from tests.bench.bench_optimum import limits
from tests.bench.drawn_load import CORES, HIGH, DrawnLoad, policies
from tests.cluster import deployment, node, pod, snapshot

FULL = HIGH * CORES


def loaded(pods: Mapping[str, Sequence[float]]) -> DrawnLoad:
    """Nodes with pods that use so many cores each, named after their node."""
    made, controllers, used = [], [], []
    for name, uses in pods.items():
        for number, use in enumerate(uses):
            top, owner = deployment(f"{name}-{number}", replicas=1)
            controllers += [top, owner]
            made.append(
                pod(
                    f"{name}-{number}-x",
                    name,
                    owner=owner,
                    labels={"app": f"{name}-{number}"},
                    requests={"cpu": "500m"},
                )
            )
            used.append(use)
    machines = [node(name, allocatable={"cpu": f"{CORES:g}", "pods": "110"}) for name in pods]
    return DrawnLoad(snapshot(machines, made, controllers=controllers), np.array(used))


def planned(cluster: DrawnLoad, moves: int = 9, *, steered: bool = True) -> Plan:
    chosen = policies(["Utilization"])
    return plan(
        cluster.read(chosen),
        policy_set(chosen, limits(moves, steered=steered)),
        History(),
        mode="Enforce",
    )


def moves(made: Plan) -> list[tuple[str, str]]:
    return [(move.pod.name, move.landing[0].node) for move in made.moves]


NO_ROOM = {
    # 3 cores too many; a pod of 4 fits nowhere until the one of 2.5 has gone to `c`.
    "a": (4.0, FULL - 1.0),
    "b": (2.5, FULL - 4.5),
    "c": (FULL - 2.7,),
}


def test_a_pod_makes_room_for_load_on_the_only_node_where_it_can_be_made() -> None:
    made = planned(loaded(NO_ROOM))
    assert moves(made) == [("b-0-x", "c"), ("a-0-x", "b")]
    assert made.moves[1].after == [made.moves[0].pod.uid]
    assert made.moves[0].gain == pytest.approx(0.0)
    [policy] = made.policies
    assert policy.cost.after == pytest.approx(0.0)


def test_nobody_goes_where_there_is_no_room_for_its_load_either() -> None:
    full = {**NO_ROOM, "c": (FULL - 2.4,)}
    assert moves(planned(loaded(full))) == []


def test_a_chain_that_the_limits_have_no_room_for_is_not_begun() -> None:
    assert moves(planned(loaded(NO_ROOM), moves=1)) == []


def test_no_room_is_made_where_nobody_is_steered() -> None:
    assert moves(planned(loaded(NO_ROOM), steered=False)) == []


def test_no_node_is_overfilled_after_any_of_the_moves() -> None:
    cluster = loaded(NO_ROOM)
    load = dict(zip(NO_ROOM, cluster.loads().tolist(), strict=True))
    used = {
        pod.metadata.name: use
        for pod, use in zip(cluster.snapshot.pods, cluster.used.tolist(), strict=True)
    }
    for move in planned(cluster).moves:
        load[move.source] -= used[move.pod.name]
        target = move.landing[0].node
        load[target] += used[move.pod.name]
        assert load[target] <= FULL + 1e-9
