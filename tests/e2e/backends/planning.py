"""What a program plans from the series of one metric back end."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.e2e.loop import plan
from tests.e2e.program import Program

Plan = tuple[list[tuple[str, str]], set[str]]
"""The moves, as pod and node, and the codes of what held policies back."""


def asker(program: Program, policies: Path) -> Callable[..., Plan]:
    """What makes a plan from the series of the engine at an address."""

    def ask(url: str, *options: str) -> Plan:
        _, report = plan(replace(program, prometheus=url), policies, *options)
        return moves(report), problems(report)

    return ask


def moves(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(move["pod"], move["node"]) for move in report["moves"]]


def problems(report: dict[str, Any]) -> set[str]:
    return {policy["problem"]["code"] for policy in report["policies"] if policy["problem"]}
