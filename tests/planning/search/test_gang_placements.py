"""Room for a gang: all moves that make it, as one group, or none of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec import structs

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.planner import plan
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.reporting.move_reasons import coded_text
from tests.cases import every
from tests.cluster import budget, controller, deployment, node, pod, snapshot
from tests.draws import tries
from tests.planning.search.gang_placements import FREE, GPU, ROOM, world


def planned(before: Snapshot, **limits: Any) -> Plan:
    made = policy_set([ROOM], Limits.model_validate(FREE | limits))
    return plan(before, made, History(), mode="Audit")


def names(made: Plan) -> list[str]:
    return sorted(move.pod.name for move in made.moves)


def test_a_gang_gets_its_room_by_one_group_of_moves() -> None:
    made = planned(world([1, 2, 5], [7]), batchSize=2)
    assert names(made) == ["small-0-0-0", "small-1-0-0", "small-1-1-0"]
    assert {move.room for move in made.moves} == {"ml/llama"}
    assert {move.group for move in made.moves} == {""}
    assert {move.batch for move in made.moves} == {1, 2}
    reason = made.moves[0].reasons[0]
    said = "FRG004 it makes room for gang ml/llama, with 2 other moves, all or none"
    assert coded_text(reason) == said
    [result] = made.policies
    assert (result.cost.before, result.cost.after) == (2, 0)
    [room] = result.room
    assert (room.gang, room.pods, room.gpus, room.before, room.after) == (
        "ml/llama", 2, 16, False, True,
    )  # fmt: skip


@every(
    [
        ({"movesPerCycle": 2}, "3 moves at once, more than movesPerCycle 2 allows"),
        ({"movesPerCycle": 2, "movesPerHour": 2}, "3 moves at once, more than movesPerCycle 2"),
        ({"movesPerHour": 2}, "3 moves at once, more than movesPerHour 2 allows"),
        ({"movesPerDay": 2}, "3 moves at once, more than movesPerDay 2 allows"),
        (
            {"movesPerNode": 1},
            "2 moves at once away from node n1, more than movesPerNode 1 allows",
        ),
        (
            {"movesPerNamespace": 2},
            "3 moves at once in namespace default, more than movesPerNamespace 2 allows",
        ),
    ]
)
def test_no_gang_is_proposed_in_part_where_the_limits_never_hold_it(
    limits: dict[str, Any], said: str
) -> None:
    made = planned(world([1, 2], [7]), **limits)
    assert made.moves == []
    [result] = made.policies
    assert result.cost.before == result.cost.after == 2
    [note] = made.notes
    assert note.code == "FRG006"
    assert note.message.startswith(f"room: gang ml/llama gets no room: it takes {said}")


def test_a_limit_that_only_a_later_cycle_can_hold_is_no_reason_to_despair() -> None:
    before = world([1, 2], [7])
    policies = policy_set([ROOM], Limits.model_validate(FREE | {"movesPerCycle": 3}))
    earlier = PastMove(
        plan="p", podUid="gone", namespace="other", pod="gone", workload="gone", source="n9",
        at=before.taken, settled=before.taken, state="ready", landedOn="n8",
    )  # fmt: skip
    made = plan(before, policies, History([earlier]), mode="Audit")
    assert (made.moves, made.notes) == ([], [])


def test_a_gang_for_which_there_is_no_room_at_all_is_not_told_of_limits() -> None:
    assert planned(world([2, 3], [4]), movesPerCycle=2).notes == []


def test_where_there_is_room_for_a_part_of_the_gang_only_nothing_is_moved() -> None:
    """One node is freed with two moves; the third pod of n2 has nowhere to go."""
    made = planned(world([2, 3], [4]))
    assert made.moves == []


RDMA = "rdma/hca"
SMALL = {"cpu": "8"}


def beside(asks: dict[str, str], held: dict[str, str], **spec: Any) -> Snapshot:
    """Two nodes from which a small pod must go for a gang of two, beside pods that never move.

    asks: what each pod of the gang asks for besides CPU. held: what those that stay hold.
    """
    room = {"cpu": "16", "memory": "64Gi", "pods": "110", RDMA: "1", "amd.com/gpu": "8"}
    nodes = [node(f"n{number}", allocatable=room, labels={"gang": "yes"}) for number in range(2)]
    spare = {"cpu": "128", "memory": "512Gi", "pods": "110"}
    nodes += [node(f"s{number}", allocatable=spare) for number in range(2)]
    owners, pods, budgets = [], [], []
    for number in range(2):
        name = f"small-{number}"
        made, stays = deployment(name, replicas=1), controller("StatefulSet", f"db-{number}")
        owners += [*made, stays]
        pods += [
            pod(f"{name}-0", f"n{number}", owner=made[1], requests=SMALL, labels={"app": name}),
            pod(f"db-{number}-0", f"n{number}", owner=stays, namespace="other", requests=held),
        ]  # fmt: skip
        budgets.append(budget(name, name, allowed=1, healthy=2))
    owner = controller("Job", "llama", namespace="ml")
    asked = {"cpu": "12", **asks}
    spec |= {"nodeSelector": {"gang": "yes"}}
    pods += [
        pod(f"llama-{i}", namespace="ml", owner=owner, requests=asked, **spec) for i in range(2)
    ]
    return snapshot(nodes, pods, controllers=[*owners, owner], budgets=budgets)


@every(
    [
        ({}, {}, 2),
        ({RDMA: "1"}, {}, 2),
        ({"hugepages-2Mi": "0"}, {}, 2),
        ({RDMA: "1"}, {RDMA: "1"}, 0),
        ({"amd.com/gpu": "8"}, {"amd.com/gpu": "1"}, 0),
        ({"example.com/absent": "1"}, {}, 0),
    ]
)
def test_room_is_made_only_where_everything_else_is_free(
    asks: dict[str, str], held: dict[str, str], moves: int
) -> None:
    made = planned(beside(asks, held))
    assert len(made.moves) == moves
    [room] = made.policies[0].room
    assert room.after is (moves == 2)


def test_a_device_on_each_node_is_not_enough_for_two_pods_there() -> None:
    """One move makes room for the CPU of both pods; each node has one of what else they need."""
    held = {"cpu": "7"}
    assert len(planned(beside({"cpu": "4"}, held)).moves) == 1
    assert len(planned(beside({"cpu": "4", RDMA: "1"}, held)).moves) == 2


def test_there_is_no_room_for_pods_whose_devices_are_not_counted() -> None:
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    made = planned(beside({}, {}, resourceClaims=claims))
    assert made.moves == []
    assert not made.policies[0].room[0].after


def test_the_bound_holds_what_room_for_a_gang_gains() -> None:
    made = planned(world([1, 2, 5], [7]), batchSize=2)
    assert made.search is not None
    assert made.search.bound >= made.search.gain > 0
    assert made.search.bound <= sum(policy.weight * policy.cost.before for policy in made.policies)


def test_a_node_that_cannot_be_freed_is_passed_over() -> None:
    made = planned(world([1, 3, 2], [7], stuck=frozenset({0})))
    assert {move.pod.name.split("-")[1] for move in made.moves} == {"1", "2"}
    assert len(made.moves) == 5
    assert planned(world([1, 3, 2], [7], stuck=frozenset({0, 1}))).moves == []


def test_pods_above_the_priority_of_the_policy_are_passed_over() -> None:
    before = world([1, 3, 2], [7])
    before.pods[0].spec.priority = 50
    modest = ROOM.model_copy(update={"maxPriority": 10})
    policies = policy_set([modest], Limits.model_validate(FREE))
    made = plan(before, policies, History(), mode="Audit")
    assert {move.pod.name.split("-")[1] for move in made.moves} == {"1", "2"}


def test_a_single_move_that_is_enough_is_an_ordinary_one() -> None:
    made = planned(world([0, 1], [7]))
    [move] = made.moves
    assert (move.room, move.reasons[0].code) == ("", "FRG002")
    assert move.gain == 2


def test_shapes_of_one_gang_get_room_together() -> None:
    before = world([1, 1, 1], [7], gang=2)
    owner = controller("Job", "llama", namespace="ml")
    last = pod("llama-x", namespace="ml", owner=owner, requests={"cpu": "2", GPU: "8"})
    whole = snapshot(
        before.nodes, [*before.pods, last], controllers=before.controllers, budgets=before.budgets
    )
    assert len(planned(whole).moves) == 3
    assert planned(whole, movesPerCycle=2).moves == []


@settings(max_examples=tries(150))
@given(
    held=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    spare=st.lists(st.integers(0, 5), min_size=1, max_size=2),
    gang=st.integers(2, 3),
    pod_gpus=st.integers(4, 8),
    most=st.integers(1, 9),
    data=st.data(),
)
def test_room_is_made_for_a_whole_gang_or_for_none_of_it(
    held: list[int], spare: list[int], gang: int, pod_gpus: int, most: int, data: st.DataObject
) -> None:
    stuck = data.draw(st.frozensets(st.integers(0, len(held) - 1)))
    before = world(held, spare, gang=gang, pod_gpus=pod_gpus, stuck=stuck)
    made = planned(before, movesPerCycle=most)
    [result] = made.policies
    event(f"moves: {bool(made.moves)}")
    if not made.moves:
        assert result.cost.after == result.cost.before
        return
    assert result.cost.after == 0, "nothing else is gained here"
    assert len(made.moves) <= most
    left = {node.metadata.name: int((node.status.allocatable or {})[GPU]) for node in before.nodes}
    moved = {move.pod.uid for move in made.moves}
    for one in before.pods:
        if one.node and one.metadata.uid not in moved:
            left[one.node] -= 1
    ways = [[share.node for share in move.landing] for move in made.moves]
    assert any(
        sum(free // pod_gpus for free in after.values()) >= gang for after in landed(left, ways)
    )
    assert {move.room for move in made.moves} == ({"ml/llama"} if len(made.moves) > 1 else {""})


def landed(left: dict[str, int], ways: list[list[str]]) -> Iterator[dict[str, int]]:
    """What is left of the nodes after each way in which all may land, of equally good nodes."""
    if not ways:
        yield left
        return
    for name in ways[0]:
        if left[name] > 0:
            yield from landed(left | {name: left[name] - 1}, ways[1:])


def checks(before: Snapshot, made: Plan) -> Recheck:
    limits = Limits.model_validate(FREE)
    copy = WorkingCopy(before, [ROOM], limits, History(), plan=made.id)
    return Recheck(copy, made.moves)


def drained(before: Snapshot, moves: list[PlannedMove]) -> Snapshot:
    """The cluster once these moves were made: the replacements run on s0."""
    uids = {move.pod.uid for move in moves}
    pods = []
    for pod_object in before.pods:
        if pod_object.metadata.uid in uids:
            metadata = structs.replace(pod_object.metadata, uid=f"{pod_object.metadata.uid}-new")
            pods.append(structs.replace(pod_object, metadata=metadata, node="s0"))
        else:
            pods.append(pod_object)
    return snapshot(before.nodes, pods, controllers=before.controllers, budgets=before.budgets)


def test_each_is_judged_with_those_after_it() -> None:
    before = world([1, 2], [7])
    made = planned(before)
    assert len(made.moves) == 3
    for number, move in enumerate(made.moves):
        fresh = checks(drained(before, made.moves[:number]), made).check(move)
        assert isinstance(fresh, PlannedMove), fresh


@pytest.mark.parametrize("number", [0, 1, 2])
def test_none_is_made_any_more_once_the_gang_would_not_get_its_room(number: int) -> None:
    """The last pod to be moved is not there any more, or another has come to its node."""
    before = world([1, 2], [7])
    made = planned(before)
    now = drained(before, made.moves[:number])
    other = deployment("other", replicas=1)
    came = [
        pod(f"other-{name}", name, owner=other[1], requests={"cpu": "1", GPU: "1"},
            namespace="elsewhere")
        for name in ("n0", "n1")
    ]  # fmt: skip
    now = snapshot(
        now.nodes, [*now.pods, *came], controllers=[*now.controllers, *other], budgets=now.budgets
    )
    found = checks(now, made).check(made.moves[number])
    assert isinstance(found, Problem)
    assert found.code == "DRF004"


def test_none_is_made_any_more_once_the_gang_has_gone() -> None:
    before = world([1, 2], [7])
    made = planned(before)
    waiting = [pod for pod in before.pods if pod.node]
    gone = snapshot(before.nodes, waiting, controllers=before.controllers, budgets=before.budgets)
    assert isinstance(checks(gone, made).check(made.moves[0]), Problem)
