"""Policy tests of Locality: what each source of preferences asks for, and what it leaves alone."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.model.cluster.readings import Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.locality.data_locality import DataLocality
from rescheduler.policies.locality.domain_distance import distances_apart
from rescheduler.policies.locality.domain_tree import KNOWN, Level, tree
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.locality.term import LocalityTerm
from rescheduler.policies.locality.traffic_term import TrafficPair, TrafficTerm
from tests.cluster import deployment, node, pod, snapshot
from tests.picture import move, picture, proposed
from tests.policies import kit
from tests.policies.conformance import unfound

WEB = {"labels": {"matchLabels": {"app": "web"}}}
DB = {"labels": {"matchLabels": {"app": "db"}}}
HOST: list[dict[str, Any]] = [{"name": "host", "labels": ["kubernetes.io/hostname"]}]
ZONE: list[dict[str, Any]] = [{"name": "zone", "labels": ["topology.kubernetes.io/zone"]}]
END = {"namespace": "ns", "name": "workload"}


def locality(**more: Any) -> Locality:
    return Locality(name="l", **{"match": {"all": True}, **more})


def term(policy: Locality, before: Snapshot) -> LocalityTerm:
    made = policy.compile(before)
    assert isinstance(made, LocalityTerm), made
    return made


def test_a_pod_goes_where_its_partners_are() -> None:
    before = picture("""
        zone a | n1 cpu 64 memory 256Gi | db db
        zone b | n2 cpu 1 memory 2Gi    | web web
    """)
    policy = locality(match=WEB, pairs=[{"pods": WEB, "near": DB}], levels=ZONE)
    assert term(policy, before).cost() == 2
    assert proposed(before, policy) == [move("web", "n2", "n1")]


def test_a_pair_counts_what_its_smaller_side_has() -> None:
    before = picture("""
        zone a | n1 | db
        zone b | n2 | web web web
    """)
    made = term(locality(pairs=[{"pods": WEB, "near": DB, "weight": 0.5}], levels=ZONE), before)
    assert made.cost() == 0.5
    [db] = [i for i, pod in enumerate(before.pods) if pod.metadata.labels == {"app": "db"}]
    assert made.deltas(db, np.array([1], dtype=np.int32)).tolist() == [-0.5]


def test_half_of_the_way_is_half_of_the_cost() -> None:
    before = picture("""
        zone a | n1 | db
        zone a | n2 | web
        zone b | n3 | -
    """)
    made = term(locality(pairs=[{"pods": WEB, "near": DB}]), before)
    assert made.cost() == pytest.approx(0.5)
    assert made.deltas(0, np.array([0, 1, 2], dtype=np.int32)).tolist() == pytest.approx(
        [0, -0.5, 0.5]
    )


@settings(max_examples=60)
@given(
    ones=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    others=st.lists(st.integers(0, 3), min_size=1, max_size=6),
)
def test_the_mean_distance_is_that_of_the_best_matching(ones: list[int], others: list[int]) -> None:
    """traffic is a transport problem between equal shares; the tree makes greedy matching best."""
    labels = ["a", "a", "b", "c"]
    nodes = [node(f"n{number}", zone=zone) for number, zone in enumerate(labels)]
    before = snapshot(nodes, [])
    domains = tree([Level(**HOST[0]), Level(**ZONE[0])], before)
    at = np.array([*ones, *others], dtype=np.int32)
    one = np.arange(len(ones), dtype=np.int32)
    other = np.arange(len(ones), len(at), dtype=np.int32)
    made = TrafficTerm([TrafficPair(one, other, 1.0, "")], domains, at)

    left = {(side, n): 0.0 for side in (0, 1) for n in range(4)}
    for side, group in enumerate((ones, others)):
        for n in group:
            left[side, n] += 1 / len(group)
    total = 0.0
    for distance in (0.0, 0.5, 1.0):
        for a in range(4):
            for b in range(4):
                away = 0.0 if a == b else 0.5 if labels[a] == labels[b] else 1.0
                if away == distance:
                    flow = min(left[0, a], left[1, b])
                    left[0, a] -= flow
                    left[1, b] -= flow
                    total += flow * distance
    assert made.cost() == pytest.approx(total)


def test_a_job_group_wants_one_rack_and_many_hosts() -> None:
    racks = {"n1": "r1", "n2": "r1", "n3": "r2"}
    owner = deployment("job")
    nodes = [node(n, labels={"topology.kubernetes.io/rack": r}) for n, r in racks.items()]
    pods = [pod(f"job-{i}", n, owner=owner[1]) for i, n in enumerate(["n1", "n1", "n3"])]
    group = {"pods": {"all": True}, "together": "rack", "apart": "host"}
    made = term(locality(groups=[group]), snapshot(nodes, pods, controllers=owner))
    # One is in another rack, one shares its host: half a pod each.
    assert made.cost() == 1.0
    assert sorted(finding.message for finding in made.findings()) == [
        "1 of 3 pods shares a host with another",
        "no rack has more than 2 of the 3 pods",
    ]
    assert made.deltas(2, np.array([0, 1, 2], dtype=np.int32)).tolist() == [0, -0.5, 0]
    assert made.deltas(0, np.array([0, 1, 2], dtype=np.int32)).tolist() == [0, -0.5, 0]


def affine(weight: int | None) -> Snapshot:
    """web wants to be in the zone of db, required or with a weight, and is not."""
    rule: Any = {
        "labelSelector": {"matchLabels": {"app": "db"}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    kind = "requiredDuringSchedulingIgnoredDuringExecution"
    if weight is not None:
        kind = "preferredDuringSchedulingIgnoredDuringExecution"
        rule = {"weight": weight, "podAffinityTerm": rule}
    affinity = {"podAffinity": {kind: [rule]}}
    return picture(
        """
        zone a | n1 | db db
        zone b | n2 | web web
    """,
        specs={"web": {"affinity": affinity}},
    )


@pytest.mark.parametrize("weight", [None, 1, 100])
def test_what_pods_ask_for_themselves_is_evaluated_again(weight: int | None) -> None:
    before = affine(weight)
    policy = locality(match=WEB, podAffinity=True)
    assert term(policy, before).cost() == 2.0
    assert proposed(before, policy) == [move("web", "n2", "n1")]


def test_one_partner_that_moves_makes_many_pods_glad() -> None:
    before = affine(100)
    made = term(locality(podAffinity=True), before)
    [db, *_] = [i for i, pod in enumerate(before.pods) if pod.metadata.labels == {"app": "db"}]
    assert made.deltas(db, np.array([0, 1], dtype=np.int32)).tolist() == [0, -2]


def test_a_term_without_any_partner_is_reported_and_not_counted() -> None:
    before = affine(100)
    before.pods[:] = [pod for pod in before.pods if pod.metadata.labels != {"app": "db"}]
    made = term(locality(podAffinity=True), snapshot(before.nodes, before.pods))
    assert made.cost() == 0
    assert "1 podAffinity terms" in made.warnings()[0].message


def traffic(before: Snapshot, policy: Locality, *rows: tuple[str, str, float]) -> Snapshot:
    [request] = policy.requests()
    reading = Reading(
        request=request,
        unit="",
        values=np.array([value for *_, value in rows]),
        ages=np.zeros(len(rows)),
        expected=np.ones(len(rows), dtype=np.bool_),
        pairs=tuple((one, other) for one, other, _ in rows),
    )
    controllers = before.controllers
    return snapshot(before.nodes, before.pods, controllers=controllers, readings=[reading])


def test_measured_talk_is_weighed_by_its_amount() -> None:
    before = picture("""
        zone a | n1 | db cache
        zone b | n2 | web
    """)
    policy = locality(traffic={"series": "x", "source": END, "destination": END}, levels=ZONE)
    made = term(
        policy,
        traffic(
            before,
            policy,
            ("default/web", "default/db", 6.0),
            ("default/db", "default/web", 3.0),
            ("default/web", "default/cache", 1.0),
            ("default/web", "default/web", 50.0),
        ),
    )
    # The average traffic of three pods is 2 * 10 / 3.
    assert made.cost() == pytest.approx(1.5)
    assert sorted(finding.cost for finding in made.findings()) == pytest.approx([0.15, 1.35])


def test_talk_to_a_zone_pulls_there() -> None:
    before = picture("""
        zone a | n1 | -
        zone b | n2 | web web
    """)
    policy = locality(traffic={"series": "x", "source": END, "destinationDomain": "zone"})
    made = term(policy, traffic(before, policy, ("default/web", "a", 9.0)))
    assert made.cost() == pytest.approx(2)
    assert made.deltas(0, np.array([0, 1], dtype=np.int32)).tolist() == pytest.approx([-1, 0])


def test_zones_that_nobody_is_in_are_reported_once_each() -> None:
    before = picture("""
        zone a | n1 | -
        zone b | n2 | web db
    """)
    policy = locality(traffic={"series": "x", "source": END, "destinationDomain": "zone"})
    rows = [(f"default/{app}", zone, 9.0) for app in ("web", "db") for zone in ("a", "far")]
    made = term(policy, traffic(before, policy, *rows))
    assert [warning.message for warning in made.warnings()] == [
        "traffic of 2 workloads is to far, which no node is in"
    ]
    [anchoring] = made.parts
    assert isinstance(anchoring, DataLocality)
    one, other = anchoring.data_affinities
    assert one.distances is other.distances, "thousands of workloads share a few zones"


def test_data_pulls_by_node_label_and_by_catalog() -> None:
    nodes = [node("n1", zone="a", labels={"has/pile": "true"}), node("n2", zone="a")]
    nodes.append(node("n3", zone="b"))
    notes = {"rescheduler.io/dataset": "pile"}
    owner = deployment("train")
    pods = [pod(f"t{i}", f"n{i + 1}", owner=owner[1], annotations=notes) for i in range(3)]
    before = snapshot(nodes, pods, controllers=owner)
    by_label = locality(datasets={"nodeLabel": "has/{dataset}"})
    assert term(by_label, before).cost() == pytest.approx(0 + 0.5 + 1)
    by_catalog = locality(datasets={"catalog": "lake"})
    made = term(by_catalog, traffic(before, by_catalog, ("pile", "zone=a", 1.0)))
    assert made.cost() == pytest.approx(1)
    down = by_catalog.compile(before)
    assert isinstance(down, Problem)
    assert down.code == "RDG007"


def test_one_source_that_is_down_does_not_silence_the_others() -> None:
    before = picture("""
        zone a | n1 | db
        zone b | n2 | web
    """)
    data = {"catalog": "lake"}
    made = term(locality(pairs=[{"pods": WEB, "near": DB}], datasets=data), before)
    assert made.cost() == pytest.approx(1)
    assert made.warnings()[0].code == "RDG007"


def test_the_tree_takes_what_the_nodes_have() -> None:
    rack = "network.topology.nvidia.com/leaf"
    nodes = [
        node("n1", zone="a", labels={rack: "1", "topology.kubernetes.io/region": "r"}),
        node("n2", zone="a", labels={rack: "1", "topology.kubernetes.io/region": "r"}),
        node("n3", zone="b", labels={rack: "1", "topology.kubernetes.io/region": "r"}),
        node("n4", zone="b", labels={"topology.kubernetes.io/region": "r"}),
    ]
    domains = tree(KNOWN, snapshot(nodes, []))
    # All share the region, so it distinguishes nothing; the rack of n3 only has the same name.
    assert domains.names == ("host", "rack", "zone")
    assert domains.distances([0]).tolist() == pytest.approx([0, 1 / 3, 1, 1])
    assert domains.distances([3]).tolist() == pytest.approx([1, 1, 2 / 3, 0])


def test_without_labels_it_is_not_evaluated() -> None:
    before = snapshot([node("n1")], [])
    problem = locality(podAffinity=True, levels=ZONE).compile(before)
    assert isinstance(problem, Problem)
    assert problem.code == "LOC005"


def test_the_kit_finds_each_part_that_is_wrong() -> None:
    mistakes: dict[str, Any] = {
        "traffic_term.TrafficTerm._removed_share": lambda *_: 0.0,
        "traffic_term.TrafficTerm.gain_bound": lambda *_: 0.0,
        "traffic_term.TrafficTerm._nearer": lambda *_: np.ones(9),
        "placement_group.PlacementGroupTerm._together_deltas": lambda *given: np.ones(
            len(given[3])
        ),
        "preferred_pod_affinity.PreferredAffinities.deltas": lambda *given: np.ones(len(given[3])),
        "data_locality.DataLocality.commit": lambda _, shift: np.array([shift.pod]),
    }
    apart: list[Any] = [
        lambda one, other, far: distances_apart(one, other, far)[::-1],
        lambda one, other, far: distances_apart(one, other, far) * len(one),
    ]
    parts = [*mistakes.items(), *(("traffic_term.distances_apart", wrong) for wrong in apart)]
    wrong_parts = [(f"locality.{part}", kit.check_deltas, wrong) for part, wrong in parts]
    assert unfound("Locality", wrong_parts) == []


GPU_POOL = """
    accelerator x | n1 | -
                  | n2 | db web
                  | n3 | -
