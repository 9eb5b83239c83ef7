"""Moves steered by an extender, which works when a replacement is placed, not when it is made."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.actions.steering.extender_lease import NAME
from rescheduler.actions.steering.steering_format import read
from rescheduler.model.moves.plan import LandingShare, Outcome
from rescheduler.model.moves.steering_entry import Steered, Strength
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.servers.extender.protocol import ExtenderArgs
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history
from tests.fakes.stage import WIDE, Process, Stage
from tests.fakes.steering import TABLE_KEY
from tests.steering.extending import NODES, Extending, stage

__all__ = ["stage"]

FREE = Limits.model_validate({**WIDE, "inFlightPerWorkload": 5, "gangs": "Whole"})
STEERED = {"n1": 0, "n5": 10, "n6": 10}
UNSTEERED = {"n1": 0, "n5": 0, "n6": 0}


class Scheduling:
    """A scheduler with a long queue, which asks the extender about a pod when it is told to."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.extending = stage, Extending(stage)
        self.evicted = 0.0
        stage.world.place = lambda _: ""

    @property
    def waiting(self) -> list[dict[str, Any]]:
        """The pods that are on no node, the oldest first."""
        pods = [pod for key, pod in self.stage.world.objects.items() if key[0] == "pods"]
        return [pod for pod in pods if not pod["spec"].get("nodeName")]

    def told(self, pod: dict[str, Any]) -> dict[str, int]:
        """The nodes that the extender leaves for the pod, and their scores."""
        self.extending.follow()  # as it watches the table
        body = {"Pod": {"metadata": pod["metadata"]}, "NodeNames": NODES}
        args = msgspec.convert(body, ExtenderArgs)
        left = self.extending.answers.filter(args).NodeNames or []
        scores = {
            priority.Host: priority.Score for priority in self.extending.answers.prioritize(args)
        }
        return {node: scores[node] for node in left}

    def places(self, pod: dict[str, Any]) -> dict[str, int]:
        """Put it on the best node; the scores."""
        told = self.told(pod)
        pod["spec"]["nodeName"] = max(told, key=lambda node: told[node])
        pod["status"]["phase"] = "Running"
        pod["readyAt"] = self.stage.now()
        return told

    def act(
        self,
        each_time: Callable[[float], None],
        *,
        strength: Strength = "Prefer",
        kind: str = "ReplicaSet",
        pods: int = 1,
    ) -> Outcome:
        """Make the moves; each_time: is called with the seconds since the last was evicted."""
        working: list[bool] = []

        def before(_number: int, method: str, path: str) -> None:
            if method == "GET" and path.endswith(NAME):
                self.extending.follow()
            if len(self.stage.world.accepted) < pods or working:
                return
            self.evicted = self.evicted or self.stage.seconds
            working.append(True)
            each_time(self.stage.seconds - self.evicted)
            working.clear()

        told = Steered(by="Extender", strength=strength, nodes=["n5", "n6"])
        landing = [LandingShare(node=node, probability=0.5) for node in told.nodes]
        world = self.stage.world
        moves = [
            planned(
                world.add_pod(f"web-{number}", "n1", owner=(kind, "rs-1"), app="rs-1"),
                landing=landing,
                steered=told,
                group="ring" if pods > 1 else "",
            )
            for number in range(pods)
        ]
        process = Process(self.stage, "a", before=before, limits=FREE)
        return act(structs.replace(plan_of(world, moves), id="p"), process.actor())


def table(stage: Stage) -> int:
    return len(read(stage.world.objects[TABLE_KEY].get("data") or {})[0])


@pytest.mark.parametrize(
    ("strength", "expected"), [("Require", {"n5": 10, "n6": 0}), ("Prefer", STEERED)]
)
def test_its_entry_stays_until_the_replacement_is_placed_not_only_made(
    stage: Stage, strength: Strength, expected: dict[str, int]
) -> None:
    scheduling = Scheduling(stage)
    told: list[dict[str, int]] = []

    def late(since: float) -> None:
        if since >= 5.0 and scheduling.waiting:
            told.append(scheduling.places(scheduling.waiting[0]))

    outcome = scheduling.act(late, strength=strength)
    assert told == [expected]
    assert (outcome.moves[0].code, outcome.moves[0].landedOn) == ("ACT001", "n5")
    assert exit_code(outcome) == 0
    assert table(stage) == 0
    (past,) = history(stage)
    assert past.steered is not None
    assert (past.steered.open, past.compared) == (False, True)
    (record,) = Process(stage, "reader").ledger.peek().landings
    assert record.compared == 1


