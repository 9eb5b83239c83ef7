"""A move can make others worth more; the search asks for these again, before the plan is full."""

import numpy as np
import pytest

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.steering_entry import Strength
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.policies.limits import Limits
from tests.cluster import deployment, node, pod, snapshot
from tests.planning.search.nearness import near

POLICIES = [near("strong", 1.0, "b", "a"), near("weak", 0.3, "d", "c")]


def scattered() -> Snapshot:
    """Pods of b need the one of a, whose node is full; so do those of d of c, which count less."""
    nodes = [node("full", allocatable={"cpu": "1"})]
    nodes += [node(f"n{number}", allocatable={"cpu": "8"}) for number in range(4)]
    places = {"a": ["full"], "b": ["n0", "n1", "n2"], "c": ["n3"], "d": ["n0", "n1", "n2"]}
    controllers, pods = [], list[Pod]()
    for app, where in places.items():
        top, owner = deployment(app, replicas=len(where))
        controllers += [top, owner]
        pods += [
            pod(f"{app}-{n}", on, owner=owner, labels={"app": app}, requests={"cpu": "1"})
            for n, on in enumerate(where)
        ]
    return snapshot(nodes, pods, controllers=controllers)


def found(made: Snapshot, moves: int, strength: Strength) -> tuple[SearchResult, WorkingCopy]:
    limits = Limits.model_validate(
        {
            "steering": {"by": "AdmissionPolicy", "strength": strength},
            "movesPerCycle": moves,
            **dict.fromkeys(("movesPerNode", "movesPerNamespace", "movesPerWorkload"), 9),
            "gainShare": 0,
            "minReplicas": 1,
        }
    )
    copy = WorkingCopy(made, POLICIES, limits, History())
    return search(Evaluator(copy)), copy


@pytest.mark.parametrize("strength", ["Prefer", "Require"])
def test_pods_follow_the_one_that_they_want_to_be_with(strength: Strength) -> None:
    """As long as `a` is on the full node, no pod of `b` gains; then two of them gain most."""
    made = scattered()
    result, copy = found(made, 3, strength)
    assert result.summary is not None
    assert result.summary.stopped == "full"
    moved = [made.pods[move.pod].metadata.name for move in result.moves]
    assert moved[0] == "a-0"
    assert [name[0] for name in moved] == ["a", "b", "b"]
    (strong,) = (binding for binding in copy.active if binding.policy.name == "strong")
    assert strong.term is not None
    assert strong.term.cost() == pytest.approx(0.0)
    assert not {move.pod for move in result.moves} & result.refusals.keys()


def test_who_may_gain_more_is_told_by_the_policies_that_decide() -> None:
    made = scattered()
    _, copy = found(made, 0, "Prefer")
    evaluator = Evaluator(copy)
    index = {pod.metadata.name: number for number, pod in enumerate(made.pods)}
    partners = evaluator.partners((index["a-0"],))
    assert partners.keys() == {index[name] for name in ("a-0", "b-0", "b-1", "b-2")}
    for pod_number, bound in partners.items():
        nodes = np.arange(len(made.nodes), dtype=np.int32)
        changes = sum(copy.changes(pod_number, nodes).values(), np.zeros(len(nodes)))
        assert bound >= -float(changes.min()) - 1e-9