"""
ACCELERATOR: dict[str, Any] = {"name": "accelerator", "labels": ["accelerator"]}


def test_a_host_without_the_label_of_a_level_is_at_no_distance_from_itself() -> None:
    """A cluster of CPU and GPU nodes: only the latter have an accelerator's domain."""
    before = picture(GPU_POOL)
    policy = locality(pairs=[{"pods": WEB, "near": DB}], levels=[*HOST, ACCELERATOR])
    made = term(policy, before)
    assert made.cost() == 0
    assert len(made.candidates()) == 0
    # Two hosts that both lack it share nothing.
    assert made.deltas(1, np.array([0, 1, 2], dtype=np.int32)).tolist() == [1, 0, 1]
    domains = tree([Level(**HOST[0]), Level(**ACCELERATOR)], before)
    assert domains.distances([1]).tolist() == [1, 0, 1]
    assert domains.distances([1], 1).tolist() == [1, 0, 1]


def test_pods_on_one_host_without_the_label_are_together_and_not_apart() -> None:
    before = picture(GPU_POOL.replace("db", "web"))
    for preference in ({"together": "accelerator"}, {"apart": "accelerator"}):
        group = {"pods": WEB, **preference}
        policy = locality(groups=[group], levels=[*HOST, ACCELERATOR])
        assert term(policy, before).cost() == (0 if "together" in preference else 1)


