"""Each failure of the catalogue has one scenario, named after it."""

import ast
from collections import Counter
from pathlib import Path

GAPS: dict[str, str] = {}
"""Failures without a scenario, each with the reason why."""


def ids() -> Counter[str]:
    """How many scenarios each failure has, by the names of the test functions."""
    found: Counter[str] = Counter()
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_f"):
                found[statement.name[len("test_") :].partition("_")[0].upper()] += 1
                assert ast.get_docstring(statement), f"{statement.name} does not state its failure"
    return found


def test_each_failure_has_one_scenario() -> None:
    found = ids()
    assert found.keys() | GAPS.keys() == {f"F{number:02}" for number in range(1, 76)}
    assert {failure: count for failure, count in found.items() if count != 1} == {}
    assert found.keys().isdisjoint(GAPS), "what has a scenario is no gap"
