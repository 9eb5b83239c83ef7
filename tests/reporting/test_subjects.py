"""A report names what a policy evaluates by what the policy says, whatever its kind."""

import pytest

from rescheduler.model.moves.history import History
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from rescheduler.reporting.formats.page import render_page
from tests.picture import picture


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (Fragmentation(name="f", match=Match(all=True)), "evaluates 2 nodes"),
        (Spread(name="s", match=Match(all=True)), "evaluates 3 pods"),
    ],
    ids=lambda value: value.kind if isinstance(value, Policy) else "",
)
def test_the_page_says_of_what_a_policy_looks_at_so_many(policy: Policy, text: str) -> None:
    before = picture(
        "zone a | n1 gpu 8 | web web\nzone b | n2 gpu 8 | web",
        requests={"web": {"nvidia.com/gpu": 2}},
    )
    made = plan(before, policy_set([policy]), History(), mode="Enforce")
    assert text in render_page(made)