def test_the_groups_may_be_gangs_whoever_owns_their_pods() -> None:
    nodes = [node(f"n{rack}", labels={"rack": f"r{rack}"}) for rack in range(2)]
    owners = [deployment(name, replicas=2) for name in ("driver", "worker", "web")]
    mark = {"jobset.sigs.k8s.io/jobset-name": "train"}
    pods = [
        pod(f"{name}-{n}", f"n{on}", owner=owner, labels=labels)
        for n, (name, on, owner, labels) in enumerate(
            [
                ("driver", 0, owners[0][1], mark),
                ("worker", 0, owners[1][1], mark),
                ("worker", 1, owners[1][1], mark),
                ("web", 0, owners[2][1], {"app": "web"}),
                ("web", 1, owners[2][1], {"app": "web"}),
            ]
        )
    ]
    made = snapshot(nodes, pods, controllers=[controller for pair in owners for controller in pair])
    group = {"pods": {"all": True}, "by": "Gang", "together": "rack"}
    levels = [{"name": "rack", "labels": ["rack"]}]
    found = list(term(locality(groups=[group], levels=levels), made).findings())
    assert [(finding.subject, finding.pods) for finding in found] == [
        ("gang default/train", (0, 1, 2)),
        ("Deployment default/web", (3, 4)),
    ]
