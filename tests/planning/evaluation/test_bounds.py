"""What a candidate could gain at best: never more than there is to be gained."""

from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.policies.allocation.policy import Allocation
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.picture import picture

ZONES = Spread.model_validate(
    {
        "name": "zones",
        "match": {"all": True},
        "constraints": [{"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 1}],
    }
)
BALANCE = Allocation.model_validate(
    {
        "name": "balance",
        "match": {"all": True},
        "nodes": {"all": True},
        "balances": [{"resource": "nvidia.com/gpu", "needs": "cpu", "ratio": 4}],
    }
)


def test_no_pod_is_asked_about_for_a_policy_that_costs_nothing() -> None:
    """A pod that takes a GPU relieves a node that lacks cores for it, and here none does."""
    snapshot = picture(
        """
        zone a | n1 cpu 64 nvidia.com/gpu 8 | train train train
        zone b | n2 cpu 64 nvidia.com/gpu 8 | -
        """,
        requests={"train": {"nvidia.com/gpu": 4, "cpu": 1}},
        policies=[ZONES, BALANCE],
    )
    both = [
        Evaluator(WorkingCopy(snapshot, policies, Limits(), History())).bounds()
        for policies in ([ZONES], [ZONES, BALANCE])
    ]
    assert both[0].best
    assert both[0].best == both[1].best
    assert both[0].gate == both[1].gate
