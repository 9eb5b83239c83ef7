"""Annealing both ways: by compiled loops, and by arrays as where Numba is not installed."""

from importlib.machinery import ModuleSpec

import pytest

from rescheduler.planning.improve import annealed


@pytest.fixture(params=["loops", "arrays"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "arrays":

        def find_nothing(_: str) -> ModuleSpec | None:
            return None

        monkeypatch.setattr(annealed, "find_spec", find_nothing)
    return str(request.param)
