"""Spread by the pods' own constraints, and which nodes count for these, in policy tests."""

import numpy as np
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.spread.term import SpreadTerm
from tests.picture import picture, proposed
from tests.policies.spread.zones import ROOMY, ZONES, spread

EITHER = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}


def own(before: Snapshot) -> SpreadTerm:
    return Spread(name="s", match=Match(all=True), constraints="FromPods").compile(before)


def constraint(app: str, **more: object) -> dict[str, object]:
    selector = {"matchLabels": {"app": app}}
    return {**ZONES, "maxSkew": 1, "labelSelector": selector, **more}


def test_the_pods_own_constraints_are_judged() -> None:
    text = "zone a | n1 | web web web api api api\nzone b | n2 | -"
    before = picture(text, specs={"web": {"topologySpreadConstraints": [constraint("web")]}})
    bound = own(before)
    assert bound.cost() == 1
    assert bound.scope() == 3
    loose = {"topologySpreadConstraints": [constraint("web", maxSkew=3)]}
    assert own(picture(text, specs={"web": loose})).cost() == 0


def test_all_pods_that_the_selector_selects_are_counted() -> None:
    shared = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}
    spec = {"topologySpreadConstraints": [{**constraint("web"), "labelSelector": shared}]}
    text = "zone a | n1 | web web\nzone b | n2 | api api"
    assert own(picture(text, specs={"web": spec})).cost() == 0


def test_a_constraint_about_other_pods_is_left_alone_with_a_warning() -> None:
    spec = {"topologySpreadConstraints": [constraint("cache")]}
    bound = own(picture("zone a | n1 | web web cache\nzone b | n2 | -", specs={"web": spec}))
    assert bound.cost() == 0
    [warning] = bound.warnings()
    assert warning.code == "SPR003"


def test_taints_count_in_the_pods_constraints_only_where_they_say_so() -> None:
    text = "zone a | n1 | web web\nzone b | n2 tainted | -"
    for policy, cost in (("Honor", 0), ("Ignore", 1), (None, 1)):
        more = {} if policy is None else {"nodeTaintsPolicy": policy}
        spec = {"topologySpreadConstraints": [constraint("web", **more)]}
        assert own(picture(text, specs={"web": spec})).cost() == cost, policy


TWO_AND_ONE = """
    zone a | n1       | web web web
    zone b | n2 {flag} | web web
    zone b | n3       | web
"""


@pytest.mark.parametrize("flag", ["notready", "cordoned"])
def test_pods_on_a_node_that_is_down_or_cordoned_are_still_counted(flag: str) -> None:
    """As matchNodeInclusionPolicies has it under `nodeTaintsPolicy: Ignore`, the default."""
    text = TWO_AND_ONE.format(flag=flag)
    before = picture(text, specs={"web": {"topologySpreadConstraints": [constraint("web")]}})
    for policy in (spread(), Spread(name="s", match=Match(all=True), constraints="FromPods")):
        bound = policy.compile(before)
        assert bound.cost() == 0
        assert list(bound.findings()) == []
        assert bound.warnings() == ()
        assert proposed(before, policy, limits=ROOMY) == []


def test_a_soft_constraint_decides_no_nodes_of_a_hard_one() -> None:
    """Source: getConstraints of podtopologyspread's filtering.go: DoNotSchedule alone."""
    before = picture(
        """
        zone a rack r | n1 | web web
        zone b        | n2 | web web
        zone b rack s | n3 | -
    """,
        specs={
            "web": {
                "topologySpreadConstraints": [
                    constraint("web"),
                    constraint("web", topologyKey="rack", whenUnsatisfiable="ScheduleAnyway"),
                ]
            }
        },
    )
    hard = Spread(name="s", match=Match(all=True), constraints="HardFromPods").compile(before)
    assert hard.cost() == 0
    [finding] = own(before).findings()
    assert finding.subject == "Deployment default/web in rack=r"


def test_pods_of_one_constraint_that_accept_other_nodes_are_judged_apart() -> None:
    """Each pod has its own nodes for kube-scheduler; together they cost no more than one would."""
    before = picture(
        """
        zone a pool x | n1 | web web web api
        zone b pool x | n2 | -
        zone c pool y | n3 | -
    """,
        specs={
            "web": {
                "topologySpreadConstraints": [
                    {**constraint("web"), "labelSelector": EITHER, "maxSkew": 1}
                ],
                "nodeSelector": {"pool": "x"},
            },
            "api": {
                "topologySpreadConstraints": [
                    {**constraint("web"), "labelSelector": EITHER, "maxSkew": 1}
                ],
            },
        },
    )
    bound = own(before)
    # 4/0 needs two moves for three of the pods; 4/0/0 needs two for one of them.
    assert bound.cost() == pytest.approx(2 * 3 / 4 + 2 * 1 / 4)
    assert len({finding.aspect for finding in bound.findings()}) == 2


def test_findings_of_two_revisions_are_distinguished() -> None:
    shared = constraint("web", matchLabelKeys=["pod-template-hash"])
    text = "zone a | n1 | web web web web\nzone b | n2 | -"
    before = picture(text, specs={"web": {"topologySpreadConstraints": [shared]}})
    for number, pod in enumerate(before.pods):
        pod.metadata.labels = {"app": "web", "pod-template-hash": str(number // 2)}
    assert len({finding.aspect for finding in own(before).findings()}) == 2


def test_a_pod_that_accepts_more_domains_than_its_siblings_may_leave() -> None:
    """It is counted with those that are bound to zone a, and its leaving costs them nothing."""
    bound_to_a = {"nodeSelector": {"topology.kubernetes.io/zone": "a"}}
    every = {"topologySpreadConstraints": [{**constraint("web"), "labelSelector": EITHER}]}
    before = picture(
        "zone a | n1 | web web web api\nzone b | n2 | -",
        specs={"web": {**every, **bound_to_a}, "api": every},
    )
    term = own(before)
    free = next(i for i, pod in enumerate(before.pods) if not pod.spec.nodeSelector)
    nodes = np.array([0, 1], dtype=np.int32)
    assert term.deltas(free, nodes)[1] < 0
