"""A chain is carried out one move after the other, and no further than its first failure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rescheduler.kube.annotations import OPT_OUT
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Outcome
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.stage import Stage, warm
from tests.fakes.steering import TABLE_KEY
from tests.planning.search.chains import FREE, RULES, STEERED, full
from tests.runtime.skewed import enforced

PLACES = {"hdd": "hub", "ssd": "fast"}


def policies() -> PolicySet:
    return policy_set([RULES], Limits.model_validate(FREE | STEERED))


class Chained:
    """The full cluster, with its pods where the world of the stage has them."""

    def __init__(self) -> None:
        self.stage = warm(Stage())
        self.stage.world.load(full(room="3"))
        self.stage.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
        self.stage.world.steers = True
        self.stage.world.place = lambda new: PLACES[new["metadata"]["labels"]["app"]]

    def observe(self, *_: Any) -> Snapshot:
        base, world = full(room="3"), self.stage.world.objects
        pods = []
        for pod in base.pods:
            app = (pod.metadata.labels or {})["app"]
            live = [
                body
                for (kind, *_), body in world.items()
                if kind == "pods"
                and body["metadata"]["labels"]["app"] == app
                and not body["metadata"].get("deletionTimestamp")
            ]
            name, uid = (live[-1]["metadata"][key] for key in ("name", "uid"))
            metadata = msgspec.structs.replace(pod.metadata, name=name, uid=uid)
            node = live[-1]["spec"]["nodeName"]
            pods.append(msgspec.structs.replace(pod, metadata=metadata, node=node))
        return replace(base, pods=pods, taken=self.stage.now())

    def run(self) -> Outcome:
        return enforced(self.stage, policies, self.observe)

    def places(self) -> dict[str, str]:
        return {(pod.metadata.labels or {})["app"]: pod.node for pod in self.observe().pods}


def test_room_is_made_before_it_is_taken() -> None:
    chained = Chained()
    outcome = chained.run()
    assert [move.result for move in outcome.moves] == ["evicted", "evicted"], outcome.verdict
    assert outcome.verdict.code == "ACT013"
    assert chained.places() == PLACES
    assert [move.batch for move in outcome.plan.moves] == [1, 2]


def test_what_room_was_to_be_made_for_stays_when_the_room_is_not_made() -> None:
    chained = Chained()
    chained.stage.world.add_budget("hdd", "hdd", allowed=0)
    outcome = chained.run()
    assert [move.result for move in outcome.moves] == ["refused", "refused"]
    assert [move.code for move in outcome.moves][1] == "DRF008"
    assert chained.stage.world.accepted == []


def _opted_out(chained: Chained) -> None:
    """The chain was planned; then its owner says no."""
    pods = [b for (kind, *_), b in chained.stage.world.objects.items() if kind == "pods"]
    (gains,) = [pod for pod in pods if pod["metadata"]["labels"]["app"] == "ssd"]
    gains["metadata"]["annotations"] = {OPT_OUT: "true"}


@pytest.mark.parametrize(
    ("hinders", "code"),
    [
        (_opted_out, "ELG011"),
        (lambda c: c.stage.world.add_budget("ssd", "ssd", allowed=0), "DRF007"),
        (lambda c: c.stage.world.forbidden.add("ssd"), "ACT007"),
    ],
    ids=["opted out", "budget", "admission"],
)
def test_no_room_is_made_for_a_pod_that_may_not_leave(
    hinders: Callable[[Chained], None], code: str
) -> None:
    """What was read for the batch shows nothing of it: what is asked right before does."""
    chained = Chained()
    hinders(chained)
    outcome = chained.run()
    (first, second) = outcome.moves
    assert (first.result, first.code) == ("refused", code)
    # A 403 holds for the whole namespace in this run.
    assert (second.result, second.code) == ("refused", code if code == "ACT007" else "DRF008")
    assert "default/ssd" in outcome.moves[0].message
    assert chained.stage.world.accepted == []
    assert exit_code(outcome) == 3


def test_nothing_follows_a_replacement_that_does_not_come_up() -> None:
    chained = Chained()
    chained.stage.world.sound = lambda _: False
    outcome = chained.run()
    assert [move.result for move in outcome.moves] == ["evicted", "refused"]
    assert len(chained.stage.world.accepted) == 1
    assert chained.places()["ssd"] == "slow", "it runs where it was"


def test_the_next_run_goes_on_where_a_run_broke_off() -> None:
    chained = Chained()
    world = chained.stage.world
    place = world.place

    def once(new: dict[str, Any]) -> str:
        world.add_budget("ssd", "ssd", allowed=0)
        return place(new)

    world.place = once
    first = chained.run()
    assert [move.result for move in first.moves] == ["evicted", "refused"]
    assert chained.places() == {"hdd": "hub", "ssd": "slow"}, "all of them run"
    del world.objects["poddisruptionbudgets", "default", "ssd"]
    second = chained.run()
    assert [move.result for move in second.moves] == ["evicted"]
    assert chained.places() == PLACES
