"""Spread, in stories."""

import numpy as np
import pytest

from rescheduler.model.move import Shift
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread import Spread, SpreadTerm
from tests.picture import move, picture, proposed, workloads

ROOMY = Limits(
    movesPerWorkload=10,
    inFlightPerWorkload=10,
    movesPerCycle=10,
    movesPerNode=10,
    movesPerNamespace=10,
)
"""Limits that do not stand in the way of a story."""


def spread(**spec: object) -> Spread:
    return Spread(name="s", match={"all": True}, **spec)


def term(text: str, **spec: object) -> SpreadTerm:
    return spread(**spec).compile(picture(text))


def test_a_full_zone_gives_one_pod_to_an_empty_one() -> None:
    before = picture("""
        zone a | n1 | web web web
        zone b | n2 | -
    """)
    assert proposed(before, spread()) == [move("web", "n1", "n2")]


def test_a_recovered_zone_gets_its_share_back() -> None:
    before = picture("""
        zone a | n1 | web web web
        zone b | n2 | web web web
        zone c | n3 | -
    """)
    moves = proposed(before, spread(), limits=ROOMY)
    assert sorted(moves) == [move("web", "n1", "n3"), move("web", "n2", "n3")]


def test_nothing_is_moved_where_the_skew_is_allowed() -> None:
    before = picture("""
        zone a | n1 | web web web
        zone b | n2 | web
    """)
    assert proposed(before, spread(maxSkew=2)) == []
    assert proposed(before, spread(maxSkew=1)) == [move("web", "n1", "n2")]


@pytest.mark.parametrize("flag", ["notready", "cordoned", "tainted"])
def test_a_zone_that_no_pod_could_use_does_not_count(flag: str) -> None:
    assert (
        term(f"""
            zone a | n1        | web web
            zone b | n2        | web web
            zone c | n3 {flag} | -
        """).cost()
        == 0
    )


def test_workloads_are_judged_one_by_one() -> None:
    bound = term("""
        zone a | n1 | web web web
        zone b | n2 | api api api
    """)
    assert bound.cost() == 2
    assert [each.cost for each in bound.findings()] == [1, 1]
    assert bound.scope() == 6
    assert bound.worst() == 2


def test_pods_being_deleted_are_gone_already() -> None:
    assert term("zone a | n1 | (web) (web) web\nzone b | n2 | web").cost() == 0


def test_the_finding_tells_numbers_and_pods() -> None:
    [finding] = term("""
        zone a | n1 | web web web web
        zone b | n2 | -
    """).findings()
    assert finding.code == "SPR001"
    assert finding.subject == "Deployment default/web in topology.kubernetes.io/zone=a"
    assert "holds 4 of 4 pods" in finding.message
    assert "so 2 must leave" in finding.message
    assert finding.pods == (0, 1, 2, 3)


def test_hiding_a_pod_on_a_node_without_a_zone_gains_nothing() -> None:
    before = picture("""
        zone a | n1 | web web
        zone b | n2 | -
               | n3 | -
    """)
    bound = spread().compile(before)
    assert bound.deltas(0, np.array([0, 1, 2], dtype=np.int32)).tolist() == [0, -1, 0]
    bound.commit(Shift(0, 0, 2))
    assert bound.cost() == 1
    assert [each.code for each in bound.findings()] == ["SPR002"]
    assert 0 in bound.candidates()


def test_pods_outside_of_every_zone_are_remarked_and_not_charged() -> None:
    bound = term("""
        zone a | n1 | web
        zone b | n2 | web
               | n3 | web web
    """)
    assert bound.cost() == 0
    [remark] = bound.remarks()
    assert remark.code == "SPR002"
    assert "2 pods of 1 workloads (Deployment default/web first)" in remark.message


def test_a_pod_from_outside_may_fill_an_empty_zone() -> None:
    before = picture("""
        zone a | n1 | web web
        zone b | n2 | -
               | n3 | web
    """)
    bound = spread().compile(before)
    assert bound.deltas(2, np.array([0, 1, 2], dtype=np.int32)).tolist() == [0, -1, 0]
    assert workloads(before, bound.candidates()) == ["web"]


def test_the_nodes_of_a_spread_can_be_narrowed() -> None:
    bound = term(
        """
        zone a pool x | n1 | web web web
        zone b pool x | n2 | web web
        zone c pool y | n3 | -
        """,
        nodes={"labels": {"matchLabels": {"pool": "x"}}},
    )
    assert bound.cost() == 0


def test_daemons_are_no_matter_of_spread() -> None:
    before = picture("zone a | n1 | web web web\nzone b | n2 | -")
    for each in before.controllers:
        if each.kind == "Deployment":
            each.kind = "DaemonSet"
    assert spread().compile(before).scope() == 0


def test_greedy_single_moves_reach_the_least_in_the_least_steps() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        nodes = int(rng.integers(2, 7))
        counts = rng.integers(0, 9, nodes)
        if not counts.sum():
            continue
        text = "\n".join(
            f"zone z{number} | n{number} | {' '.join(['web'] * count) or '-'}"
            for number, count in enumerate(counts)
        )
        bound = term(text, maxSkew=int(rng.integers(1, 3)))
        everywhere = np.arange(nodes, dtype=np.int32)
        at = np.repeat(everywhere, counts)
        for left in range(int(bound.cost()), 0, -1):
            assert bound.cost() == left
            mover = int(bound.candidates()[0])
            change = bound.deltas(mover, everywhere)
            assert change.min() == -1
            bound.commit(Shift(mover, int(at[mover]), int(change.argmin())))
            at[mover] = change.argmin()
        assert bound.cost() == 0
        assert len(bound.candidates()) == 0
