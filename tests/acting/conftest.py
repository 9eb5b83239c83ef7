"""Every refusal of a gate in these tests has a code that the gate's row names."""

import pytest

from rescheduler.acting import gate_checks
from rescheduler.model.moves.gates import Gate
from rescheduler.model.problem import Problem


@pytest.fixture(autouse=True)
def _codes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = gate_checks._refuse_or_halt

    def checked(gate: Gate, found: Problem | None) -> Problem | None:
        assert found is None or found.code.startswith(gate.codes), (gate.name, found)
        return passed(gate, found)

    monkeypatch.setattr(gate_checks, "_refuse_or_halt", checked)
