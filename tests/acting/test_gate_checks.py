"""The table of the gates: each row has one function, and refuses with the codes that it names."""

import ast
import inspect
from datetime import timedelta

from rescheduler.acting import run, sender
from rescheduler.acting.gate_checks import FRESH, Gates
from rescheduler.acting.pod_reader import READ_IN
from rescheduler.model.moves.gates import GATES, gates_at
from rescheduler.model.moves.history import History
from rescheduler.model.reasons import CATALOG
from rescheduler.planning.gates.gate_functions import PURE
from tests.fakes.stage import Process, Stage


def functions() -> dict[str, set[str]]:
    """The names of the gates that have a function, by when they are looked at."""
    gates = Gates("plan", Process(Stage(), "a").actor(), History())
    steps = ast.parse(inspect.getsource(sender)).body
    texts = {n.value for part in steps for n in ast.walk(part) if isinstance(n, ast.Constant)}
    return {
        "any time": set(gates._any_time),
        "batch": set(gates._of_batch),
        "of a move": {*gates._of_move, *PURE},
        "intent": {gate.name for gate in GATES if gate.moment == "intent" and gate.name in texts},
    }


def test_each_gate_has_a_function_at_its_moment() -> None:
    rows: dict[str, set[str]] = {
        "any time": set(),
        "batch": set(),
        "of a move": set(),
        "intent": set(),
    }
    for gate in GATES:
        rows[gate.moment if gate.moment in rows else "of a move"].add(gate.name)
    assert functions() == rows


def test_names_are_unique_and_codes_are_known() -> None:
    assert len({gate.name for gate in GATES}) == len(GATES)
    for gate in GATES:
        assert gate.sentence.endswith("."), gate
        for code in gate.codes:
            assert code in CATALOG or any(known.startswith(code) for known in CATALOG), code


def test_what_ends_a_run_is_looked_at_before_every_request() -> None:
    assert [gate.name for gate in gates_at("any time", "move")] == ["running", "not paused", "lock"]
    assert all(gate.halts for gate in gates_at("any time", "move"))


def test_what_holds_all_evictions_ends_the_run() -> None:
    """Nobody asks these about one move, so a refusal that did not end the run would be lost."""
    for gate in GATES:
        if gate.moment in ("any time", "run", "batch", "next"):
            assert gate.halts, gate.name
            assert "move" in gate.purposes, gate.name


def test_the_seconds_in_the_table_are_those_that_are_kept() -> None:
    said = {gate.name: gate.sentence for gate in GATES}
    assert f"{READ_IN:g} s" in said["read in time"]
    assert f"{FRESH:g} s" in said["fresh"]
    assert (run._GUARDED_FOR, "a minute" in said["guards"]) == (timedelta(minutes=1), True)
