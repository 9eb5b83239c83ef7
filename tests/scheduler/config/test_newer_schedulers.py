"""What a newer kube-scheduler reports of itself: read where it is not used, said where it is."""

from typing import Any

import pytest

from rescheduler.scheduler.config.schedulers import Schedulers
from tests.cases import every
from tests.policies.scheduler_documents import USUAL
from tests.scheduler.config.observed import agreed, complete, observed


def reported(profile: dict[str, Any], **more: Any) -> Schedulers:
    whole = {"whole": more} if more else {}
    return agreed(observed({**complete(), **profile}, complete("other"), **whole))


def at(**points: Any) -> dict[str, Any]:
    made = complete()
    made["plugins"].update(points)
    return made


def config(name: str, **args: Any) -> dict[str, Any]:
    return {"pluginConfig": [{"name": name, "args": args}]}


EMPTY: list[Any] = [{}, [], None, "", 0, False, {"enabled": None, "disabled": []}, {"a": [{}]}]


@pytest.mark.parametrize("nothing", EMPTY)
def test_what_is_written_and_not_used_is_read(nothing: Any) -> None:
    found = reported(
        {
            **at(podGroupPostFilter={}, placementFeasible={}, someNewPoint=nothing),
            "newField": nothing,
        },
        percentageOfPlacementsToScore=0,
        another=nothing,
    )
    assert found.guards == ()
    assert [profile.problem for profile in found.profiles.values()] == ["", ""]


def test_placements_of_groups_are_not_ours() -> None:
    group = {"enabled": [{"name": "DefaultPreemption"}, {"name": "DynamicResources"}]}
    points = at(
        podGroupPostFilter=group, placementFeasible={"enabled": [{"name": "GangScheduling"}]}
    )
    found = reported({**points, "percentageOfPlacementsToScore": 30})
    assert [profile.problem for profile in found.profiles.values()] == ["", ""]


@every(
    [
        (at(someNewPoint={"enabled": [{"name": "NodeName"}]}), "plugins.someNewPoint"),
        ({"newField": 3}, "newField"),
        (
            config("NodeResourcesFit", newArgument=[1]),
            "pluginConfig.0.args.newArgument",
        ),
        (
            config("InterPodAffinity", hardPodAffinityWeight=999),
            "pluginConfig.0.args.hardPodAffinityWeight: must be 100 or less",
        ),
        (
            at(filter={"enabled": [{"name": "NodeName", "newField": 1}]}),
            "filter.enabled.0.newField",
        ),
    ]
)
def test_what_is_used_and_not_known_is_said_of_that_profile_alone(
    profile: dict[str, Any], words: str
) -> None:
    found = reported(profile)
    assert found.guards == ()
    assert words in found.profiles[USUAL].problem
    assert "which is not known" in found.profiles[USUAL].problem or "must" in words
    assert found.profiles["other"].problem == ""


def test_what_is_used_for_all_and_not_known_is_said_of_all() -> None:
    found = reported({}, someNewSetting={"a": 1})
    assert found.guards == ()
    for profile in found.profiles.values():
        assert profile.problem == "its configuration has someNewSetting, which is not known"


def test_an_extender_with_more_than_is_known_may_decide() -> None:
    extender = {"urlPrefix": "http://x", "preemptVerb": "p", "newVerb": "decide"}
    found = reported({}, extenders=[extender])
    assert {profile.problem for profile in found.profiles.values()} == {
        "its configuration has extenders.0.newVerb, which is not known"
    }


def test_what_cannot_be_understood_is_told_in_our_words() -> None:
    found = reported({}, parallelism="many")
    [guard] = found.guards
    assert guard.message.endswith(
        "is not understood: parallelism: must be a whole number (got 'many')"
    )