@pytest.mark.parametrize("strength", ["Require", "Prefer"])
def test_one_that_stays_pending_is_told_nothing_any_more_after_a_minute(
    stage: Stage, strength: Strength
) -> None:
    """It bears no affinity, so it need not be created again: the scheduler may put it anywhere."""
    scheduling = Scheduling(stage)
    seen: dict[int, int] = {}

    def never(since: float) -> None:
        seen[int(since)] = table(stage)

    scheduling.act(never, strength=strength)
    assert {second for second, entries in seen.items() if entries} <= set(range(62))
    assert seen[55] == 1
    assert table(stage) == 0
    assert len(stage.world.accepted) == 1
    (past,) = history(stage)
    assert past.steered is not None
    assert (past.steered.open, past.compared, past.landedOn) == (False, True, "")
    assert Process(stage, "reader").ledger.peek().landings == []


def test_what_is_placed_after_the_tables_deadline_blames_no_prediction(
    stage: Stage,
) -> None:
    """The extender goes by the deadline in the table, however late the replacement is made."""
    scheduling = Scheduling(stage)
    stage.world.grace = 85.0
    told: list[dict[str, int]] = []

    def late(since: float) -> None:
        assert not scheduling.waiting or since >= 85.0
        if since >= 105.0 and scheduling.waiting:
            told.append(scheduling.places(scheduling.waiting[0]))

    scheduling.act(late, kind="StatefulSet")
    assert told == [UNSTEERED]
    (past,) = history(stage)
    assert (past.landedOn, past.compared) == ("n1", True)
    assert Process(stage, "reader").ledger.peek().landings == []


def test_only_as_many_pods_of_a_scaled_controller_are_steered_as_entered(
    stage: Stage,
) -> None:
    scheduling = Scheduling(stage)
    told: list[dict[str, int]] = []

    def scales(since: float) -> None:
        if since >= 2.0 and not told:
            stage.world.add_pod("more", "", owner=("ReplicaSet", "rs-1"), app="rs-1")
            (replacement, more) = scheduling.waiting
            told.extend([scheduling.told(replacement), scheduling.told(more)])
            told.append(scheduling.places(replacement))
            told.append(scheduling.places(more))

    scheduling.act(scales)
    assert told == [STEERED, UNSTEERED, STEERED, UNSTEERED]
    assert table(stage) == 0


@pytest.mark.parametrize("first", [0, 1])
def test_pods_of_one_controller_share_their_entries_until_each_is_placed(
    stage: Stage, first: int
) -> None:
    """Which pod took which entry only the extender knows."""
    scheduling = Scheduling(stage)
    told: list[dict[str, int]] = []
    pods: list[dict[str, Any]] = []

    def one_by_one(since: float) -> None:
        if not pods:
            pods.extend(scheduling.waiting)
        if since >= 2.0 * (len(told) + 1) and len(told) < len(pods):
            told.append(scheduling.places(pods[first if not told else 1 - first]))

    outcome = scheduling.act(one_by_one, pods=2)
    assert told == [STEERED, STEERED]
    assert [move.landedOn for move in outcome.moves] == ["n5", "n5"]
    assert table(stage) == 0


def test_the_entry_of_a_placed_one_serves_no_other_pod(stage: Stage) -> None:
    """One of two is placed, and the controller scaled up: the entries are still for two."""
    scheduling = Scheduling(stage)
    told: list[dict[str, int]] = []
    pods: list[dict[str, Any]] = []

    def scales(since: float) -> None:
        if not pods:
            pods.extend(scheduling.waiting)
            told.append(scheduling.told(pods[0]))
            told.append(scheduling.places(pods[1]))
        if since >= 4.0 and len(told) == 2:
            more = stage.world.add_pod("more", "", owner=("ReplicaSet", "rs-1"), app="rs-1")
            told.append(scheduling.places(more))
            told.append(scheduling.places(pods[0]))

    scheduling.act(scales, pods=2)
    assert told == [STEERED, STEERED, UNSTEERED, STEERED]
    assert table(stage) == 0
