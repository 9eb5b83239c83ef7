"""Batches: never two of one workload or budget, never out of order, never too many."""

from hypothesis import given
from hypothesis import strategies as st

from rescheduler.kube.objects import Container, ContainerImage, PodSpec
from rescheduler.model.history import History
from rescheduler.planning.limits.batches import number
from rescheduler.planning.limits.pulls import Pulls
from rescheduler.planning.plan.planner import plan as planned
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from tests.cluster import node
from tests.picture import picture
from tests.runtime.skewed import spread

MOVES = st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 2), max_size=1)))


@given(MOVES, st.integers(1, 4))
def test_a_batch_holds_few_and_no_two_that_could_race(
    moves: list[tuple[int, list[int]]], size: int
) -> None:
    batches = number(moves, size)
    assert batches == sorted(batches)
    assert batches[:1] == [1] * bool(moves)
    assert set(batches) == set(range(1, max(batches, default=0) + 1))
    for batch in set(batches):
        held = [move for move, its in zip(moves, batches, strict=True) if its == batch]
        budgets = [each for _, selected in held for each in selected]
        assert len(held) <= size
        assert len({workload for workload, _ in held}) == len(held)
        assert len(set(budgets)) == len(budgets)


def test_moves_that_cannot_race_go_together() -> None:
    assert number([(0, []), (1, [5]), (0, []), (2, [5]), (3, [])], 2) == [1, 1, 2, 2, 3]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.integers(1, 4)), max_size=6),
       st.integers(1, 4))  # fmt: skip
def test_a_group_has_a_batch_of_its_own_whatever_its_size(
    runs: list[tuple[str, int]], size: int
) -> None:
    groups = [
        f"{group}{number}" if group else ""
        for number, (group, count) in enumerate(runs)
        for _ in range(count)
    ]
    moves = [(0 if group else index, [0] if group else []) for index, group in enumerate(groups)]
    batches = number(moves, size, groups)
    assert batches == sorted(batches)
    for batch in set(batches):
        held = [group for group, its in zip(groups, batches, strict=True) if its == batch]
        assert len(set(held)) == 1
        assert held[0] or len(held) <= size
    for group in set(groups) - {""}:
        pairs = zip(groups, batches, strict=True)
        assert len({batch for each, batch in pairs if each == group}) == 1


def test_moves_that_pull_one_image_do_not_go_together() -> None:
    assert number([(0, ["a"]), (1, ["b"]), (2, [7, "a"]), (3, [7])], 4) == [1, 1, 2, 3]


def test_an_image_is_pulled_where_a_node_reports_others_and_not_this_one() -> None:
    held = ContainerImage(names=["db@sha256:1", "db:latest"], sizeBytes=1)
    nodes = [node("n0"), node("n1"), node("n2")]
    nodes[1].status.images, nodes[2].status.images = [held], [ContainerImage(names=["web:2"])]
    spec = PodSpec(
        initContainers=[Container(image="db")],
        containers=[Container(image="web:2"), Container(image="web:2"), Container()],
    )
    pulls = Pulls(nodes)
    assert pulls.of(spec, [0]) == [], "a node without a report says nothing"
    assert pulls.of(spec, [1]) == ["web:2"]
    assert pulls.of(spec, [2]) == ["db:latest"]
    assert pulls.of(spec, [0, 1, 2]) == ["db:latest", "web:2"]


def test_plans_send_who_pulls_one_image_one_after_the_other() -> None:
    def batches(image: str, size: int) -> list[int]:
        before = picture("""
            zone a | n1 | web web api api
            zone b | n2 | -
            zone b | n3 | -
        """)
        for each in before.nodes:
            each.status.images = [ContainerImage(names=["pause:1"], sizeBytes=1)]
        for each in before.pods:
            name = (each.metadata.labels or {})["app"]
            each.spec.containers[0].image = image or name
        limits = Limits(batchSize=size, movesPerNode=4, movesPerNamespace=4, margin=0, gainShare=0)
        made = planned(before, policy_set([spread()], limits), History(), mode="Enforce")
        return [each.batch for each in made.moves]

    assert batches("", 2) == [1, 1]
    assert batches("base:1", 2) == [1, 2]
