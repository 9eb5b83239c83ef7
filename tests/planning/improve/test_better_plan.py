"""A plan of chosen destinations is made better by what gains together, and never worse by it."""

import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import permutations, product
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec import structs

from rescheduler.kube.annotations import DELETION_COST
from rescheduler.model.moves.move import Shift
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.effort import UNHURRIED, Effort
from rescheduler.planning.evaluation.evaluation import Evaluation, GainThreshold, JointEvaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve import better_plan as module
from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.annealing_choice import Run, choose_annealing
from rescheduler.planning.improve.better_plan import better
from rescheduler.planning.improve.budget_rule import Allotted
from rescheduler.planning.search import second_search
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.planning.search.strategy import Proposal
from rescheduler.policies.limits import Limits
from tests.bench.bench_better import filled
from tests.draws import tries
from tests.planning.gpu_worlds import gpu_worlds, whole_gpus
from tests.planning.improve.beaten import STEERED, beaten
from tests.planning.random_worlds import FREE
from tests.planning.world import World

quick = settings(
    max_examples=tries(50, 5),
    database=None,
)


def evaluator(world: World) -> Evaluator:
    return Evaluator(
        WorkingCopy(world.snapshot, world.policies, world.limits, world.history, seed=world.seed)
    )


def both(
    world: World, effort: Effort = UNHURRIED, **given: int
) -> tuple[SearchResult, SearchResult, Evaluator]:
    """What is found move by move, what is kept, and where the moves of that are made."""
    its = evaluator(world)
    found = search(its, effort=effort)
    return found, better(its, found, effort, **given), its


def gain(found: SearchResult) -> float:
    return sum(move.gain for move in found.moves)


def best_pair(world: World) -> float:
    """The most that any two moves gain: every pair is tried."""
    term = world.policies[0].compile(world.snapshot)
    assert not isinstance(term, Problem), term
    pods, places, before = world.snapshot.pods, range(len(world.snapshot.nodes)), term.cost()
    where, most = world.snapshot.pod_node.tolist(), 0.0
    asked = [1 if (pod.metadata.labels or {})["app"] == "of-1" else 3 for pod in pods]
    for pair in permutations(range(len(where)), 2):
        for ends in product(places, repeat=2):
            now, made = list(where), []
            for pod_, end in zip(pair, ends, strict=True):
                taken = sum(a for a, at in zip(asked, now, strict=True) if at == end)
                if end != now[pod_] and taken + asked[pod_] <= 8:
                    made.append(Shift(pod_, now[pod_], end))
                    now[pod_] = end
            for shift in made:
                term.commit(shift)
            most = max(most, before - term.cost())
            for shift in reversed(made):
                term.commit(shift.shift_back())
    return most


def test_moves_that_gain_together_replace_the_best_single_moves() -> None:
    found, kept, its = both(beaten())
    assert gain(found) < best_pair(beaten()) - 0.1
    assert gain(kept) == pytest.approx(best_pair(beaten()))
    assert kept.summary is not None
    assert kept.summary.singly == pytest.approx(gain(found))
    assert kept.summary.gain == pytest.approx(gain(kept))
    assert len(kept.moves) == 2
    assert its.copy.moved == {move.pod for move in kept.moves}
    assert not its.chooser.proposed


def disruption(found: SearchResult) -> float:
    return sum(move.disruption for move in found.moves)


def unlike(seed: int) -> World:
    """Of its pods some are disrupted ten times as much by a move as others."""
    draw, cluster = random.Random(seed), filled(16, 0.6, seed)
    pods = [
        structs.replace(
            pod,
            metadata=structs.replace(
                pod.metadata, annotations={DELETION_COST: str(draw.randrange(2**30))}
            ),
        )
        for pod in cluster.pods
    ]
    limits = Limits.model_validate(FREE | STEERED | {"movesPerCycle": 5, "gainShare": 0.3})
    return World(replace(cluster, pods=pods), [whole_gpus()], limits, {})


def test_what_is_kept_gains_its_share_for_what_it_disrupts_more() -> None:
    kept_others = 0
    for seed in range(tries(12, 3)):
        its = evaluator(unlike(seed))
        gate = its.bounds().gate
        found = search(its)
        before = its.copy.cost()
        kept = better(its, found, UNHURRIED)
        more = max(0.0, disruption(kept) - disruption(found))
        least = gate.share * gate.removable / gate.disruption * more
        assert gain(kept) - gain(found) >= least - 1e-9, seed
        assert its.copy.cost() <= before + 1e-9, seed
        kept_others += kept is not found
    assert kept_others


def result(moves: int, gain: float, disruption: float) -> SearchResult:
    made = [
        Evaluation(number, 0, 1, gain=gain / moves, disruption=disruption / moves)
        for number in range(moves)
    ]
    return SearchResult([JointEvaluation((evaluation.pod,), (evaluation,)) for evaluation in made])


