"""The Limits: what they allow must fit in the state for as long as it decides something."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from rescheduler.policies.limits import Limits
from tests.cases import every

DAY = timedelta(days=1)


@every(
    [
        ({}, 2 * DAY),
        ({"coolDownCap": timedelta(hours=1)}, 2 * DAY),
        ({"coolDown": 3 * DAY, "coolDownCap": 3 * DAY}, 6 * DAY),
        ({"cyclePeriod": 5 * DAY}, 5 * DAY),
    ]
)
def test_a_move_is_kept_as_long_as_the_longest_limit(limits: dict[str, Any], kept: Any) -> None:
    assert Limits.model_validate(limits).keep == kept


@every(
    [
        {"movesPerHour": 40, "movesPerDay": 960},
        {"movesPerHour": 40, "movesPerDay": "50%"},
        {"movesPerHour": "100%", "movesPerDay": "100%"},
        {"movesPerHour": 1, "movesPerDay": 10_000},
        {"coolDownCap": 30 * DAY},
    ]
)
def test_what_fits(limits: dict[str, Any]) -> None:
    assert Limits.model_validate(limits).room_per_day > 0


@every(
    [
        ({"movesPerHour": 50, "movesPerDay": 1200}, "1200 moves in a day, each kept for 2d"),
        ({"movesPerHour": 50, "movesPerDay": "50%"}, "lower movesPerDay to 971"),
        ({"coolDownCap": 40 * DAY}, "50 moves in a day, each kept for 80d.*movesPerDay to 41"),
        ({"coolDownCap": 9_000 * DAY}, "no room.*lower coolDownCap"),
    ]
)
def test_what_does_not_fit_in_the_state(limits: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Limits.model_validate(limits)


@pytest.mark.parametrize(
    "given", ["Refuse", "Allow", ["Rollout.argoproj.io", "Service.serving.knative.dev"]]
)
def test_owners_that_are_not_read_are_allowed_by_kind(given: Any) -> None:
    assert Limits.model_validate({"otherOwners": given}).otherOwners == given


@every(
    [
        ("Some", "Input should be 'Refuse' or 'Allow'"),
        ([], "at least 1 item"),
        (["Rollout"], "must be a kind and its API group, such as Rollout.argoproj.io"),
        (["rollouts.argoproj.io"], "must be a kind"),
        (["Rollout.argoproj.io/v1alpha1"], "must be a kind"),
    ]
)
def test_what_is_no_kind_of_owner_is_told_of(given: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Limits.model_validate({"otherOwners": given})
