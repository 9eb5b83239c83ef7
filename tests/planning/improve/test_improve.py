"""Improvement on arrays: within the rules, within the cap, never for the worse, and repeatable.

A judge of its own decides, who reads the challenge's files and knows nothing of ours.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rescheduler.kube.objects import Pod
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.compiled import compiled
from rescheduler.planning.improve.descent import Descent
from rescheduler.planning.improve.improve import Improvement, improve
from rescheduler.planning.improve.placement import Placement
from rescheduler.policies.allocation.policy import Allocation, ResourceTarget
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from tests.bench import roadef_files as files
from tests.bench.bench_published import limits
from tests.bench.checkers.roadef import Verdict, judge
from tests.cluster import deployment, node, pod, snapshot
from tests.picture import picture
from tests.planning.improve import drawn_challenge


def placement(instance: files.Instance) -> tuple[Placement, float]:
    policy, scale = files.policy(instance)
    copy = WorkingCopy(files.cluster(instance), [policy], limits(9), History())
    made = compiled(copy, held=files.held(instance), rules=[files.least_locations(instance)])
    assert isinstance(made, Placement), made
    return made, scale


def by_steps(most: int) -> Callable[[int], float]:
    return lambda steps: steps / most


def answered(
    folder: Path, seed: int, moves: int, steps: int
) -> tuple[Improvement, Verdict, Verdict, float]:
    model, assignment = drawn_challenge.write(folder, seed)
    instance = files.read(model, assignment)
    made, scale = placement(instance)
    found = improve(made, moves, by_steps(steps), seed=1)
    new = instance.home.copy()
    for shift in found.shifts:
        new[shift.pod] = shift.destination
    out = folder / "new.txt"
    out.write_text(" ".join(map(str, new.tolist())))
    before = judge(model, assignment, assignment)
    assert before.violations == ()
    return found, before, judge(model, assignment, out), scale


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("seed", range(60))
def test_the_judge_finds_nothing_and_the_cost_that_was_promised(tmp_path: Path, seed: int) -> None:
    moves = 1 + seed % 4
    found, before, after, scale = answered(tmp_path, seed, moves, steps=400)
    assert after.violations == ()
    assert after.moves == len(found.shifts) <= moves
    assert found.before * scale == pytest.approx(before.cost)
    assert found.after * scale == pytest.approx(after.cost)
    assert found.bound * scale - 1e-6 <= after.cost <= before.cost


def test_a_bound_is_below_the_best_of_all_single_moves(tmp_path: Path) -> None:
    tight = 0
    for seed in range(30):
        model, assignment = drawn_challenge.write(tmp_path, seed)
        made, _ = placement(files.read(model, assignment))
        least = made.least(1)
        start = made.cost()
        changes = made.leaving(made.movable)[:, None] + made.arriving(made.movable, made.nodes)
        best = start + min(0.0, float(changes.min(initial=0.0)))
        assert least <= best + 1e-9
        tight += least > 0.5 * best > 0
    assert tight > 5


@pytest.mark.usefixtures("both_ways")
def test_more_moves_and_more_steps_are_never_worse(tmp_path: Path) -> None:
    gained = 0
    for seed in range(20):
        few, _, _, _ = answered(tmp_path, seed, 1, steps=1)
        many, _, _, _ = answered(tmp_path, seed, 3, steps=1)
        long, _, _, _ = answered(tmp_path, seed, 3, steps=600)
        assert many.after <= few.after + 1e-9
        assert long.after <= many.after + 1e-9
        gained += long.after < many.after - 1e-9
    assert gained, "annealing finds what descent does not"


@pytest.mark.usefixtures("both_ways")
def test_the_same_seed_gives_the_same_moves(tmp_path: Path) -> None:
    for seed in range(5):
        one, _, _, _ = answered(tmp_path, seed, 3, steps=300)
        other, _, _, _ = answered(tmp_path, seed, 3, steps=300)
        assert one == other


def test_descent_takes_the_best_single_move_first(tmp_path: Path) -> None:
    for seed in range(30):
        model, assignment = drawn_challenge.write(tmp_path, seed)
        instance = files.read(model, assignment)
        made, _ = placement(instance)
        changes = made.leaving(made.movable)[:, None] + made.arriving(made.movable, made.nodes)
        best = float(changes.min(initial=np.inf))
        found = next(iter(Descent(made, made.movable, 3).run()), None)
        if best < -1e-9:
            assert found is not None
            assert found == pytest.approx(best)
        else:
            assert found is None


def test_a_policy_that_is_no_sum_over_nodes_is_refused_by_name() -> None:
    before = picture("""
        zone a | n1 | web web
        zone b | n2 | -
    """)
    spread = Spread(name="even", match=Match(all=True), topologyKey="topology.kubernetes.io/zone")
    copy = WorkingCopy(before, [spread], limits(3), History())
    found = compiled(copy)
    assert isinstance(found, Problem)
    assert found.message == "Spread even is no sum over nodes"


def test_pods_with_requirements_that_are_not_counted_stay(tmp_path: Path) -> None:
    model, assignment = drawn_challenge.write(tmp_path, 3)
    instance = files.read(model, assignment)
    policy, _ = files.policy(instance)
    cluster = files.cluster(instance)
    constraint = {"maxSkew": 1, "topologyKey": "zone", "labelSelector": {}}
    held = picture(
        "zone a | n1 | web", specs={"web": {"topologySpreadConstraints": [constraint]}}
    ).pods[0]
    cluster.pods[0].spec.topologySpreadConstraints = held.spec.topologySpreadConstraints
    anew = snapshot(cluster.nodes, cluster.pods, controllers=cluster.controllers)
    made = compiled(WorkingCopy(anew, [policy], limits(9), History()))
    assert isinstance(made, Placement)
    assert made.movable.tolist() == list(range(1, len(cluster.pods)))


def term(key: str, value: str) -> dict[str, object]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    selector = {"matchLabels": {key: value}}
    own = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    return {"podAntiAffinity": {required: [own]}}


def test_no_pod_is_moved_that_others_select_where_one_is_selected_by_two_labels() -> None:
    nodes = [node(f"n{number}") for number in range(3)]
    top, owner = deployment("web", replicas=4)
    labels = [{"app": "web"}, {"tier": "db"}, {"app": "web", "tier": "db"}, {"plain": "yes"}]
    made = [
        pod(
            f"p{number}",
            "n0",
            owner=owner,
            labels=each,
            requests={"cpu": "2"},
            affinity=term(*next(iter(each.items()))) if "plain" not in each else {},
        )
        for number, each in enumerate(labels)
    ]
    policy = Allocation(
        name="a",
        match=Match(all=True),
        nodes=NodeMatch(all=True),
        resources=[ResourceTarget(resource="cpu", target=0.5)],
    )

    def movable(pods: list[Pod]) -> list[int]:
        found = compiled(
            WorkingCopy(
                snapshot(nodes, pods, controllers=[top, owner]), [policy], limits(9), History()
            )
        )
        assert isinstance(found, Placement)
        answer: list[int] = found.movable.tolist()
        return answer

    assert movable(made) == [3]
    top.status.readyReplicas = owner.status.readyReplicas = 3
    top.status.replicas = owner.status.replicas = 3
    top.spec.replicas = owner.spec.replicas = 3
    assert movable([made[0], made[1], made[3]]) == [0, 1, 2]
