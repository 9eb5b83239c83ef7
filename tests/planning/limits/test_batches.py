"""Batches: never two of one workload or budget, never out of order, never too many."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.kube.objects import Container, ContainerImage, Node, PodSpec, Volume
from rescheduler.model.moves.history import History
from rescheduler.model.moves.move import Landing
from rescheduler.planning.limits.batches import number
from rescheduler.planning.limits.image_pulls import ImagePulls
from rescheduler.planning.plan.planner import plan as planned
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.plugins.image_locality import full_name
from tests.cases import every
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
        budgets = [budget for _, selected in held for budget in selected]
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
        assert len({batch for move_group, batch in pairs if move_group == group}) == 1


def test_moves_that_pull_one_image_do_not_go_together() -> None:
    assert number([(0, ["a"]), (1, ["b"]), (2, [7, "a"]), (3, [7])], 4) == [1, 1, 2, 3]


def reporting(name: str, *images: str) -> Node:
    """A node whose kubelet reports these images."""
    made = node(name)
    made.status.images = [ContainerImage(names=[image], sizeBytes=1) for image in images]
    return made


def pulled(*images: str, here: Sequence[str], there: Sequence[str]) -> list[str]:
    """Of a pod's images those that its replacement pulls where it goes from here to there."""
    spec = PodSpec(containers=[Container(image=image) for image in images])
    return ImagePulls([reporting("n0", *here), reporting("n1", *there)]).images_to_pull(
        spec, 0, landing({1: 1.0})
    )


def landing(shares: dict[int, float]) -> Landing:
    """Nodes with their probabilities."""
    return Landing(np.array([*shares]), np.array([*shares.values()]))


def test_an_image_is_pulled_where_a_node_reports_others_and_not_this_one() -> None:
    assert pulled("r.io/web:2", here=["r.io/web:2"], there=["r.io/db:1"]) == ["r.io/web:2"]
    assert pulled("r.io/web:2", here=["r.io/web:2"], there=["r.io/web:2"]) == []
    assert pulled(
        "r.io/web:2",
        "r.io/web",
        "r.io/db:1",
        here=["r.io/web:2", "r.io/web:latest"],
        there=["r.io/db:1"],
    ) == [
        "r.io/web:2",
        "r.io/web:latest",
    ]
    assert pulled("r.io/web:2", here=["r.io/web:2"], there=[]) == [], "no report says nothing"
    assert pulled("", here=["r.io/web:2"], there=["r.io/db:1"]) == []


def test_an_image_that_its_own_node_does_not_report_either_says_nothing() -> None:
    """A kubelet reports the largest ones only."""
    assert pulled("r.io/sidecar:1", "r.io/web:2", here=["r.io/web:2"], there=["r.io/db:1"]) == [
        "r.io/web:2"
    ]
    assert pulled("r.io/web:2", here=[], there=["r.io/db:1"]) == []


@every(
    [
        ("busybox:1.36", "docker.io/library/busybox:1.36"),
        ("busybox", "docker.io/library/busybox:latest"),
        ("grafana/loki:3", "docker.io/grafana/loki:3"),
        ("reg.io/app:v1@sha256:bb", "reg.io/app@sha256:bb"),
        ("reg.io:5000/app@sha256:bb", "reg.io:5000/app@sha256:bb"),
        ("localhost/app:v1", "localhost/app:v1"),
        ("docker.io/library/busybox:1.36", "busybox:1.36"),
    ]
)
def test_an_image_is_known_by_the_name_that_its_runtime_gives_it(
    written: str, reported: str
) -> None:
    assert pulled(written, here=[reported], there=[reported, "r.io/db:1"]) == []
    (name,) = pulled(written, here=[reported], there=["r.io/db:1"])
    assert [name] == pulled(reported, here=[reported], there=["r.io/db:1"])


def test_a_node_where_a_replacement_hardly_lands_does_not_count() -> None:
    nodes = [reporting("n0", "r.io/web:2"), *(reporting(f"n{n}", "r.io/db:1") for n in range(1, 4))]
    nodes.append(reporting("n4", "r.io/web:2"))
    spec, pulls = PodSpec(containers=[Container(image="r.io/web:2")]), ImagePulls(nodes)
    assert pulls.images_to_pull(spec, 0, landing({4: 0.95, 1: 0.05})) == []
    assert pulls.images_to_pull(spec, 0, landing({4: 0.9, 1: 0.05, 2: 0.05})) == ["r.io/web:2"], (
        "they count together"
    )
    assert pulls.images_to_pull(spec, 0, landing({})) == []


def test_images_of_init_containers_and_volumes_are_pulled_too() -> None:
    images = ["r.io/init:1", "r.io/model:7"]
    nodes = [reporting("n0", *images), reporting("n1", "r.io/db:1")]
    spec = PodSpec(
        initContainers=[Container(image="r.io/init:1")],
        containers=[Container()],
        volumes=[Volume(image={"reference": "r.io/model:7"}), Volume(image={}), Volume()],
    )
    assert ImagePulls(nodes).images_to_pull(spec, 0, landing({1: 1.0})) == images


def test_plans_send_who_pulls_one_image_one_after_the_other() -> None:
    def batches(image: str, size: int) -> list[int]:
        before = picture("""
            zone a | n1 | web web api api
            zone b | n2 | -
            zone b | n3 | -
        """)
        for there in before.nodes:
            there.status.images = [ContainerImage(names=["pause:1"], sizeBytes=1)]
        for pod in before.pods:
            name = image or (pod.metadata.labels or {})["app"]
            pod.spec.containers[0].image = name
            before.nodes[0].status.images = [
                *(before.nodes[0].status.images or ()),
                ContainerImage(names=[full_name(name)], sizeBytes=1),
            ]
        limits = Limits(batchSize=size, movesPerNode=4, movesPerNamespace=4, margin=0, gainShare=0)
        made = planned(before, policy_set([spread()], limits), History(), mode="Enforce")
        return [move.batch for move in made.moves]

    assert batches("", 2) == [1, 1]
    assert batches("base:1", 2) == [1, 2]
