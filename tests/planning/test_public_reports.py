"""What clusters of public bug reports taught: places, owners and marks that plans must heed."""

from typing import Any

from rescheduler.kube.objects import Condition, Node
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.cluster import deployment, node, pod, snapshot

APART = Spread.model_validate(
    {"name": "by-host", "match": {"all": True}, "topologyKey": "kubernetes.io/hostname"}
)


def crowded(nodes: list[Node] | None = None, **spec: Any) -> Snapshot:
    """Three pods of one Deployment on n1, and the empty node n2.

    spec: further fields of the pods' specs.
    """
    top, owner = deployment("web")
    pods = [pod(f"web-{i}", "n1", owner=owner, labels={"app": "web"}, **spec) for i in range(3)]
    return snapshot(nodes or [node("n1"), node("n2")], pods, controllers=[top, owner])


def judged(before: Snapshot, **limits: Any) -> tuple[list[str], dict[str, str]]:
    """`source -> likeliest node` of each move, and why others are refused, by code."""
    made = plan(before, policy_set([APART], Limits.model_validate(limits)), History(), mode="Audit")
    moves = [
        f"{each.source} -> {max(each.landing, key=lambda share: share.probability).node}"
        for each in made.moves
    ]
    return moves, {each.code: each.message for each in made.refused}


def with_condition(name: str, kind: str, status: str = "True") -> Node:
    """A Ready node with one more condition."""
    made: Node = node(name)
    made.status.conditions = [
        *(made.status.conditions or []),
        Condition(type=kind, status=status),
    ]
    return made


def test_nothing_goes_to_a_node_that_is_broken_though_ready() -> None:
    assert judged(crowded())[0] == ["n1 -> n2"]
    moves, refused = judged(crowded([node("n1"), with_condition("n2", "ReadonlyFilesystem")]))
    assert moves == []
    assert "condition ReadonlyFilesystem=True" in refused["FEA016"]


def test_pods_may_leave_a_broken_node_but_not_one_that_is_drained() -> None:
    broken = crowded([with_condition("n1", "KernelDeadlock"), node("n2")])
    assert judged(broken)[0] == ["n1 -> n2"]
    drained = crowded([with_condition("n1", "DrainInProgress"), node("n2")])
    moves, refused = judged(drained)
    assert moves == []
    assert "condition DrainInProgress=True" in refused["ELG020"]


def test_a_mark_of_the_operators_own_is_avoided() -> None:
    before = crowded([node("n1"), node("n2", labels={"rack-move": "tonight"})])
    assert judged(before)[0] == ["n1 -> n2"]
    assert judged(before, avoidNodes=[{"label": "rack-move"}])[0] == []
