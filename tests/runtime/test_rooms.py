"""Room for a gang from the plan to the last eviction, against a cluster that changes meanwhile."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Outcome
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from tests.fakes.stage import Stage, warm
from tests.planning.search.gang_placements import FREE, ROOM, world
from tests.runtime.skewed import enforced

HELD = [1, 2, 1]


def policies() -> PolicySet:
    return policy_set([ROOM], Limits.model_validate(FREE | {"batchSize": 1}))


class Gathered:
    """Three nodes to free, for a gang that waits; replacements come to run on the fourth.

    starts: whether its pods are bound one by one, as soon as one fits.
    """

    def __init__(self, *, starts: bool) -> None:
        self.stage = warm(Stage())
        self.base = world(HELD, [7], gang=3)
        running = [pod for pod in self.base.pods if pod.node]
        self.stage.world.load(replace(self.base, pods=running))
        self.stage.world.place = lambda _: "s0"
        self.starts = starts

    def observe(self, *_: Any) -> Snapshot:
        pods, held = [], dict.fromkeys(["n0", "n1", "n2"], 0)
        live = {
            body["metadata"]["labels"]["app"]: body
            for (kind, *_), body in self.stage.world.objects.items()
            if kind == "pods" and not body["metadata"].get("deletionTimestamp")
        }
        for pod in self.base.pods:
            if pod.node:
                body = live[(pod.metadata.labels or {})["app"]]
                name, uid = (body["metadata"][key] for key in ("name", "uid"))
                metadata = msgspec.structs.replace(pod.metadata, name=name, uid=uid)
                node = body["spec"]["nodeName"]
                held[node] = held.get(node, 0) + 1
                pods.append(msgspec.structs.replace(pod, metadata=metadata, node=node))
        free = [name for name in ("n0", "n1", "n2") if not held[name]] if self.starts else []
        for pod in self.base.pods:
            if not pod.node:
                status = pod.status
                node = free.pop() if free else ""
                if node:
                    status = msgspec.structs.replace(status, phase="Running")
                pods.append(msgspec.structs.replace(pod, node=node, status=status))
        return replace(self.base, pods=pods, taken=self.stage.now())

    def run(self) -> Outcome:
        return enforced(self.stage, policies, self.observe)


@pytest.mark.parametrize("starts", [False, True])
def test_a_gang_gets_its_room_batch_by_batch(starts: bool) -> None:
    gathered = Gathered(starts=starts)
    outcome = gathered.run()
    told = [(move.result, move.code, move.message) for move in outcome.moves]
    assert [result for result, *_ in told] == ["evicted"] * 4, (told, outcome.verdict)
    assert {move.batch for move in outcome.plan.moves} == {1, 2, 3, 4}
    assert {move.room for move in outcome.plan.moves} == {"ml/llama"}


@pytest.mark.parametrize("which", range(4))
def test_a_budget_that_closes_after_the_plan_keeps_all_of_them(which: int) -> None:
    gathered = Gathered(starts=False)
    app = ["small-0-0", "small-1-0", "small-1-1", "small-2-0"][which]
    gathered.stage.world.add_budget(app, app, allowed=0)
    outcome = gathered.run()
    assert {move.result for move in outcome.moves} == {"refused"}
    assert gathered.stage.world.accepted == []


@pytest.mark.parametrize("starts", [False, True])
def test_where_another_pod_takes_the_room_meanwhile_the_rest_stays(starts: bool) -> None:
    """After the first eviction a node of the others has no CPU left, for whatever reason."""
    gathered = Gathered(starts=starts)

    def taken(*_: Any) -> Snapshot:
        seen = Gathered.observe(gathered)
        if not gathered.stage.world.accepted:
            return seen
        nodes = [
            node
            if node.metadata.name != "n1"
            else msgspec.structs.replace(
                node,
                status=msgspec.structs.replace(
                    node.status, allocatable={**(node.status.allocatable or {}), "cpu": "0"}
                ),
            )
            for node in seen.nodes
        ]
        return replace(seen, nodes=nodes)

    gathered.observe = taken  # type: ignore[method-assign]
    outcome = gathered.run()
    results = [(move.result, move.code) for move in outcome.moves]
    assert results[0] == ("evicted", "ACT001")
    assert results[1][0] == "refused"
    assert results[2:] == [("skipped", "FRG005")] * 2
    assert len(gathered.stage.world.accepted) == 1
