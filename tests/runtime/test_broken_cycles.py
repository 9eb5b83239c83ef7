"""A cycle that breaks off has an end in the audit trail, whatever it broke off with."""

from types import SimpleNamespace
from typing import Any

import pytest

from rescheduler.model.trails.trail import CycleEnd, CycleStart
from rescheduler.runtime.cycle_audit import run_audited


def test_an_error_in_the_cycle_ends_it_in_the_trail_and_goes_on() -> None:
    records: list[Any] = []

    def fail(_: Any) -> Any:
        raise ZeroDivisionError

    policies: Any = SimpleNamespace(digests={})
    with pytest.raises(ZeroDivisionError):
        run_audited(records.append, "Enforce", lambda: policies, fail, lambda _: 0)
    start, end = records
    assert isinstance(start, CycleStart)
    assert isinstance(end, CycleEnd)
    assert (end.verdict, end.exit) == ("failed", 1)
