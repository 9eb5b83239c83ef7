"""A search that ended early is gone on with by the next one, and never to its harm."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from rescheduler.kube.annotations import OPT_OUT
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.plan import Plan
from rescheduler.model.moves.search_summary import SearchSummary
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.plan.result import Outline
from rescheduler.planning.search.warm_start import last_moves
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from tests.bench.bench_better import filled
from tests.draws import tries
from tests.planning.gpu_worlds import whole_gpus
from tests.planning.improve.beaten import STEERED, beaten
from tests.planning.random_worlds import FREE
from tests.planning.search.chains import RULES
from tests.planning.search.stuck_clusters import CHAINS, stuck
from tests.planning.world import World

MANY = 1_000_000


def planned(world: World, steps: int = MANY, last: Plan | None = None) -> Plan:
    """The plan within so many evaluations."""
    made, _ = plan_and_observations(
        world.snapshot,
        policy_set(world.policies, world.limits),
        world.history,
        FindingHistory(),
        Outline(mode="Enforce", seed=0, tool="", recorded=False),
        lambda: Effort(steps),
        last,
    )
    return made


def search_of(plan: Plan) -> SearchSummary:
    assert plan.search is not None
    return plan.search


def crowded(seed: int = 3, nodes: int = 16, **more: Any) -> World:
    """Nodes filled at random, of whose pods many are better elsewhere."""
    limits = Limits.model_validate(FREE | STEERED | {"movesPerCycle": 60, "gainShare": 0.0} | more)
    return World(filled(nodes, 0.7, seed), [whole_gpus()], limits, {})


def cost(plan: Plan) -> float:
    """What is left."""
    return sum(policy.cost.after for policy in plan.policies)


def test_searches_that_end_early_get_as_far_together_as_one_that_does_not() -> None:
    world = crowded(nodes=60)
    made = planned(world, 60)
    assert search_of(made).stopped == "steps"
    costs = [cost(made)]
    for _ in range(3):
        made = planned(world, 60, made)
        assert search_of(made).steps <= 60
        assert search_of(made).resumed is not None
        costs.append(cost(made))
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 2 * costs[-1]
    assert costs[-1] == pytest.approx(cost(planned(world)))


def test_a_search_that_came_to_its_end_is_not_begun_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rescheduler.planning.improve.better_plan._ROUNDS", 0)
    world = crowded()
    first = planned(world)
    assert search_of(first).stopped in ("complete", "full")
    again = planned(world, last=first)
    assert again.digest == first.digest
    assert search_of(again) == search_of(first)


def test_one_that_has_time_begins_with_the_moves_of_one_that_had_not() -> None:
    world = crowded()
    last = planned(world, 12)
    made = planned(world, last=last)
    assert search_of(made).stopped in ("complete", "full")
    assert search_of(made).gain >= search_of(planned(world)).gain - 1e-9


def test_pods_that_are_gone_are_not_looked_for() -> None:
    world = crowded()
    last = planned(world, 12)
    moved = {move.pod.uid for move in last.moves}
    assert moved
    pods = [pod for pod in world.snapshot.pods if pod.metadata.uid not in moved]
    left = World(replace(world.snapshot, pods=pods), world.policies, world.limits, {})
    assert last_moves(last, left.snapshot, "Enforce") is None
    assert planned(left, last=last).digest == planned(left).digest


def test_moves_that_are_forbidden_now_take_no_effort_from_the_search() -> None:
    world = crowded(nodes=60)
    last = planned(world, 60)
    moved = {move.pod.uid for move in last.moves}
    for pod in world.snapshot.pods:
        if pod.metadata.uid in moved:
            pod.metadata.annotations = {OPT_OUT: "true"}
    alone, made = planned(world, 60), planned(world, 60, last)
    assert alone.moves
    assert made.digest == alone.digest
    assert search_of(made) == search_of(alone)


def test_one_move_that_is_left_costs_the_search_nothing() -> None:
    world = crowded(nodes=60)
    last = planned(world, 60)
    rest = structs.replace(last, moves=last.moves[-1:])
    assert cost(planned(world, 60, rest)) <= 1.05 * cost(planned(world, 60))


def test_of_equals_the_plan_from_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rescheduler.planning.improve.better_plan._ROUNDS", 0)
    world = crowded()
    whole = planned(world)
    last = structs.replace(whole, search=structs.replace(search_of(whole), stopped="time"))
    made = planned(world, last=last)
    assert made.digest == whole.digest
    assert search_of(made).resumed is None, "so the next search begins from nothing"


def test_a_search_from_nothing_wins_where_it_is_better() -> None:
    """The budget is two moves, and the last plan has two that gain little."""
    world = crowded(movesPerCycle=2)
    good = planned(world)
    worst = sorted(planned(crowded()).moves, key=lambda move: move.gain)[:2]
    last = structs.replace(
        good, moves=worst, search=structs.replace(search_of(good), stopped="time")
    )
    made = planned(world, last=last)
    assert search_of(made).gain == pytest.approx(search_of(good).gain)
    assert search_of(made).resumed is None


def test_moves_of_audit_policies_stay_theirs() -> None:
    world = crowded()
    last = planned(world, 12)
    audit = structs.replace(
        last, moves=[structs.replace(move, mode="Audit") for move in last.moves]
    )
    assert last_moves(audit, world.snapshot, "Enforce") is None
    found = last_moves(audit, world.snapshot, "Audit")
    assert found is not None
    assert [world.snapshot.pods[pod].metadata.uid for (pod,) in found.planned] == [
        move.pod.uid for move in audit.moves
    ]


def test_chains_are_taken_whole() -> None:
    world = World(stuck(4), [RULES.model_copy(update={"mode": "Enforce"})], CHAINS, {})
    whole = planned(world)
    assert search_of(whole).chained > 2
    last = structs.replace(whole, search=structs.replace(search_of(whole), stopped="steps"))
    found = last_moves(last, world.snapshot, "Enforce")
    assert found is not None
    assert {len(pods) for pods in found.planned} == {2}
    assert sum(map(len, found.planned)) == search_of(whole).chained
    assert search_of(planned(world, 8)).gain < search_of(whole).gain
    assert search_of(planned(world, 8, last)).gain == pytest.approx(search_of(whole).gain)


def test_what_was_proposed_together_is_not_left_to_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    world = beaten()
    last = planned(world)
    assert search_of(last).singly is not None
    monkeypatch.setattr("rescheduler.planning.improve.better_plan._proposal", lambda *_: None)
    alone, made = planned(world), planned(world, last=last)
    assert search_of(alone).gain < search_of(made).gain - 0.1
    assert search_of(made).gain == pytest.approx(search_of(last).gain)


@settings(
    max_examples=tries(30, 5),
    database=None,
)
@given(seed=st.integers(0, 10_000), steps=st.integers(2, 120), moves=st.integers(1, 12))
def test_a_cluster_that_stays_gets_no_worse_plan(seed: int, steps: int, moves: int) -> None:
    world = crowded(seed, 10, movesPerCycle=moves)
    last = planned(world, steps)
    made = planned(world, steps, last)
    assert cost(made) <= cost(last) + 1e-9
    assert planned(world, steps, last).digest == made.digest
    assert len(made.moves) <= moves
