"""A planned move is checked again on a fresh snapshot before it is made."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from rescheduler.actions.evict import annotations
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.recheck import Recheck
from tests.planning.plan.rechecks import (
    Change,
    calm,
    cordon_source,
    gone,
    node_of,
    nothing,
    verdict,
)
from tests.planning.scenarios import hot_gpus
from tests.planning.world import World


def pods(world: World, move: PlannedMove, **changed: object) -> None:
    """Change the pod of the move."""
    index = world.snapshot.pod_index[move.pod.uid]
    fresh = list(world.snapshot.pods)
    fresh[index] = msgspec.structs.replace(fresh[index], **changed)
    world.snapshot = replace(world.snapshot, pods=fresh)
    world.measure()


def annotate(world: World, move: PlannedMove) -> None:
    index = world.snapshot.pod_index[move.pod.uid]
    note = {"karpenter.sh/do-not-disrupt": "true"}
    world.snapshot.pods[index].metadata.annotations = note


def spend_budget(world: World, move: PlannedMove) -> None:
    for budget in world.snapshot.budgets:
        budget.status.disruptionsAllowed = 0


def fill_up(world: World, move: PlannedMove) -> None:
    """All nodes where it was to land are cordoned, and it would land on others."""
    for share in move.landing:
        world.snapshot.nodes[node_of(world, share.node)].spec.unschedulable = True


def lose_readings(world: World, move: PlannedMove) -> None:
    """All nodes where it may land have lost their reading."""
    reading = next(r for r in world.snapshot.readings.entries if r.name == "node.gpu")
    for share in move.landing[:4]:
        reading.values[node_of(world, share.node)] = float("nan")


def evict_sibling(plan: str, most: int = 2) -> Change:
    """most: movesPerWorkload."""

    def do(world: World, move: PlannedMove) -> None:
        past = PastMove(
            plan=plan or world.plan().id,
            podUid="other",
            namespace="default",
            pod="other",
            workload=move.owner.uid,
            source="n3",
            at=world.snapshot.taken - timedelta(minutes=15),
            state="ready",
        )
        more = {"coolDown": timedelta(minutes=30), "movesPerWorkload": most}
        world.limits = world.limits.model_copy(update=more)
        world.history.moves.append(past)

    return do


CASES: list[tuple[str, Change]] = [
    ("", nothing),
    ("ACT002", gone),
    ("DRF001", lambda w, m: pods(w, m, node="n9")),
    ("DRF001", lambda w, m: pods(w, m, status=type(w.snapshot.pods[0].status)(phase="Running"))),
    ("DRF003", cordon_source),
    ("ELG011", annotate),
    ("BUD002", spend_budget),
    ("DRF004", calm),
    ("DRF004", fill_up),
    ("DRF004", lose_readings),
    ("ELG022", evict_sibling("an earlier one")),
    ("", evict_sibling("")),
    ("PAC004", evict_sibling("", most=1)),
]


@pytest.mark.parametrize(("code", "change"), CASES)
def test_a_move_is_checked_again(code: str, change: Change) -> None:
    assert verdict(change) == code


def test_every_move_of_a_fresh_plan_passes() -> None:
    for which in range(8):
        assert verdict(nothing, which) == ""


def test_where_the_others_of_a_batch_landed_decides_where_the_next_one_can() -> None:
    world = hot_gpus()
    made = world.plan()
    first, second = made.moves[1:3]
    taken = first.landing[-1].node
    past = PastMove(
        plan=made.id,
        podUid=first.pod.uid,
        namespace="default",
        pod=first.pod.name,
        workload=first.owner.uid,
        source=first.source,
        at=world.snapshot.taken,
        state="evicted",
        landedOn=taken,
    )

    def likely(after: list[PastMove]) -> set[str]:
        fresh = WorkingCopy(
            world.snapshot, world.policies, world.limits, world.history, plan=made.id
        )
        recheck = Recheck(fresh)
        assert isinstance(recheck.check(first), PlannedMove)
        answer = recheck.check(second, after)
        assert isinstance(answer, PlannedMove)
        return {share.node for share in answer.landing}

    assert taken in likely([])
    assert taken not in likely([past])


def test_what_it_gains_and_for_whom_is_what_is_true_now() -> None:
    world = hot_gpus()
    made = world.plan()
    (hot,) = world.policies
    world.policies = [hot.model_copy(update={"name": "warm", "weight": 0.9})]
    fresh = WorkingCopy(world.snapshot, world.policies, world.limits, world.history, plan=made.id)
    move = made.moves[0]
    answer = Recheck(fresh).check(move)
    assert isinstance(answer, PlannedMove)
    assert list(move.gains) == [hot.name]
    assert list(answer.gains) == ["warm"]
    assert answer.gain == pytest.approx(0.9 * move.gain)
    told = annotations(answer, made.id, 1)
    assert told["rescheduler.io/policies"] == "warm"
    assert told["rescheduler.io/gain"] == f"{answer.gain:.4g}"
