"""What an extender is told: the policies' own costs, for a pod of each controller on each node."""

import numpy as np

from rescheduler.planning.advice import STEPS, advise
from rescheduler.planning.binding import bind
from rescheduler.policies.spread.policy import Spread
from tests.picture import picture

EVEN = Spread.model_validate({"name": "even", "match": {"labels": {"matchLabels": {"app": "web"}}}})
CROWDED = """
    zone a | n1 | web web web cache
    zone a | n2 | web
    zone b | n3 | -
    zone b | n4 | cache
"""


def test_the_emptiest_zone_is_best_and_other_zones_are_not_named() -> None:
    before = picture(CROWDED, policies=[EVEN])
    found = advise(before, [EVEN])
    web = next(pod for pod in before.pods if "web" in pod.metadata.name)
    assert web.controller is not None
    costs = found.costs[found.rows[web.controller.uid]]
    assert found.nodes == ["n1", "n2", "n3", "n4"]
    assert costs[2] == costs[3] == 0
    assert costs[0] == STEPS
    assert len(found.rows) == 1, "all nodes are alike for the cache"


def test_costs_are_in_the_order_of_what_moving_a_sibling_would_change() -> None:
    before = picture(CROWDED, policies=[EVEN])
    (binding,) = bind([EVEN], before)
    assert binding.term is not None
    found = advise(before, [EVEN])
    nodes = np.arange(4, dtype=np.int32)
    pod = next(n for n, pod_object in enumerate(before.pods) if "web" in pod_object.metadata.name)
    owner = before.pods[pod].controller
    assert owner is not None
    costs = found.costs[found.rows[owner.uid]].astype(int)
    deltas = binding.term.deltas(pod, nodes)
    elsewhere = nodes != before.pod_node[pod]
    for one in nodes[elsewhere]:
        for other in nodes[elsewhere]:
            if deltas[one] < deltas[other] - 1e-9:
                assert costs[one] <= costs[other]


def test_policies_in_audit_say_nothing() -> None:
    audit = EVEN.model_copy(update={"mode": "Audit"})
    assert advise(picture(CROWDED, policies=[audit]), [audit]).rows == {}
