"""Plans without a move, by what they say of the placement: healthy, not judged, powerless."""

from collections.abc import Callable

from msgspec import structs

from rescheduler.model.moves.assessment import Assessment
from rescheduler.model.moves.plan import Change, Cost, Plan, PolicyResult, Totals
from rescheduler.model.problem import Problem
from tests.reporting.sample_nodes import node_views
from tests.reporting.samples import found, plan, policies

TYPO = Problem(code="SEL004", message="topologyKey: no node has the label example.com/rak")
STUCK = Problem(
    code="FEA002",
    message="35 of 41 pods that could move stay: The replacement would come back to the node it "
    "left: kube-scheduler prefers that node.",
)


def _still(assessment: Assessment, *results: PolicyResult, score: float | None) -> Plan:
    """A plan of these policies without any move."""
    wrong = assessment.state == "Powerless"
    refused = {"FEA002": 35, "PAC001": 6} if wrong else {}
    totals = Totals(
        nodes=60, pods=431, candidates=41 if wrong else 0, moves=0, disruption=0.0, refused=refused
    )
    return plan(
        moves=[], refused=[], totals=totals, policies=list(results), assessment=assessment,
        counts=found(moved=False) if wrong else [], nodes=node_views(moved=False) if wrong else [],
        score=Change(before=score, after=score),
    )  # fmt: skip


def _content(result: PolicyResult) -> PolicyResult:
    none = Cost(before=0.0, after=0.0)
    healthy = Assessment(state="Healthy")
    return structs.replace(result, cost=none, findings=[], counts=[], assessment=healthy)


def _silent(result: PolicyResult, why: Problem) -> PolicyResult:
    unjudged = Assessment(state="NotJudged", why=why)
    return structs.replace(_content(result), worst=0.0, assessment=unjudged)


def healthy() -> Plan:
    """One policy finds nothing wrong, and another has nothing to judge."""
    gpu, spread = policies(moved=False)
    says = Assessment(state="Healthy")
    return _still(says, _content(gpu), _silent(spread, TYPO), score=100.0)


def unjudged() -> Plan:
    """No policy judges anything."""
    gpu, spread = policies(moved=False)
    whole = Problem(code="ELG047", message="5 nodes (gpu-a-01 and 4 more) are above `high` of gpu")
    says = Assessment(state="NotJudged", why=whole)
    return _still(says, _silent(gpu, whole), _silent(spread, TYPO), score=None)


def powerless() -> Plan:
    """Five nodes are hot, and all that could leave them would come back."""
    gpu, spread = policies(moved=False)
    says = Assessment(state="Powerless", why=STUCK)
    stuck = structs.replace(gpu, assessment=says)
    return _still(says, stuck, _content(spread), score=74.1)


STATES: dict[str, Callable[[], Plan]] = {
    "healthy": healthy,
    "unjudged": unjudged,
    "powerless": powerless,
}
