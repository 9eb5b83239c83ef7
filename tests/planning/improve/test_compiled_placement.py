"""Annealing on arrays: within the rules, within the cap, never for the worse, and repeatable.

A judge of its own decides, who reads the challenge's files and knows nothing of ours.
"""

from pathlib import Path

import numpy as np
import pytest

from rescheduler.kube.objects import Pod
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.improve.annealing import Task
from rescheduler.planning.improve.annealing_choice import choose_annealing
from rescheduler.planning.improve.compiled_placement import compile_placement
from rescheduler.planning.improve.placement import Placement
from rescheduler.policies.allocation.policy import Allocation, RequestTarget
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from tests.bench import roadef_files as files
from tests.bench.checkers.roadef import Verdict, judge
from tests.bench.running import wide
from tests.cluster import deployment, node, pod, snapshot
from tests.picture import picture
from tests.planning.improve import drawn_challenge


def placement(instance: files.Instance) -> tuple[Placement, float]:
    policy, scale = files.policy(instance)
    copy = WorkingCopy(files.cluster(instance), [policy], wide(9), History())
    made = compile_placement(copy)
    assert isinstance(made, Placement), made
    return made, scale


def answered(
    folder: Path, seed: int, moves: int, steps: int
) -> tuple[Placement, float, Verdict, Verdict, float]:
    model, assignment = drawn_challenge.write(folder, seed)
    made, scale = placement(files.read(model, assignment))
    task = Task(
        made,
        moves,
        [max(0.1 * made.cost(), 1e-3)],
        np.random.default_rng(1),
        lambda asked: asked / steps,
    )
    found = choose_annealing(task)
    found.run()
    out = folder / "new.txt"
    out.write_text(" ".join(map(str, made.where.tolist())))
    before = judge(model, assignment, assignment)
    assert before.violations == ()
    return made, found.best, before, judge(model, assignment, out), scale


@pytest.mark.parametrize("seed", range(60))
def test_the_judge_finds_nothing_and_the_cost_that_was_promised(tmp_path: Path, seed: int) -> None:
    moves = 1 + seed % 4
    made, best, before, after, scale = answered(tmp_path, seed, moves, steps=400)
    assert after.violations == ()
    assert after.moves == len(made.moved) <= moves
    assert best * scale == pytest.approx(after.cost)
    assert made.cost() * scale == pytest.approx(after.cost)
    assert after.cost <= before.cost


def test_the_same_seed_gives_the_same_moves_and_more_moves_gain_more(tmp_path: Path) -> None:
    gained = 0
    for seed in range(8):
        one, few, _, _, _ = answered(tmp_path, seed, 1, steps=600)
        other, again, _, _, _ = answered(tmp_path, seed, 1, steps=600)
        assert (one.moved, few) == (other.moved, again)
        _, many, _, _, _ = answered(tmp_path, seed, 3, steps=600)
        gained += many < few - 1e-9
    assert gained


def test_where_no_policy_is_a_sum_over_nodes_there_is_nothing_to_propose() -> None:
    before = picture("""
        zone a | n1 | web web
        zone b | n2 | -
    """)
    near = Locality.model_validate(
        {
            "name": "near",
            "match": {"all": True},
            "levels": [{"name": "zone", "labels": ["topology.kubernetes.io/zone"]}],
            "pairs": [
                {
                    "pods": {"labels": {"matchLabels": {"app": "web"}}},
                    "near": {"labels": {"matchLabels": {"app": "web"}}},
                }
            ],
        }
    )
    even = Spread(name="even", match=Match(all=True), topologyKey="topology.kubernetes.io/zone")
    found = compile_placement(WorkingCopy(before, [near], wide(3), History()))
    assert isinstance(found, Problem)
    with_others = compile_placement(WorkingCopy(before, [near, even], wide(3), History()))
    assert isinstance(with_others, Placement)
    assert len(with_others.kernels) == 1


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
    made = compile_placement(WorkingCopy(anew, [policy], wide(9), History()))
    assert isinstance(made, Placement)
    assert made.movable.tolist() == list(range(1, len(cluster.pods)))


def term(key: str, value: str) -> dict[str, object]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    selector = {"matchLabels": {key: value}}
    own = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    return {"podAntiAffinity": {required: [own]}}


def test_no_pod_moves_that_others_select_by_two_labels() -> None:
    nodes = [node(f"n{number}") for number in range(3)]
    top, owner = deployment("web", replicas=4)
    labels = [{"app": "web"}, {"tier": "db"}, {"app": "web", "tier": "db"}, {"plain": "yes"}]
    made = [
        pod(
            f"p{number}",
            "n0",
            owner=owner,
            labels=label,
            requests={"cpu": "2"},
            affinity=term(*next(iter(label.items()))) if "plain" not in label else {},
        )
        for number, label in enumerate(labels)
    ]
    policy = Allocation(
        name="a",
        match=Match(all=True),
        nodes=NodeMatch(all=True),
        resources=[RequestTarget(resource="cpu", target=0.5)],
    )

    def movable(pods: list[Pod]) -> list[int]:
        found = compile_placement(
            WorkingCopy(
                snapshot(nodes, pods, controllers=[top, owner]), [policy], wide(9), History()
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