@pytest.mark.parametrize(
    ("gain", "moves", "disruption", "kept"),
    [
        (2.05, 5, 5.5, True),
        (2.05, 5, 10.0, False),  # 4.5 pods more must gain 0.45
        (2.46, 5, 10.0, True),
        (2.05, 6, 5.5, False),  # beside the margin of one more
        (2.15, 6, 5.5, True),
        (2.0, 4, 5.5, True),
        (2.0, 4, 6.5, False),
        (2.0, 5, 5.0, False),
        (1.95, 4, 4.0, False),
    ],
)
def test_a_plan_is_better_by_what_it_gains_evicts_and_disrupts(
    gain: float, moves: int, disruption: float, *, kept: bool
) -> None:
    gate = GainThreshold(margin=0.1, share=0.5, removable=20.0, disruption=100.0)
    assert second_search._pays(result(5, 2.0, 5.5), result(moves, gain, disruption), gate) == kept


def test_a_better_plan_leaves_time_for_what_comes_after_it() -> None:
    asked = Counter[str]()

    def spent() -> bool:
        asked["half"] += 1
        return asked["half"] > 3

    found, kept, its = both(beaten(), Effort(half_spent=spent))
    assert kept is found
    assert kept.summary is not None
    assert kept.summary.stopped == "time"
    assert its.copy.moved == {move.pod for move in kept.moves}


def test_a_proposal_that_gains_less_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_MISSED", -1.0)
    limits = Limits.model_validate(FREE | STEERED | {"movesPerCycle": 2, "gainShare": 0.0})
    world = World(filled(16, 0.6, 1), [whole_gpus()], limits, {})
    worse = 0
    for seed in range(12):
        draw = random.Random(seed)
        proposal = Proposal({pod: draw.randrange(16) for pod in range(len(world.snapshot.pods))})
        monkeypatch.setattr(module, "_proposal", lambda *_, given=proposal: given)
        alone = search(evaluator(world), proposal=proposal)
        found, kept, its = both(world)
        assert gain(kept) >= gain(found) - 1e-9
        assert its.copy.moved == {move.pod for move in kept.moves}
        worse += gain(alone) < gain(found) - 1e-9
    assert worse


def test_the_plan_says_by_how_much_it_is_better() -> None:
    made: Plan = beaten().plan()
    assert made.search is not None
    assert made.search.singly is not None
    assert made.search.gain > made.search.singly + 0.1
    assert {move.steered is not None for move in made.moves} == {True}


def test_the_order_of_the_input_changes_nothing_where_annealing_decides() -> None:
    cluster = filled(16, 0.6, 26)
    limits = Limits.model_validate(FREE | STEERED | {"movesPerCycle": 8})
    made = World(cluster, [whole_gpus()], limits, {}).plan()
    assert made.search is not None
    assert made.search.singly is not None, "nothing is shown by a plan that was found one by one"
    for seed in range(tries(3, 3)):
        order = random.Random(seed)
        pods, nodes = list(cluster.pods), list(cluster.nodes)
        order.shuffle(pods)
        order.shuffle(nodes)
        other = World(replace(cluster, pods=pods, nodes=nodes), [whole_gpus()], limits, {}).plan()
        assert [move.pod.uid for move in other.moves] == [move.pod.uid for move in made.moves]
        assert other.digest == made.digest


@pytest.mark.parametrize("given", [{"steering": {"by": "None"}}, {"movesPerCycle": 1}])
def test_where_nothing_is_to_be_had_nothing_is_tried(
    given: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("nothing is to be proposed")

    monkeypatch.setattr(module, "_proposal", never)
    found, kept, _ = both(beaten(**given))
    assert kept is found
    assert found.moves


def test_a_search_that_was_cut_short_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_proposal", lambda *_: pytest.fail("its steps were spent"))
    its = evaluator(beaten())
    found = search(its, effort=Effort(steps=1))
    assert better(its, found, Effort(steps=1)) is found


def test_no_more_steps_are_taken_than_are_left() -> None:
    found, _, its = both(beaten())
    assert found.summary is not None
    limited = Effort(steps=found.summary.steps + 1)
    again, kept, its = both(beaten(), limited)
    assert kept is again
    assert [move.pod for move in kept.moves] == [move.pod for move in found.moves]
    assert its.copy.moved == {move.pod for move in kept.moves}


def test_annealing_asks_no_more_pods_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mock] = []

    def counted(task: Task) -> Run:
        asked.append(Mock(side_effect=task.progress))
        return choose_annealing(replace(task, progress=asked[0]))

    monkeypatch.setattr(module, "choose_annealing", counted)
    both(beaten(), steps=200)
    assert 200 <= asked[0].call_args.args[0] < 200 + 100


