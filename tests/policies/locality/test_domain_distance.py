"""Policy tests of measured distances: zones are as far from each other as it was measured."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model.cluster.readings import Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.locality.domain_distance import distances_apart
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.locality.term import LocalityTerm
from tests.cases import every
from tests.cluster import deployment, node, pod, snapshot
from tests.picture import move, picture, proposed

WEB: Any = {"labels": {"matchLabels": {"app": "web"}}}
DB = {"labels": {"matchLabels": {"app": "db"}}}
ZONE: Any = [{"name": "zone", "labels": ["topology.kubernetes.io/zone"]}]
NEAR_AND_FAR = (("a", "b", 2.0), ("b", "a", 4.0), ("a", "c", 10.0), ("b", "c", 10.0))

THREE = """
    zone a | n1 cpu 2 | db db
    zone b | n2       | -
    zone c | n3       | web web log log
"""


def policy(**more: Any) -> Locality:
    far: Any = {"series": "sent", "source": "src_zone", "destination": "dst_zone"}
    far |= more.pop("distances", {})
    preferences = {"match": WEB, "levels": ZONE, "pairs": [{"pods": WEB, "near": DB}], **more}
    return Locality(name="l", distances=far, **preferences)


def measured(
    before: Snapshot,
    wanted: Locality,
    *rows: tuple[str, str, float],
    problem: Problem | None = None,
) -> Snapshot:
    [request] = [
        reading_request
        for reading_request in wanted.requests()
        if reading_request.name == "pair.distance"
    ]
    reading = Reading(
        request=request,
        unit="",
        values=np.array([value for *_, value in rows]),
        ages=np.zeros(len(rows)),
        expected=np.ones(len(rows), dtype=np.bool_),
        notes=("something was odd",),
        problem=problem,
        pairs=tuple((one, other) for one, other, _ in rows),
    )
    return snapshot(before.nodes, before.pods, controllers=before.controllers, readings=[reading])


def term(wanted: Locality, before: Snapshot) -> LocalityTerm:
    made = wanted.compile(before)
    assert isinstance(made, LocalityTerm), made
    return made


def test_distances_of_too_many_domains_are_refused_before_they_are_made() -> None:
    """5,000 hosts would be 25 million distances, and each move evaluated by as many."""
    hosts = policy(levels=[{"name": "host", "labels": ["host"]}], distances={"level": "host"})
    nodes = [node(f"n{n}", labels={"host": f"h{n}"}) for n in range(600)]
    made = hosts.compile(measured(snapshot(nodes, []), hosts, ("h0", "h1", 1.0)))
    assert isinstance(made, Problem)
    assert made.code == "LOC006"
    assert "600 domains" in made.message


def test_nodes_without_the_label_are_domains_of_their_own() -> None:
    """At no distance from themselves, as far as can be from all others, and they count too."""
    before = picture("""
        zone a | n1 | -
        zone b | n2 | -
               | n3 | db web
               | n4 | -
    """)
    wanted = policy()
    made = term(wanted, measured(before, wanted, ("a", "b", 3.0)))
    assert made.cost() == 0
    assert made.deltas(1, nodes(0, 1, 2, 3)).tolist() == pytest.approx([1, 1, 0, 1])
    many = [*before.nodes, *(node(f"m{number}") for number in range(600))]
    refused = problem_of(wanted, measured(snapshot(many, before.pods), wanted, ("a", "b", 3.0)))
    assert "2 domains and 602 nodes without its label" in refused.message


def problem_of(wanted: Locality, before: Snapshot) -> Problem:
    made = wanted.compile(before)
    assert isinstance(made, Problem), made
    return made


def nodes(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int32)


def test_the_near_zone_will_do_where_the_right_one_has_no_room() -> None:
    before = picture(THREE)
    wanted = policy()
    known = measured(before, wanted, *NEAR_AND_FAR)
    made = term(wanted, known)
    assert made.cost() == pytest.approx(2)
    [web, _] = [i for i, pod in enumerate(before.pods) if pod.metadata.labels == {"app": "web"}]
    # Both directions between a and b have a mean of 3, of the 10 of the farthest two.
    assert made.deltas(web, nodes(0, 1, 2)).tolist() == pytest.approx([-1, -0.7, 0])
    [finding] = made.findings()
    assert finding.message.endswith(
        "0% within a zone can stay; what leaves its zone goes 100% of the farthest distance"
    )
    assert proposed(known, wanted) == [move("web", "n3", "n2")]
    fixed = Locality(name="l", match=WEB, levels=ZONE, pairs=wanted.pairs)
    assert proposed(before, fixed) == [], "every other zone is as far as in the tree"


def test_levels_within_and_around_count_as_before() -> None:
    before = picture("""
        zone a | n1 | db
        zone a | n2 | -
        zone b | n3 | web
        zone c | n4 | -
    """)
    wanted = policy(
        levels=[{"name": "host", "labels": ["kubernetes.io/hostname"], "weight": 3.0}, *ZONE]
    )
    made = term(wanted, measured(before, wanted, *NEAR_AND_FAR))
    assert made.cost() == pytest.approx(0.75 + 0.25 * 0.3)
    [web] = [i for i, pod in enumerate(before.pods) if pod.metadata.labels == {"app": "web"}]
    assert (made.cost() + made.deltas(web, nodes(0, 1, 3))).tolist() == pytest.approx([0, 0.75, 1])


def test_data_and_talk_to_a_zone_use_the_same_distances() -> None:
    owner = deployment("train")
    notes = {"rescheduler.io/dataset": "pile"}
    hosts = [node("na", zone="a", labels={"has/pile": "true"})]
    hosts += [node(f"n{zone}", zone=zone) for zone in "bc"]
    pods = [pod(f"t{zone}", f"n{zone}", owner=owner[1], annotations=notes) for zone in "abc"]
    before = snapshot(hosts, pods, controllers=owner)
    wanted = policy(pairs=[], datasets={"nodeLabel": "has/{dataset}"})
    made = term(wanted, measured(before, wanted, *NEAR_AND_FAR))
    assert made.cost() == pytest.approx(0 + 0.3 + 1)
    assert made.deltas(2, nodes(0, 1, 2)).tolist() == pytest.approx([-1, -0.7, 0])


@every(
    [
        ((), "RDG003"),
        ((("a", "b", 2.0), ("a", "c", 10.0)), "RDG003"),
        ((("a", "b", 2.0), ("a", "c", 10.0), ("b", "c", float("nan"))), "RDG003"),
        ((("a", "b", 2.0), ("a", "c", 10.0), ("b", "c", -1.0)), "RDG003"),
        ((("a", "b", 2.0), ("a", "c", 10.0), ("b", "elsewhere", 1.0)), "RDG003"),
        ((("a", "b", 0.0), ("a", "c", 0.0), ("b", "c", 0.0)), "LOC006"),
    ]
)
def test_with_a_missing_distance_the_policy_is_not_evaluated(rows: Any, code: str) -> None:
    wanted = policy()
    before = measured(picture(THREE), wanted, *rows)
    assert problem_of(wanted, before).code == code
    assert proposed(before, wanted) == []


def test_the_report_names_the_pair_and_what_was_odd() -> None:
    wanted = policy()
    refused = problem_of(
        wanted, measured(picture(THREE), wanted, ("a", "b", 2.0), ("c", "a", 10.0))
    )
    assert refused.message == (
        "1 of 3 pairs of a zone have no value, such as b and c. something was odd"
    )


def test_absent_and_unfit_readings_silence_the_policy() -> None:
    wanted = policy()
    assert problem_of(wanted, picture(THREE)).code == "RDG007"
    partial = Problem("RDG002", "partial")
    assert problem_of(wanted, measured(picture(THREE), wanted, problem=partial)) == partial


def test_missing_distances_that_are_allowed_are_as_far_as_the_farthest() -> None:
    wanted = policy(distances={"minCoverage": 0.6})
    made = term(wanted, measured(picture(THREE), wanted, ("a", "b", 2.0), ("b", "c", 10.0)))
    assert made.cost() == pytest.approx(2), "a and c were not measured"


def test_two_domains_of_one_name_are_not_distinguished() -> None:
    rack = "topology.kubernetes.io/rack"
    hosts = [
        node(f"n{zone}{number}", zone=zone, labels={rack: f"r{number}"})
        for zone in "ab"
        for number in (1, 2)
    ]
    wanted = policy(levels=[{"name": "rack", "labels": [rack]}, *ZONE], distances={"level": "rack"})
    before = measured(snapshot(hosts, []), wanted, ("r1", "r2", 1.0))
    assert "6 of 6 pairs of a rack" in problem_of(wanted, before).message


def test_with_one_zone_nothing_is_far() -> None:
    wanted = policy(levels=[{"name": "host", "labels": ["kubernetes.io/hostname"]}, *ZONE])
    made = term(wanted, picture("zone a | n1 | db\nzone a | n2 | web"))
    assert made.cost() == pytest.approx(1)
    assert made.warnings()[0].code == "LOC006"


shares = (
    st.lists(st.integers(0, 3), min_size=4, max_size=4)
    .filter(any)
    .map(lambda weights: np.array([weights]) / sum(weights))
)


@given(one=shares, other=shares)
def test_where_all_are_equally_far_it_is_what_gained_affinity_leaves(one: Any, other: Any) -> None:
    far = np.ones((4, 4))
    np.fill_diagonal(far[:3, :3], 0.0)
    gained = np.minimum(one, other)[0, :3].sum()
    assert distances_apart(one, other, far) == pytest.approx([1 - gained])
    assert distances_apart(one, other, far / 2) == pytest.approx([(1 - gained) / 2])
