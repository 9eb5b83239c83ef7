"""Of a proposal moves that pay only together are taken together."""

import pytest

from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.search.joint_moves import joint_candidates
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.planning.search.strategy import Proposal
from rescheduler.policies.limits import Limits
from tests.cluster import deployment, node, pod, snapshot
from tests.planning.random_worlds import FREE
from tests.planning.search.nearness import near

STEERED = {"steering": {"by": "AdmissionPolicy", "strength": "Require"}}


def apart(bystanders: int, spare: str = "8") -> tuple[WorkingCopy, dict[str, int], dict[str, int]]:
    """b takes as much as all pods of c that fill the node of a, and gains beside a only.

    spare: the room of the only node where pods of c may go.
    """
    room = {"full": str(1 + bystanders), "far": "8", "spare": spare}
    nodes = [node(name, allocatable={"cpu": cpu}) for name, cpu in room.items()]
    controllers, pods = [], []
    for app, count, at, cpu in (
        ("a", 1, "full", 1),
        ("c", bystanders, "full", 1),
        ("b", 1, "far", bystanders),
        ("d", 1, "far", 8 - bystanders),
    ):
        top, owner = deployment(app, replicas=count)
        controllers += [top, owner]
        labels, requests = {"app": app}, {"cpu": str(cpu)}
        pods += [
            pod(f"{app}-{n}", at, owner=owner, labels=labels, requests=requests)
            for n in range(count)
        ]
    made = snapshot(nodes, pods, controllers=controllers)
    limits = Limits.model_validate(
        FREE | STEERED | {"movesPerCycle": 9, "gainShare": 0.0, "minReplicas": 1}
    )
    copy = WorkingCopy(made, [near("near", 1.0, "b", "a")], limits, History())
    names = {pod.metadata.name: number for number, pod in enumerate(made.pods)}
    return copy, names, {node.metadata.name: number for number, node in enumerate(made.nodes)}


def moved(copy: WorkingCopy, nodes: dict[int, int]) -> SearchResult:
    return search(Evaluator(copy), proposal=Proposal(nodes))


@pytest.mark.parametrize("bystanders", [1, 2, 4])
def test_as_many_leave_first_as_make_room_for_one(bystanders: int) -> None:
    copy, pods, nodes = apart(bystanders)
    leaving = {pods[f"c-{n}"]: nodes["spare"] for n in range(bystanders)}
    found = moved(copy, {**leaving, pods["b-0"]: nodes["full"]})
    [taken] = found.accepted
    assert taken.pods[-1] == pods["b-0"]
    assert set(taken.pods[:-1]) == set(leaving)
    assert set(taken.moves[-1].after) == set(leaving)
    assert taken.gain == pytest.approx(1.0)


def test_none_leaves_where_not_enough_of_them_can() -> None:
    for bystanders, spare in ((5, "8"), (2, "1")):
        copy, pods, nodes = apart(bystanders, spare)
        leaving = {pods[f"c-{n}"]: nodes["spare"] for n in range(bystanders)}
        proposed = {**leaving, pods["b-0"]: nodes["full"]}
        assert not list(joint_candidates(Evaluator(copy), proposed))
