"""An extender is counted on where it shows that it runs, is asked, and has the table."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.effective_policies import drop_missing_steering
from rescheduler.acting.run import act
from rescheduler.actions.steering.extender_lease import NAME
from rescheduler.actions.steering.steering_format import read
from rescheduler.model.moves.plan import LandingShare
from rescheduler.model.moves.steering_entry import Steered
from rescheduler.model.problem import Problem
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.steering.means.extender import Extender
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Process, Stage
from tests.fakes.steering import TABLE_KEY
from tests.runtime.skewed import spread
from tests.steering.extending import LEASE_KEY, Extending, stage

__all__ = ["stage"]


def confirmed(process: Process) -> Problem | None:
    return Extender(process.steering_port()).confirm()


def test_one_that_shows_all_is_counted_on(stage: Stage) -> None:
    extending = Extending(stage)
    extending.follow()
    assert extending.showing.problem == ""
    assert confirmed(Process(stage, "a")) is None


def _late(stage: Stage, extending: Extending) -> None:
    extending.follow()
    stage.seconds += 40


def _never_asked(_stage: Stage, extending: Extending) -> None:
    extending.answers.asked = None
    extending.follow()


def _asked_long_ago(stage: Stage, extending: Extending) -> None:
    stage.seconds += 3700
    extending.follow()


def _behind(stage: Stage, extending: Extending) -> None:
    extending.follow()
    stage.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})


def _without_data(_stage: Stage, extending: Extending) -> None:
    """It has just begun, or the cluster was not read for long: it keeps no pod to any node."""
    extending.answers.known = None
    extending.follow()


def _without_a_table(stage: Stage, extending: Extending) -> None:
    del stage.world.objects[TABLE_KEY]
    extending.follow()


def _garbage(stage: Stage, extending: Extending) -> None:
    extending.follow()
    stage.world.objects[LEASE_KEY]["spec"]["renewTime"] = "soon"


def _ahead(stage: Stage, extending: Extending) -> None:
    stage.seconds += 100
    extending.follow()
    stage.seconds -= 100


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (lambda *_: None, "STR001", "renewed never"),
        (_late, "STR001", "no extender runs"),
        (_ahead, "STR001", "no extender runs"),
        (_garbage, "STR001", "renewed never"),
        (_never_asked, "STR001", "no scheduler has called"),
        (_asked_long_ago, "STR001", "no scheduler has called"),
        (_behind, "STR002", "has read the table"),
        (_without_data, "STR002", "knows the nodes"),
        (_without_a_table, "STR002", "has read the table"),
    ],
)
def test_what_is_not_shown_is_the_reason(
    stage: Stage, fault: Callable[[Stage, Extending], None], code: str, said: str
) -> None:
    fault(stage, Extending(stage))
    problem = confirmed(Process(stage, "a"))
    assert problem is not None
    assert (problem.code, said in problem.message) == (code, True), problem.message


def test_without_its_lease_it_says_so(stage: Stage) -> None:
    del stage.world.objects[LEASE_KEY]
    extending = Extending(stage)
    extending.follow()
    assert "no Lease" in extending.showing.problem


def test_what_others_noted_on_its_lease_stays(stage: Stage) -> None:
    stage.world.objects[LEASE_KEY]["metadata"]["annotations"] = {"note": "theirs"}
    Extending(stage).follow()
    assert stage.world.objects[LEASE_KEY]["metadata"]["annotations"]["note"] == "theirs"


def run(stage: Stage, process: Process) -> Any:
    manifest = stage.world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="rs-1")
    told = Steered(by="Extender", strength="Prefer", nodes=["n5", "n6"])
    move = planned(manifest, landing=[LandingShare(node="n5", probability=1.0)], steered=told)
    return act(structs.replace(plan_of(stage.world, [move]), id="p"), process.actor())


def test_a_move_is_made_once_the_extender_has_its_entry(stage: Stage) -> None:
    extending = Extending(stage)
    seen: list[int] = []

    def follows(_number: int, method: str, path: str) -> None:
        if path.endswith("eviction"):
            seen.append(len(extending.entries._open))
        if method == "GET" and path.endswith(NAME):
            extending.follow()

    outcome = run(stage, Process(stage, "a", before=follows))
    assert (outcome.moves[0].result, outcome.moves[0].landedOn) == ("evicted", "n5")
    assert seen == [1]
    assert exit_code(outcome) == 0
    assert read(stage.world.objects[TABLE_KEY].get("data") or {})[0] == []


def test_nothing_is_evicted_where_the_extender_does_not_follow(stage: Stage) -> None:
    Extending(stage).follow()
    outcome = run(stage, Process(stage, "a"))
    assert (outcome.moves[0].result, outcome.moves[0].code) == ("refused", "STR002")
    assert stage.world.accepted == []
    assert read(stage.world.objects[TABLE_KEY].get("data") or {})[0] == []


@pytest.mark.parametrize(("weight", "harmless"), [(1, True), (2, True), (1, False)])
def test_a_declared_weight_that_is_not_predicted_with_is_the_reason(
    stage: Stage, weight: int, harmless: bool
) -> None:
    Extending(stage).follow()
    url = "http://rescheduler-extender.rescheduler.svc:8888"
    extender = {"urlPrefix": url, "prioritizeVerb": "prioritize", "weight": weight}
    declared = Scheduler.model_validate(
        {
            "kind": "Scheduler",
            "name": "own",
            "harmlessExtenders": [url] if harmless else [],
            "configuration": {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "extenders": [{**extender, "ignorable": True}],
            },
        }
    )
    limits = Limits(minReplicas=1, steering=SteeringFields(by="Extender"))
    given = policy_set([spread()], limits, (declared,))
    _, notes = drop_missing_steering(given, Process(stage, "a").actor().steering)
    assert len(notes) == (weight != 2 and harmless)
    assert all("has weight 1, not 2" in note.message for note in notes)


def test_it_stops_being_counted_on_half_a_minute_after_it_ended(stage: Stage) -> None:
    Extending(stage).follow()
    process = Process(stage, "a")
    assert confirmed(process) is None
    stage.seconds += timedelta(seconds=31).total_seconds()
    assert confirmed(process) is not None


def test_nothing_is_evicted_where_the_extender_has_no_data(stage: Stage) -> None:
    extending = Extending(stage)
    extending.answers.known = None

    def follows(_number: int, method: str, path: str) -> None:
        if method == "GET" and path.endswith(NAME):
            extending.follow()

    outcome = run(stage, Process(stage, "a", before=follows))
    assert (outcome.moves[0].result, outcome.moves[0].code) == ("refused", "STR002")
    assert stage.world.accepted == []


def test_of_two_extenders_only_the_first_is_counted_on(stage: Stage) -> None:
    """A scheduler may ask either, and what one has says nothing of the other."""
    first, second = Extending(stage), Extending(stage, "extender-1")
    second.answers.known = None
    second.follow()
    assert second.showing.problem == ""
    first.follow()
    assert "extender-1" in first.showing.problem
    found = confirmed(Process(stage, "a"))
    assert found is not None
    assert found.code == "STR002"
    stage.seconds += 31
    first.follow()
    assert first.showing.problem == "", "the other one is gone"
    assert confirmed(Process(stage, "a")) is None
    second.follow()
    assert "extender-0" in second.showing.problem
