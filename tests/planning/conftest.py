"""What plans leave out in tests that ask for something else."""

import pytest


@pytest.fixture
def short_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are found move by move, and few courses of them are forecast.

    `tests/planning/improve` proposes moves together, and `test_forecast.py` plays many courses.
    Both take most of the time of a small plan.
    """
    monkeypatch.setattr("rescheduler.planning.improve.better_plan._ROUNDS", 0)
    monkeypatch.setattr("rescheduler.planning.evaluation.forecast._MOST_COURSES", 4)
