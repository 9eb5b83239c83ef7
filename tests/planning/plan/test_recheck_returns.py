"""A replacement that could come back, as an earlier one landed elsewhere, is not evicted."""

from dataclasses import replace

import msgspec
import pytest

from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.recheck import Recheck
from rescheduler.policies.limits import Limits
from tests.cluster import deployment, node, pod, snapshot
from tests.planning.gpu_worlds import whole_gpus
from tests.planning.random_worlds import FREE
from tests.planning.scenarios import GPU
from tests.planning.world import World


def world() -> World:
    """Two GPUs may go to n0 or n1 alike; where they go to n0, three have room at home alone."""
    nodes = [node(f"n{i}", zone="abca"[i], allocatable={GPU: "8"}) for i in range(4)]
    pods, controllers = [], []
    for app, gpus, places in (
        ("app-0", 3, ["n0", "n1"]),
        ("app-1", 8, ["n2"]),
        ("app-2", 2, ["n0"]),
        ("app-3", 1, ["n1"]),
        ("app-4", 2, ["n3"]),
    ):
        top, owner = deployment(app, replicas=len(places))
        controllers += [top, owner]
        for replica, place in enumerate(places):
            asked = {GPU: str(gpus), "cpu": "100m"}
            name, labels = f"{app}-{replica}", {"app": app}
            pods.append(pod(name, place, owner=owner, labels=labels, requests=asked))
    limits = FREE | {
        "steering": {"by": "AdmissionPolicy", "strength": "Prefer"},
        "maxReturn": 0.0,
        "minReplicas": 1,
    }
    made = snapshot(nodes, pods, controllers=controllers)
    return World(made, [whole_gpus()], Limits.model_validate(limits), {})


@pytest.mark.parametrize(("landed", "code"), [("n0", "DRF004"), ("n1", "")])
def test_a_replacement_that_could_come_back_by_now_is_not_evicted(landed: str, code: str) -> None:
    here = world()
    made = here.plan()
    first, second = made.moves
    assert (first.pod.name, {share.node for share in first.landing}) == ("app-4-0", {"n0", "n1"})
    assert (second.pod.name, second.returns) == ("app-0-1", 0.5), "over both landings of the first"
    assert second.batch > first.batch

    index = here.snapshot.pod_index[first.pod.uid]
    old = here.snapshot.pods[index]
    pods = list(here.snapshot.pods)
    metadata = msgspec.structs.replace(old.metadata, name="app-4-r", uid="r")
    pods[index] = msgspec.structs.replace(old, metadata=metadata, node=landed)
    here.snapshot = replace(here.snapshot, pods=pods)
    here.measure()
    here.history.moves.append(
        PastMove(
            plan=made.id, podUid=first.pod.uid, namespace="default", pod=first.pod.name,
            workload=first.owner.uid, source=first.source, at=here.snapshot.taken,
            state="ready", replacement="r", landedOn=landed,
        )
    )  # fmt: skip
    fresh = WorkingCopy(here.snapshot, here.policies, here.limits, here.history, plan=made.id)
    answer = Recheck(fresh, made.moves).check(second)
    if isinstance(answer, PlannedMove):
        assert (code, answer.returns) == ("", 0.0)
    else:
        assert answer.code == code
        assert "by maxReturn" in answer.message
