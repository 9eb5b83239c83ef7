"""Taints of nodes: ours come and go, and those of others stay whatever is written meanwhile."""

from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.actions.api_call import ApiResponse
from rescheduler.actions.steering.soft_taints import SoftTaints
from rescheduler.kube.objects import Taint
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.errors import ActionError, LockLost
from rescheduler.model.moves.taint_value import TaintValue, read, taint_value, tainted_by_us
from tests.cluster import node
from tests.fakes.stage import START, Process, Stage

UNTIL = START + timedelta(minutes=2)
OTHERS = [
    {"key": "maintenance", "value": "soon", "effect": "PreferNoSchedule"},
    {"key": SOFT_TAINT.key, "value": "theirs", "effect": "NoSchedule"},
]
OURS = {"key": SOFT_TAINT.key, "effect": "PreferNoSchedule"}


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.world.put("nodes", "", "n1", {"spec": {"taints": deepcopy(OTHERS), "unschedulable": True}})
    return made


def taints(stage: Stage) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stage.world.objects["nodes", "", "n1"]["spec"].get("taints", [])
    return found


def ported(stage: Stage, **more: Any) -> SoftTaints:
    process = Process(stage, "a", **more)
    answer = process.steering_port().taints
    assert isinstance(answer, SoftTaints)
    return answer


def test_it_comes_beside_those_of_others_and_goes_alone(stage: Stage) -> None:
    made = ported(stage)
    assert made.add("n1", 7, UNTIL) is None
    value = "fence-7.until-20261121T120200Z"
    assert taints(stage) == [*OTHERS, {**OURS, "value": value}]
    made.remove("n1", 7)
    assert taints(stage) == OTHERS
    assert stage.world.objects["nodes", "", "n1"]["spec"]["unschedulable"] is True


def test_one_that_arrives_after_it_was_taken_off_is_not_stored(stage: Stage) -> None:
    """A proxy holds it back; nobody has answered it, and the node shows nothing of it."""
    held: list[Any] = []
    process = Process(stage, "a")
    call = process.call

    def late(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        if method == "PATCH" and not held:
            held.extend((method, path, body))
            return ApiResponse(0, message="no answer")
        return call(method, path, body)

    process.call = late  # type: ignore[method-assign]
    made = process.steering_port().taints
    assert made is not None
    with pytest.raises(ActionError):
        made.add("n1", 7, UNTIL)
    made.remove("n1", 7)
    assert stage.world.handle(*held)[0] == 409
    assert taints(stage) == OTHERS
    before = len(process.sent)
    made.remove("n1", 7)
    assert [method for method, _ in process.sent[before:]] == ["GET"]


def test_the_last_taint_leaves_no_list(stage: Stage) -> None:
    stage.world.put("nodes", "", "n1", {"spec": {}})
    made = ported(stage)
    made.add("n1", 7, UNTIL)
    made.remove("n1", 7)
    assert "taints" not in stage.world.objects["nodes", "", "n1"]["spec"]


def test_the_same_taint_is_not_written_twice(stage: Stage) -> None:
    process = Process(stage, "a")
    made = process.steering_port().taints
    assert made is not None
    made.add("n1", 7, UNTIL)
    made.add("n1", 7, UNTIL)
    assert [method for method, _ in process.sent].count("PATCH") == 1


def test_an_older_one_of_ours_is_renewed(stage: Stage) -> None:
    made = ported(stage)
    made.add("n1", 6, UNTIL)
    assert made.add("n1", 7, UNTIL) is None
    assert [taint["value"][:7] for taint in taints(stage)[2:]] == ["fence-7"]


def meddling(stage: Stage, change: Callable[[dict[str, Any]], Any], times: int) -> Process:
    """A process whose node somebody else writes between its reading and its writing."""
    left = [change] * times

    def before(_number: int, method: str, _path: str) -> None:
        if method == "PATCH" and left:
            stored = stage.world.objects["nodes", "", "n1"]
            left.pop()(stored["spec"])
            stage.world.put("nodes", "", "n1", stored)

    return Process(stage, "a", before=before)


@pytest.mark.parametrize("removes", [False, True])
def test_a_taint_that_somebody_sets_or_takes_meanwhile_is_not_lost(
    stage: Stage, removes: bool
) -> None:
    new = {"key": "new", "effect": "NoExecute"}
    if removes:
        ported(stage).add("n1", 7, UNTIL)
    process = meddling(stage, lambda spec: spec["taints"].insert(0, new), 1)
    made = process.steering_port().taints
    assert made is not None
    if removes:
        made.remove("n1", 7)
        assert taints(stage) == [new, *OTHERS]
    else:
        assert made.add("n1", 7, UNTIL) is None
        assert taints(stage)[:3] == [new, *OTHERS]


def test_who_always_comes_too_late_gives_up(stage: Stage) -> None:
    process = meddling(stage, lambda spec: spec.update(seen=1), 99)
    made = process.steering_port().taints
    assert made is not None
    with pytest.raises(ActionError, match="changed 5 times"):
        made.add("n1", 7, UNTIL)
    assert taints(stage) == OTHERS


@pytest.mark.parametrize("value", ["", "mine", "fence-x.until-y", "fence-1.until-20269999T000000Z"])
def test_one_of_our_key_that_we_did_not_set_is_not_touched(stage: Stage, value: str) -> None:
    foreign = {**OURS, "value": value}
    stage.world.put("nodes", "", "n1", {"spec": {"taints": [foreign]}})
    made = ported(stage)
    problem = made.add("n1", 7, UNTIL)
    assert problem is not None
    assert problem.code == "STR014"
    made.remove("n1", 7)
    assert taints(stage) == [foreign]


def test_of_a_later_fence_it_stays_but_at_the_beginning(stage: Stage) -> None:
    """Then the lock is ours, so that a higher one is of a state that was lost."""
    made = ported(stage)
    made.add("n1", 8, UNTIL)
    with pytest.raises(LockLost):
        made.add("n1", 7, UNTIL)
    with pytest.raises(LockLost):
        made.remove("n1", 7)
    made.remove("n1", 7, begins=True)
    assert taints(stage) == OTHERS


def test_a_node_that_is_gone_cannot_be_tainted_and_bears_nothing(stage: Stage) -> None:
    made = ported(stage)
    problem = made.add("gone", 7, UNTIL)
    assert problem is not None
    assert "gone" in problem.message
    made.remove("gone", 7)


@pytest.mark.parametrize("allowed", [True, False])
def test_whether_nodes_may_be_tainted_is_asked(stage: Stage, allowed: bool) -> None:
    stage.world.may_taint = allowed
    made = ported(stage)
    assert made.may_taint() is allowed
    if not allowed:
        with pytest.raises(ActionError, match="forbidden"):
            made.add("n1", 7, UNTIL)


def test_a_mark_is_a_value_of_a_taint_and_can_be_read_again() -> None:
    mark = TaintValue(2**40, UNTIL)
    assert len(taint_value(mark)) <= 63
    assert read(taint_value(mark)) == mark


def test_ours_are_found_on_nodes() -> None:
    ours = Taint(
        key=SOFT_TAINT.key, effect=SOFT_TAINT.effect, value=taint_value(TaintValue(1, UNTIL))
    )
    foreign = Taint(key=SOFT_TAINT.key, effect=SOFT_TAINT.effect, value="mine")
    nodes = [node("n1"), node("n2"), node("n3")]
    nodes[1].spec.taints = [ours]
    nodes[2].spec.taints = [foreign]
    assert tainted_by_us(nodes) == ["n2"]
