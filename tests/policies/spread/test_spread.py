"""Spread, in policy tests."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from rescheduler.documents.label_selector import Selector
from rescheduler.model.moves.move import Shift
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread, SpreadConstraint
from rescheduler.policies.spread.term import SpreadTerm
from tests.picture import move, picture, proposed, workloads
from tests.policies.spread.zones import ROOMY, ZONES, spread


def term(text: str, **spec: Any) -> SpreadTerm:
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


def test_which_of_equal_domains_gives_hangs_on_no_order_of_nodes() -> None:
    rows = ("zone b | n2 | web web", "zone a | n1 | web web", "zone c | n3 | -")
    for order in itertools.permutations(rows):
        (finding,) = spread().compile(picture("\n".join(order))).findings()
        assert finding.subject.endswith("=a")
        assert len(finding.pods) == 4


def test_nothing_is_moved_where_the_skew_is_allowed() -> None:
    before = picture("""
        zone a | n1 | web web web
        zone b | n2 | web
    """)
    assert proposed(before, spread(maxSkew=2)) == []
    assert proposed(before, spread(maxSkew=1)) == [move("web", "n1", "n2")]


CLOSED = """
    zone a | n1        | web web
    zone b | n2        | web web
    zone c | n3 {flag} | -
"""


@pytest.mark.parametrize("flag", ["notready", "cordoned", "tainted"])
def test_an_unusable_empty_zone_counts_unless_taints_are_honored(flag: str) -> None:
    """As for kube-scheduler, and the report has the reason why no move repairs it."""
    before = picture(CLOSED.format(flag=flag))
    for bound in (spread().compile(before), tiers(ZONES).compile(before)):
        assert bound.cost() == 1
        [warning] = bound.warnings()
        assert warning.code == "SPR004"
        assert "such as topology.kubernetes.io/zone=c" in warning.message
    assert proposed(before, spread(), limits=ROOMY) == []
    honored = tiers({**ZONES, "nodeTaintsPolicy": "Honor"}).compile(before)
    assert honored.cost() == 0
    assert honored.warnings() == ()


@pytest.mark.parametrize("flag", ["notready", "cordoned", "tainted"])
def test_an_unusable_empty_zone_never_counts_for_schedule_anyway(flag: str) -> None:
    before = picture(CLOSED.format(flag=flag))
    assert tiers({**ZONES, "whenUnsatisfiable": "ScheduleAnyway"}).compile(before).cost() == 0


def test_an_empty_zone_that_does_no_harm_has_no_warning() -> None:
    assert term(CLOSED.format(flag="tainted"), maxSkew=2).warnings() == ()


def test_workloads_are_judged_one_by_one() -> None:
    bound = term("""
        zone a | n1 | web web web
        zone b | n2 | api api api
    """)
    assert bound.cost() == 2
    assert [finding.cost for finding in bound.findings()] == [1, 1]
    assert bound.scope() == 6
    assert bound.worst() == 2


def test_pods_being_deleted_are_gone_already() -> None:
    assert term("zone a | n1 | (web) (web) web\nzone b | n2 | web").cost() == 0


def test_the_finding_has_numbers_and_pods() -> None:
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
    assert [finding.code for finding in bound.findings()] == ["SPR002"]
    assert 0 in bound.candidates()


def test_pods_outside_of_every_zone_are_reported_and_not_charged() -> None:
    bound = term("""
        zone a | n1 | web
        zone b | n2 | web
               | n3 | web web
    """)
    assert bound.cost() == 0
    [warning] = bound.warnings()
    assert warning.code == "SPR002"
    assert "2 pods of 1 workload (Deployment default/web first)" in warning.message


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
    for controller in before.controllers:
        if controller.kind == "Deployment":
            controller.kind = "DaemonSet"
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


def tiers(*constraints: Mapping[str, Any], **spec: Any) -> Spread:
    asked = [SpreadConstraint.model_validate(constraint) for constraint in constraints]
    return Spread(name="s", match=Match(all=True), constraints=asked, **spec)


HOSTS = {"topologyKey": "kubernetes.io/hostname"}
TWO_BY_TWO = """
    zone a | n1 | web web web web
    zone a | n2 | -
    zone b | n3 | -
    zone b | n4 | -
