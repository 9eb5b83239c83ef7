"""Policy tests of Fragmentation: what is stranded, what is missing, and what moves free."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from rescheduler.documents.label_selector import Selector
from rescheduler.kube.objects import ObjectMeta
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.fragmentation.free_capacity import Rows
from rescheduler.policies.fragmentation.pending_places import PendingPlaces, PendingShape
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.fragmentation.term import FragmentationTerm
from rescheduler.policies.match import Match
from rescheduler.policies.shared.demand import Demand, Devices, demand
from tests.cases import every
from tests.cluster import NOW, deployment, node, pod, snapshot
from tests.picture import picture
from tests.policies import kit
from tests.policies.conformance import Mistake, unfound
from tests.policies.drawn import SHARE

GPU = "nvidia.com/gpu"


def fragmentation(**more: Any) -> Fragmentation:
    return Fragmentation(name="f", match=Match(all=True), **more)


def term(policy: Fragmentation, before: Snapshot) -> FragmentationTerm:
    made = policy.compile(before)
    assert isinstance(made, FragmentationTerm), made
    return made


def gpus(count: int) -> dict[str, Any]:
    return {"cpu": "1", GPU: str(count)}


def test_two_halves_become_a_whole_and_an_empty_node() -> None:
    before = picture(
        """
        zone a | n1 gpu 8 cpu 16 | small
        zone a | n2 gpu 8 cpu 64 | small
        zone a | n3 gpu 8        | large large
    """,
        requests={"small": gpus(4), "large": gpus(4)},
    )
    whole = fragmentation(popularity="All", workloads={"labels": {"matchLabels": {"app": "huge"}}})
    assert whole.compile(before) == Problem("FRG003", "no pod asks for gpu")
    asked = snapshot(
        before.nodes,
        [*before.pods, pod("huge-0", requests=gpus(8), labels={"app": "huge"})],
        controllers=before.controllers,
    )
    made = term(whole, asked)
    assert made.stranded_amounts() == {"gpu": 8.0}
    assert made.cost() == 1.0
    assert made.candidates().tolist() == [0, 1]
    assert made.deltas(0, np.array([0, 1], dtype=np.int32)).tolist() == [0, -1]


def test_shares_of_a_gpu_strand_what_is_left_of_it() -> None:
    """0.3 are left of one GPU: of use to a share of 0.3, of none to one of 0.7 or a whole one."""
    owner = deployment("task")
    room = {GPU: "2", "cpu": "8"}
    asked = [{SHARE: "700"}, {SHARE: "300"}, {GPU: "1"}]
    pods = [pod("p0", "n1", owner=owner[1], requests=asked[0])]
    pods += [pod(f"p{i}", owner=owner[1], requests=asked[i]) for i in (1, 2)]
    before = snapshot([node("n1", allocatable=room)], pods, controllers=owner)
    made = term(fragmentation(sharedGpus={"resource": SHARE}), before)
    # Idle are 1.3; the types are one pod each, and ask for 2/3 of a GPU on average.
    assert made.stranded_amounts()["gpu"] == pytest.approx((0.3 + 0 + 0.3) / 3)
    assert made.cost() == pytest.approx(0.2 / (2 / 3))


def test_a_share_stays_on_the_device_that_its_annotation_names() -> None:
    owner = deployment("task")
    notes = [{"alibabacloud.com/gpu-index": str(device)} for device in (0, 1)]
    pods = [
        pod(f"p{i}", "n1", owner=owner[1], requests={SHARE: "500"}, annotations=notes[i])
        for i in (0, 1)
    ]
    pods.append(pod("big", owner=owner[1], requests={GPU: "1"}))
    nodes = [node("n1", allocatable={GPU: "2"}), node("n2", allocatable={GPU: "1"})]
    before = snapshot(nodes, pods, controllers=owner)
    made = term(fragmentation(sharedGpus={"resource": SHARE}), before)
    # Both GPUs of n1 are half full, so that the whole one is good for nothing there.
    assert made.stranded_amounts()["gpu"] == pytest.approx(1 / 3)
    to_n2 = made.deltas(0, np.array([0, 1], dtype=np.int32))
    assert to_n2[0] == 0


def test_cpu_is_stranded_where_memory_is_short() -> None:
    before = picture(
        """
        zone a | n1 cpu 8 memory 8Gi  | eater
        zone a | n2 cpu 8 memory 32Gi | -
    """,
        requests={"eater": {"cpu": "1", "memory": "8Gi"}},
    )
    made = term(fragmentation(resources=["cpu"]), before)
    assert made.stranded_amounts() == {"cpu": 7000.0}
    assert made.cost() == 7.0


def gang(count: int = 2) -> Snapshot:
    owner = deployment("gang")
    before = picture(
        """
        zone a | n1 gpu 8 cpu 64 | small
        zone a | n2 gpu 8 cpu 64 | small small
        zone a | n3 gpu 8 cpu 64 | small small small
        zone a | n4 gpu 8 cpu 64 | rock rock rock rock rock
    """,
        requests={"small": gpus(1), "rock": gpus(1)},
    )
    waiting = [
        pod(f"gang-{i}", owner=owner[1], requests=gpus(8), labels={"app": "gang"})
        for i in range(count)
    ]
    controllers = [*before.controllers, *owner]
    return snapshot(before.nodes, [*before.pods, *waiting], controllers=controllers)


ROOM = Match(labels=Selector(matchLabels={"app": "gang"}))


def test_the_places_that_are_nearly_free_are_freed_first() -> None:
    made = term(fragmentation(resources=[], room=ROOM), gang())
    assert made.cost() == pytest.approx(1 / 8 + 2 / 8)
    [finding] = made.findings()
    assert finding.code == "FRG002"
    assert finding.pods == (0, 1, 2)
    # From n1 to n3 a place is free; from n2 to n1 both places miss more or the same.
    assert made.deltas(0, np.array([0, 1, 2, 3], dtype=np.int32)).tolist() == pytest.approx(
        [0, 0, -1 / 8, -1 / 8]
    )


def with_priorities(before: Snapshot, running: int, waiting: int) -> Snapshot:
    for pod_object in before.pods:
        pod_object.spec.priority = running if pod_object.node else waiting
    return before


@every([(0, 0, True), (0, 10, True), (10, 10, True), (1_000_000, -1000, False), (1, 0, False)])
def test_no_pod_makes_room_for_one_of_a_lower_priority(
    running: int, waiting: int, moves: bool
) -> None:
    made = term(fragmentation(resources=[], room=ROOM), with_priorities(gang(), running, waiting))
    assert made.cost() == pytest.approx(1 / 8 + 2 / 8), "what waits is missing all the same"
    there = np.array([0, 1, 2, 3], dtype=np.int32)
    assert (made.deltas(0, there).min() < 0) == moves
    assert (len(made.candidates()) > 0) == moves
    [*_, last] = [made.deltas(pod, there) for pod in range(3)]
    assert last.max() >= 0, "what takes a place away is charged, whatever its priority"


@pytest.mark.parametrize(("running", "waiting", "moves"), [(5, 5, 6), (5, 4, 0)])
def test_no_pod_makes_room_for_a_gang_of_a_lower_priority(
    running: int, waiting: int, moves: int
) -> None:
    before = with_priorities(gang(), running, waiting)
    owner = deployment("gang")[1]
    whole = [
        pod if pod.node else structs.replace(pod, metadata=_of_gang(pod.metadata))
        for pod in before.pods
    ]
    made = term(
        fragmentation(resources=[], room=ROOM),
        snapshot(before.nodes, whole, controllers=[*before.controllers, owner]),
    )
    relief = [
        made.relief(*place)[0]
        for name in made.gangs_without_room()
        for place in made.open_for(name)
    ]
    assert sum(map(len, relief)) >= moves
    assert bool(sum(map(len, relief))) == bool(moves)


def _of_gang(metadata: ObjectMeta) -> ObjectMeta:
    return structs.replace(
        metadata,
        annotations={"scheduling.k8s.io/group-name": "gang"},
    )


def test_nodes_that_could_never_be_freed_are_not_counted_on() -> None:
    policy = Fragmentation(
        name="f",
        match=Match(labels=Selector(matchLabels={"app": "rock"})),
        resources=[],
        room=ROOM,
    )
    made = term(policy, gang(1))
    assert made.cost() == pytest.approx(5 / 8)
    [finding] = made.findings()
    assert "n4" in finding.message


def test_a_gang_that_has_room_or_is_not_there_costs_nothing() -> None:
    assert term(fragmentation(resources=[], room=ROOM), gang(0)).cost() == 0
    before = picture("zone a | n1 gpu 8 | -")
    pods = [pod("gang-0", requests=gpus(8), labels={"app": "gang"})]
    made = term(fragmentation(resources=[], room=ROOM), snapshot(before.nodes, pods))
    assert made.cost() == 0
    assert list(made.findings()) == []


def test_pods_that_are_being_deleted_wait_for_no_room() -> None:
    before = gang(1)
    before.pods[-1].metadata.deletionTimestamp = NOW
    assert term(fragmentation(resources=[], room=ROOM), before).cost() == 0


@settings(max_examples=80)
@given(
    left=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5),
    asked=st.tuples(st.integers(1, 5), st.integers(0, 5)),
    count=st.integers(1, 6),
)
def test_missing_room_is_that_of_the_best_places(
    left: list[tuple[int, int]], asked: tuple[int, int], count: int
) -> None:
    """Against filling one place after the other, always the one that misses least."""
    rows = Rows(
        np.arange(len(left), dtype=np.int32),
        np.array([cpu for cpu, _ in left], dtype=np.int64),
        np.array([memory for _, memory in left], dtype=np.int64),
        np.zeros((len(left), 1), dtype=np.int64),
    )
    made = PendingPlaces([PendingShape(Demand(*asked), count, np.full(len(left), count), "")], rows)
    places = []
    for cpu, memory in left:
        for _ in range(count):
            lacks = [
                max(0.0, 1 - have / want)
                for have, want in zip((cpu, memory), asked, strict=True)
                if want
            ]
            places.append(max(lacks))
            if places[-1] > 0:
                break
            cpu, memory = cpu - asked[0], memory - asked[1]  # noqa: PLW2901
    places += [1.0] * count
    assert made.costs() == pytest.approx({0: sum(sorted(places)[:count])})
    assert made.cost() == pytest.approx(sum(sorted(places)[:count]))


def test_what_a_pod_asks_for_is_what_kube_scheduler_counts() -> None:
    made = pod(
        "p",
        requests={"cpu": "1", GPU: "2"},
        overhead={"cpu": "250m"},
        initContainers=[
            {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
            {"name": "once", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}},
        ],
    )
    assert demand(made.spec, Devices(GPU)) == Demand(3750, 2**30, 2, 0)
    shared = pod("q", requests={SHARE: "250"})
    assert demand(shared.spec, Devices(GPU, SHARE, 1000)).share == 250


def test_the_kit_finds_each_part_that_is_wrong() -> None:
    mistakes: list[Mistake] = [
        (
            "free_capacity.FreeCapacity.rows_without",
            kit.check_deltas,
            lambda self, _p, nodes: self.free_rows().take(nodes),
        ),
        ("term.FragmentationTerm._arrivals", kit.check_deltas, lambda self, _number: -self._now),
        ("stranded_capacity.Stranding.cost", kit.check_bounds, lambda _, rows: rows.cpu * 1.0),
    ]
    given = [(f"fragmentation.{part}", check, wrong) for part, check, wrong in mistakes]
    assert unfound("Fragmentation", given) == []
