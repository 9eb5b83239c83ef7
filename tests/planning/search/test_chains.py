"""Swaps and chains: on a full cluster a pod makes room for another one that gains."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.planner import plan
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.reporting.move_reasons import coded_text
from rescheduler.scheduler.model import SchedulerModel
from rescheduler.scheduler.plugin import Steer
from tests.cases import every
from tests.planning.search.chains import FREE, RULES, STEERED, full, planned


def starting(made: Snapshot, **seconds: float) -> History:
    """Yesterday a pod of each of these Deployments was moved, and took so long to be Ready."""
    history = History()
    for name, took in seconds.items():
        uid = next(
            controller.metadata.uid
            for controller in made.controllers
            if controller.metadata.name == name and controller.kind == "Deployment"
        )
        past = PastMove(
            plan="p", podUid=f"{name}-before", namespace="default", pod=f"{name}-before",
            workload=uid, source="gone", at=made.taken - timedelta(days=2), state="ready",
            readySeconds=took,
        )  # fmt: skip
        history.moves.append(past)
    return history


def route(made: Plan) -> list[tuple[str, str, str, int]]:
    return [(m.pod.name, m.source, m.landing[0].node, m.batch) for m in made.moves]


def test_no_chain_is_planned_where_nothing_is_steered() -> None:
    assert planned(full(room="3"), steering={"by": "None"}).moves == []


def test_a_chain_makes_room_where_no_single_move_is_possible() -> None:
    made = planned(full(room="3"))
    assert route(made) == [("hdd-0", "fast", "hub", 1), ("ssd-0", "slow", "fast", 2)]
    helper, mover = made.moves
    assert mover.after == [helper.pod.uid]
    assert helper.after == []
    assert [coded_text(reason) for reason in helper.reasons] == [
        "FEA012 it makes room for default/ssd-0 on fast"
    ]
    assert helper.gain + mover.gain == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("pods", "code", "why"),
    [
        (("ssd-0", "web-0"), "MRG001", "that of default/web-0: its gain is 0"),
        (("web-0", "ssd-0"), "FEA003", "that of default/web-0: none of the others goes where"),
    ],
)
def test_no_room_is_made_for_nothing_however_much_others_gain(
    pods: tuple[str, str], code: str, why: str
) -> None:
    """`ssd` could go to `fast` by itself; `web` gains nothing and makes no room for it."""
    made = full(third=True)
    made = replace(made, pods=[pod for pod in made.pods if pod.metadata.name != "hdd-0"])
    if pods[0] == "web-0":  # which would take the room of `ssd` otherwise
        made.pods[-1].spec.nodeSelector = {"kubernetes.io/hostname": "far"}
    limits = Limits.model_validate(FREE | STEERED)
    evaluator = Evaluator(WorkingCopy(made, [RULES], limits, History()))
    at = {pod.metadata.name: number for number, pod in enumerate(made.pods)}
    found = evaluator.weigh((at[pods[0]], at[pods[1]]))
    assert found.gain > 2 * limits.margin
    assert found.refusal is not None
    assert found.refusal.code == code
    assert why in found.refusal.message
    assert evaluator.weigh((at["ssd-0"],)).refusal is None


def test_nothing_is_planned_where_nobody_can_make_room() -> None:
    made = planned(full(room="2"))
    assert made.moves == []
    assert [(refusal.pod.name, refusal.code) for refusal in made.refused] == [("ssd-0", "FEA001")]


def test_a_chain_is_not_begun_whose_budgets_do_not_last() -> None:
    assert planned(full(room="3", allowed=0)).moves == []
    assert planned(full(room="3"), movesPerCycle=1).moves == []


@every([(1.0, 1.0), (9.0, 1.0), (1.0, 9.0), (300.0, 1.0)])
def test_a_chain_is_worth_it_whoever_of_its_pods_starts_faster(hdd: float, ssd: float) -> None:
    """The usual `gainShare`: one pod is stuck, and two that cost about as much are moved for it."""
    made = full(room="3")
    found = planned(made, starting(made, hdd=hdd, ssd=ssd), gainShare=0.5)
    assert [move[0] for move in route(found)] == ["hdd-0", "ssd-0"]


def test_a_long_chain_is_worth_it_at_the_usual_gain_share() -> None:
    found = planned(full(third=True), gainShare=0.5)
    assert [move[0] for move in route(found)] == ["web-0", "hdd-0", "ssd-0"]


def test_who_makes_room_must_not_cost_far_more_than_who_gains() -> None:
    made = full(room="3")
    hdd = next(pod for pod in made.pods if pod.metadata.name == "hdd-0")
    hdd.metadata.annotations = {"controller.kubernetes.io/pod-deletion-cost": str(2**31 - 1)}
    found = planned(made, gainShare=0.5)
    assert found.moves == []
    (refused,) = found.refused
    assert (refused.pod.name, refused.code) == ("ssd-0", "MRG002")
    assert refused.message.startswith("the gain even on the best node of 2 moves together")
    assert "none of 4 nodes is feasible" in refused.message


def test_a_chain_for_which_a_budget_does_not_last_is_named() -> None:
    (refused,) = planned(full(room="3", allowed=0)).refused
    assert (refused.pod.name, refused.code) == ("ssd-0", "BUD002")
    (refused,) = planned(full(room="3"), movesPerCycle=1).refused
    assert (refused.pod.name, refused.code) == ("ssd-0", "PAC001")


def applied(made: Snapshot, moves: list[PlannedMove]) -> tuple[Snapshot, History]:
    """The cluster after these moves, each landing as the scheduler says; and what is remembered."""
    history = History()
    for move in moves:
        names = [node.metadata.name for node in made.nodes]
        steer = None
        if move.steered is not None:
            told, require = map(names.index, move.steered.nodes), move.steered.strength == "Require"
            steer = Steer.to_nodes(told, len(names), require=require)
        index = made.pod_index[move.pod.uid]
        landing = SchedulerModel(made).landing(index, steer)
        assert landing.unschedulable == 0.0, "no replacement stays Pending because of us"
        old, landed = made.pods[index], names[int(landing.nodes[0])]
        uid = f"{old.metadata.uid}-r"
        metadata = msgspec.structs.replace(old.metadata, name=f"{old.metadata.name}-r", uid=uid)
        pods = list(made.pods)
        pods[index] = msgspec.structs.replace(old, metadata=metadata, node=landed)
        made = replace(made, pods=pods, taken=made.taken + timedelta(minutes=1))
        past = PastMove(
            plan="p", podUid=old.metadata.uid, namespace="default", pod=old.metadata.name,
            workload=move.owner.uid, source=move.source, at=made.taken, state="ready",
            replacement=uid, landedOn=landed, settled=made.taken,
        )  # fmt: skip
        history.moves.append(past)
    return made, history


def test_however_a_chain_ends_the_next_plan_repairs_the_cluster() -> None:
    before = full(third=True)
    made = planned(before)
    assert made.moves
    for count in range(len(made.moves) + 1):
        after, history = applied(before, made.moves[:count])
        assert all(pod.node for pod in after.pods)
        again = plan(
            after,
            policy_set([RULES], Limits.model_validate(FREE | STEERED)),
            history,
            mode="Enforce",
        )
        end, _ = applied(after, again.moves)
        ssd = next(pod for pod in end.pods if pod.metadata.name.startswith("ssd"))
        assert ssd.node == "fast", (count, route(again))


def recheck(made: Snapshot, moves: Plan, which: int, history: History) -> PlannedMove | Problem:
    limits = Limits.model_validate(FREE | STEERED)
    fresh = WorkingCopy(made, [RULES], limits, history, plan="p")
    return Recheck(fresh, moves.moves).check(moves.moves[which])


def test_a_move_that_makes_room_is_judged_together_with_the_one_it_is_for() -> None:
    before = full(room="3")
    made = planned(before)
    answer = recheck(before, made, 0, History())
    assert isinstance(answer, PlannedMove), answer
    pods = [pod for pod in before.pods if not pod.metadata.name.startswith("ssd")]
    gone = recheck(replace(before, pods=pods), made, 0, History())
    assert isinstance(gone, Problem), "what it would make room for is gone"
    assert gone.code == "ACT002"


def test_a_later_move_is_not_made_where_the_room_was_not_made() -> None:
    before = full(room="3")
    made = planned(before)
    answer = recheck(before, made, 1, History())
    assert isinstance(answer, Problem)
    assert answer.code == "DRF008"
    after, history = applied(before, made.moves[:1])
    assert isinstance(recheck(after, made, 1, history), PlannedMove)
    history.moves[0].state = "lost"
    lost = recheck(after, made, 1, history)
    assert isinstance(lost, Problem)
    assert lost.code == "DRF008"


def test_the_summary_says_what_single_moves_alone_would_gain() -> None:
    """Here nothing: no single move is possible. Where all are single, nothing is said of it."""
    chained = planned(full(room="3")).search
    assert chained is not None
    assert chained.chained == 2
    assert chained.alone == 0.0
    assert chained.gain > 0.5
    single = planned(full(room="3"), steering={"by": "None"}).search
    assert single is not None
    assert single.alone is None
