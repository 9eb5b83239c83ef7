"""Failed pods are reported, cost nothing, and nothing is done about them."""

from datetime import timedelta
from typing import Any

import msgspec

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Pod, PodStatus
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.conformity.term import ConformityTerm
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from tests.cases import every
from tests.cluster import NOW, controller, node, pod, snapshot

ENDED: dict[str, Any] = {"name": "main", "state": {"terminated": {"exitCode": 1}}}
KILLED = {"name": "main", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
WAITING = {"name": "main", "state": {"waiting": {"reason": "CreateContainerConfigError"}}}


def failed(name: str, owner: Controller | None = None, hours: float = 24, **status: Any) -> Pod:
    made = pod(name, "n1", owner=owner, labels={"app": name})
    made.status = msgspec.convert({"phase": "Failed", **status}, PodStatus)
    made.metadata.creationTimestamp = NOW - timedelta(hours=hours)
    return made


def bound(*pods: Pod, match: dict[str, Any] | None = None, **rule: Any) -> ConformityTerm:
    made = snapshot([node("n1")], [], failed=list(pods))
    return reporting(match or {"all": True}, **rule).compile(made)


def reporting(match: dict[str, Any], **rule: Any) -> Conformity:
    given = {"above": "1h"} | rule
    return Conformity.model_validate({"name": "c", "match": match, "failed": given})


def subjects(*pods: Pod, **rule: Any) -> list[str]:
    return [finding.subject for finding in bound(*pods, **rule).findings()]


def test_failed_pods_are_reported_by_workload_and_cost_nothing() -> None:
    job = controller("Job", "train")
    pods = [failed(f"train-{n}", job, containerStatuses=[KILLED]) for n in range(2)]
    term = bound(*pods, failed("lone", reason="Evicted"), failed("train-2", job))
    first, second = term.findings()
    assert (first.code, first.subject, first.cost) == ("CNF008", "Job default/train", 0.0)
    assert first.message == (
        "3 pods older than 1h failed (2 OOMKilled, 1 without a reason); nothing is moved for it"
    )
    assert second.subject == "Pod default/lone"
    assert first.pods == second.pods == ()
    assert term.cost() == term.worst() == 0.0
    assert term.candidates().tolist() == []
    assert term.warnings() == ()


@every([(1.1, "1h", 1), (1, "1h", 0), (0.1, "0s", 1), (-1, "0s", 0)])
def test_only_older_ones(hours: float, above: str, found: int) -> None:
    assert len(subjects(failed("a", hours=hours), above=above)) == found


def test_one_without_an_age_or_that_is_being_deleted_is_not_reported() -> None:
    ageless, leaving = failed("a"), failed("b")
    ageless.metadata.creationTimestamp = None
    leaving.metadata.deletionTimestamp = NOW
    assert subjects(ageless, leaving) == []


@every(
    [
        ({}, 1),
        ({"reasons": ["OOMKilled"]}, 1),
        ({"reasons": ["Evicted", "Shutdown"]}, 1),
        ({"reasons": ["CreateContainerConfigError"]}, 0),
        ({"reasons": ["CreateContainerConfigError"], "initContainers": True}, 1),
        ({"exitCodes": [137]}, 1),
        ({"exitCodes": [1, 2]}, 0),
        ({"exitCodes": [0]}, 0),
        ({"exitCodes": [1], "initContainers": True}, 1),
        ({"reasons": ["OOMKilled"], "exitCodes": [2]}, 0),
    ]
)
def test_only_what_is_asked_for(rule: dict[str, Any], found: int) -> None:
    made = failed(
        "a",
        reason="Evicted",
        containerStatuses=[KILLED, {"name": "sidecar"}],
        initContainerStatuses=[WAITING, ENDED],
    )
    assert len(subjects(made, **rule)) == found


def test_only_the_pods_that_match() -> None:
    chosen = {"labels": {"matchLabels": {"app": "a"}}}
    assert subjects(failed("a"), failed("b"), match=chosen) == ["Pod default/a"]


def test_where_they_were_not_read_there_is_a_warning() -> None:
    policy = reporting({"all": True})
    made = Snapshot(
        taken=NOW, cluster=snapshot([], []).cluster, nodes=[node("n1")], pods=[], failed=None
    )
    term = policy.compile(made)
    assert list(term.findings()) == []
    assert [warning.code for warning in term.warnings()] == ["DAT002"]
    silent = Conformity(name="c", match=Match(all=True), podAffinity=True).compile(made)
    assert silent.warnings() == ()


def test_a_plan_reports_them_and_moves_nothing() -> None:
    policy = reporting({"all": True})
    before = snapshot([node("n1"), node("n2")], [pod("web", "n1")], failed=[failed("lone")])
    made = plan(before, policy_set([policy], Limits()), History(), mode="Enforce")
    (result,) = made.policies
    assert [finding.code for finding in result.findings] == ["CNF008"]
    assert result.cost.before == result.cost.after == 0
    assert (made.moves, made.totals.candidates, made.totals.pods) == ([], 0, 1)