"""


def test_zones_come_first_and_hosts_within_them() -> None:
    policy = tiers(ZONES, {**HOSTS, "within": ZONES["topologyKey"]})
    bound = policy.compile(picture(TWO_BY_TWO))
    # Two must leave the zone, and two the host; a zone counts twice as much as a host.
    assert bound.cost() == pytest.approx(2 * 2 / 3 + 2 * 1 / 3)
    change = bound.deltas(0, np.arange(4, dtype=np.int32))
    assert change == pytest.approx([0, -1 / 3, -1, -1])
    moves = proposed(picture(TWO_BY_TWO), policy, limits=ROOMY)
    # Of two equal hosts either may be taken, and the next pod then takes the other.
    assert sorted("n3" if move.destination == "n4" else move.destination for move in moves) == [
        "n2",
        "n3",
        "n3",
    ]


def test_a_tier_does_not_undo_the_one_before_it() -> None:
    before = picture("""
        zone a | n1 | web web
        zone b | n2 | web
        zone b | n3 | web
    """)
    assert proposed(before, tiers(ZONES, {**HOSTS, "maxPerDomain": 1})) == []


def test_hosts_are_compared_only_within_their_zone() -> None:
    before = picture("""
        zone a | n1 | web web web
        zone b | n2 | -
    """)
    assert tiers({**HOSTS, "within": ZONES["topologyKey"]}).compile(before).cost() == 0
    assert tiers(HOSTS).compile(before).cost() == 1


def test_too_few_domains_count_as_if_one_were_empty() -> None:
    before = picture("zone a | n1 | web web web\nzone b | n2 | web web web")
    assert tiers({**ZONES, "minDomains": 2}).compile(before).cost() == 0
    bound = tiers({**ZONES, "minDomains": 3}).compile(before)
    assert bound.cost() == 4
    assert "too few domains count" in next(bound.findings()).message


def test_a_finding_names_the_pods_of_every_domain_that_may_give() -> None:
    before = picture("""
        zone a | n1 | web web web
        zone b | n2 | web web web
        zone c | n3 | web web web
        zone d | n4 | -
    """)
    bound = tiers(ZONES).compile(before)
    named = {pod for finding in bound.findings() for pod in finding.pods}
    assert bound.cost() == 2
    assert named == set(bound.candidates().tolist()) == set(range(9))


def test_duplicates_on_a_node() -> None:
    before = picture("""
        zone a | n1 | web web
        zone a | n2 | web web
        zone a | n3 | -
    """)
    alone = {**HOSTS, "maxPerDomain": 1}
    # 4 pods on 3 nodes: two on a node is the fair share rounded up.
    assert tiers(alone).compile(before).cost() == 0
    full = picture("zone a | n1 | web web web\nzone a | n2 | -\nzone a | n3 | -")
    bound = tiers(alone).compile(full)
    assert bound.cost() == 2
    assert "maxPerDomain is 1" in next(bound.findings()).message


def test_a_soft_constraint_weighs_half() -> None:
    before = picture("zone a | n1 | web web web\nzone b | n2 | -")
    assert tiers({**ZONES, "whenUnsatisfiable": "ScheduleAnyway"}).compile(before).cost() == 0.5


def test_pods_of_two_revisions_are_apart() -> None:
    before = picture("zone a | n1 | web web\nzone b | n2 | web web")
    for number, pod in enumerate(before.pods):
        pod.metadata.labels = {"app": "web", "pod-template-hash": str(number // 2)}
    assert tiers(ZONES).compile(before).cost() == 0
    assert tiers({**ZONES, "matchLabelKeys": ["pod-template-hash"]}).compile(before).cost() == 2


def test_which_nodes_count_follows_the_policies_of_the_constraint() -> None:
    before = picture("zone a | n1 | web web\nzone b | n2 tainted | -")
    assert tiers({**ZONES, "nodeTaintsPolicy": "Honor"}).compile(before).cost() == 0
    assert tiers({**ZONES, "nodeTaintsPolicy": "Ignore"}).compile(before).cost() == 1
    assert tiers(ZONES).compile(before).cost() == 1  # Ignore is the default, as in Kubernetes


FOLLOW = {**ZONES, "follow": {"labels": {"matchLabels": {"app": "cache"}}}}
CACHES = """
    zone a | n1 | cache cache cache web
    zone b | n2 | cache web web web
"""


def test_pods_follow_their_cache() -> None:
    before = picture(CACHES)
    policy = tiers(FOLLOW, groupBy="Workload")
    narrowed = policy.model_copy(update={"match": only("web")})
    bound = narrowed.compile(before)
    assert bound.cost() == 2
    [finding] = bound.findings()
    assert "holds 3 of 4 pods; its share is 1 to 1, so 2 must leave" in finding.message
    assert proposed(before, narrowed)[0] == move("web", "n2", "n1")
    # The cache that moves away changes the shares.
    assert bound.deltas(0, np.array([0, 1], dtype=np.int32)).tolist() == [0, -1]


def test_without_a_cache_there_is_nothing_to_follow() -> None:
    before = picture("zone a | n1 | web web\nzone b | n2 | -")
    assert tiers(FOLLOW).compile(before).cost() == 0


def only(app: str) -> Match:
    return Match(labels=Selector(matchLabels={"app": app}))


def test_a_gang_is_balanced_over_racks_whoever_owns_its_pods() -> None:
    before = picture("""
        rack r1 | n1 | driver worker
        rack r2 | n2 | -
    """)
    for pod in before.pods:
        given = pod.metadata.labels or {}
        pod.metadata.labels = {**given, "jobset.sigs.k8s.io/jobset-name": "t"}
    racks = {"topologyKey": "rack"}
    assert tiers(racks).compile(before).cost() == 0
    bound = tiers(racks, groupBy="Gang").compile(before)
    assert bound.cost() == 1
    assert next(bound.findings()).subject == "gang default/t in rack=r1"


def test_all_matching_pods_may_be_one_group() -> None:
    before = picture("zone a | n1 | web api\nzone b | n2 | -\nzone c | n3 | job job")
    assert tiers(ZONES, groupBy="Match").compile(before).cost() == 1


def test_a_policy_has_its_constraints_once() -> None:
    with pytest.raises(ValueError, match="exclude"):
        spread(maxSkew=2, constraints="FromPods")


def test_findings_of_two_revisions_or_two_zones_are_distinguished() -> None:
    before = picture("zone a | n1 | web web web web\nzone b | n2 | -")
    for number, pod in enumerate(before.pods):
        pod.metadata.labels = {"app": "web", "pod-template-hash": str(number // 2)}
    revisions = tiers({**ZONES, "matchLabelKeys": ["pod-template-hash"]}).compile(before)
    assert len({finding.aspect for finding in revisions.findings()}) == 2
    before = picture("""
        zone a rack r | n1 | web web web
        zone a rack s | n2 | -
        zone b rack r | n3 | web web web
        zone b rack s | n4 | -
    """)
    racks = tiers({"topologyKey": "rack", "within": ZONES["topologyKey"]}).compile(before)
    assert len({(finding.subject, finding.aspect) for finding in racks.findings()}) == 2