def test_half_of_the_time_ends_annealing() -> None:
    asked = Counter[str]()

    def half_spent() -> bool:
        asked["times"] += 1
        return asked["times"] > 60

    found, kept, its = both(beaten(), Effort(half_spent=half_spent))
    assert kept.summary is not None
    assert 60 < asked["times"] < 200
    assert kept.summary.stopped == "time"
    assert its.copy.moved == {move.pod for move in kept.moves}
    assert gain(kept) >= gain(found) - 1e-9


@quick
@given(gpu_worlds())
def test_what_is_kept_is_never_worse_and_is_what_the_working_copy_has_made(world: World) -> None:
    alone = evaluator(world)
    found = search(alone)
    first, kept, its = both(world)
    event("better" if kept is not first else "kept")
    assert [move.shift for move in first.moves] == [move.shift for move in found.moves]
    more = max(0, len(kept.moves) - len(found.moves)) * world.limits.margin
    assert gain(kept) >= gain(found) + more - 1e-9
    assert its.copy.moved == {move.pod for move in kept.moves}
    where = world.snapshot.pod_node.copy()
    for move in kept.moves:
        where[move.pod] = move.destination
    assert np.array_equal(its.copy.scheduler.occupancy.where, where)
    for binding in its.copy.bindings:
        fresh = binding.policy.compile(its.copy.snapshot)
        assert binding.term is not None
        assert not isinstance(fresh, Problem), fresh
        for move in kept.moves:
            fresh.commit(move.shift)
        assert fresh.cost() == pytest.approx(binding.term.cost(), abs=1e-9)
    assert not its.chooser.proposed
    assert not any(its.needless(evaluation, kept.moves) for evaluation in kept.accepted)
    for pod_ in its.copy.candidates():
        assert kept.refusals[pod_].code


@quick
@given(gpu_worlds())
def test_the_kept_plan_spends_no_budget_twice(world: World) -> None:
    _, kept, its = both(world)
    assert its.copy.budgets.remaining_moves() >= 0
    spent = Counter(index for move in kept.moves for index in world.snapshot.budgets_of(move.pod))
    for index, count in spent.items():
        assert count <= world.snapshot.budgets[index].status.disruptionsAllowed
    for share, left in its.copy.budgets.groups():
        for move in kept.moves:
            assert left[share[move.pod]] >= 0


@settings(quick, max_examples=tries(45, 3))
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_no_more_pods_of_a_share_are_away_than_it_allows(seed: int, most: int) -> None:
    random = np.random.default_rng(seed)
    home = random.integers(4, size=12).astype(np.int32)
    share = random.integers(3, size=12).astype(np.int32)
    where = home.copy()
    rule = Allotted(share, np.full(3, most, dtype=np.int32), home, where)
    for _ in range(40):
        pods = random.integers(12, size=1).astype(np.int32)
        nodes = random.integers(4, size=1).astype(np.int32)
        allowed = bool(rule.admits(pods, nodes, np.array([-1]))[0])
        away = np.bincount(share[(where != home)], minlength=3)[share[pods[0]]]
        goes = where[pods[0]] == home[pods[0]] != nodes[0]
        assert allowed == (not goes or away < most)
        assert rule.allows(pods, nodes)[0, 0] == allowed or nodes[0] == home[pods[0]]
        if allowed:
            rule.commit(pods, nodes)
            where[pods] = nodes
    assert np.bincount(share[where != home], minlength=3).max() <= most


def test_moves_of_the_past_leave_less() -> None:
    world = beaten(movesPerCycle=9, movesPerHour=5)
    assert evaluator(world).copy.budgets.remaining_moves() == 5
    world.history.moves.append(
        PastMove(
            plan="p", podUid="u", namespace="default", pod="p", workload="w", source="n1",
            at=world.snapshot.taken - timedelta(minutes=30), state="ready",
        )
    )  # fmt: skip
    assert evaluator(world).copy.budgets.remaining_moves() == 4


@quick
@given(gpu_worlds())
def test_as_many_moves_are_left_as_may_be_planned(world: World) -> None:
    budgets, movable = evaluator(world).copy.budgets, range(len(world.snapshot.pods))
    left = budgets.remaining_moves()
    shares = budgets.groups()
    for pod_ in movable:
        assert (budgets.overall_refusal() is None) == (budgets.remaining_moves() > 0)
        allowed = all(there[share[pod_]] > 0 for share, there in budgets.groups())
        assert (budgets.used_up(pod_) is None) == allowed
        if allowed and budgets.overall_refusal() is None:
            budgets.spend(pod_)
            left -= 1
            assert budgets.remaining_moves() == left
    assert shares
