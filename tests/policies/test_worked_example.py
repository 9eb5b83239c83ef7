"""Every worked example of the documentation is what the code computes."""

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rescheduler.model.cluster.readings import Reading, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.policies.base import Policy
from rescheduler.policies.registry import KINDS
from rescheduler.policies.worked_example import Worked
from tests.picture import picture

CASES = [
    pytest.param(kind, example, id=f"{kind}-{number}")
    for kind, model in KINDS.items()
    for number, example in enumerate(model.examples)
]
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def value(text: str) -> float:
    """What the arithmetic comes to; `85%` is 0.85."""
    plain = re.sub(r"([0-9.]+)%", lambda found: str(float(found[1]) / 100), text)

    def of(node: ast.expr) -> float:
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](of(node.left), of(node.right))
        assert isinstance(node, ast.Constant), text
        return float(node.value)  # type: ignore[arg-type]

    return of(ast.parse(plain.strip(), mode="eval").body)


def policy_of(kind: str, worked: Worked) -> Policy:
    model = KINDS[kind]
    everything = {"all": True}
    defaults = {field: everything for field in ("match", "nodes") if field in model.model_fields}
    if kind == "Spread":
        defaults.pop("nodes", None)
    return model.model_validate({"kind": kind, "name": "p", **defaults, **worked.spec})


def cluster_of(policy: Policy, worked: Worked) -> Snapshot:
    before = picture(
        worked.cluster,
        requests=worked.requests,
        readings=worked.readings,
        policies=[policy],
    )
    young = []
    for number, pod in enumerate(before.pods):
        age = worked.young.get((pod.metadata.labels or {})["app"])
        if age is not None:
            young.append(number)
            started = before.taken - timedelta(seconds=age)
            pod.status = msgspec.structs.replace(pod.status, startTime=started)
    entries = tuple(without(reading, young) for reading in before.readings.entries)
    return replace(before, readings=Readings(entries))


def without(reading: Reading, young: list[int]) -> Reading:
    """The reading of pods, where these have no value yet."""
    if reading.request.subject != "pod":
        return reading
    expected, values = reading.expected.copy(), reading.values.copy()
    expected[young], values[young] = False, float("nan")
    return replace(reading, expected=expected, values=values)


def test_there_are_some() -> None:
    assert {case.values[0] for case in CASES} >= {"Utilization", "Allocation", "Spread"}


@pytest.mark.parametrize(("kind", "worked"), CASES)
def test_the_cost_is_what_the_example_says(kind: str, worked: Worked) -> None:
    policy = policy_of(kind, worked)
    term: Any = policy.compile(cluster_of(policy, worked))
    assert not isinstance(term, Problem), term
    assert worked.steps[-1].startswith("cost: ")
    assert term.cost() == pytest.approx(value(worked.steps[-1].rpartition("=")[2]), abs=5e-4)


@pytest.mark.parametrize(("kind", "worked"), CASES)
def test_every_step_comes_to_what_it_says(kind: str, worked: Worked) -> None:
    for line in worked.steps:
        _, _, sums = line.partition(": ")
        for part in sums.split(";"):
            arithmetic, _, result = part.rpartition("=")
            assert value(arithmetic) == pytest.approx(value(result), abs=6e-4), line


@pytest.mark.parametrize(("kind", "worked"), CASES)
def test_the_average_pod_is_the_term_s_unit(kind: str, worked: Worked) -> None:
    units = [step for step in worked.steps if step.startswith("the average pod")]
    if kind != "Utilization" or not units:
        return
    policy = policy_of(kind, worked)
    term: Any = policy.compile(cluster_of(policy, worked))
    assert term._unit[0] == pytest.approx(value(units[0].rpartition("=")[2]), abs=5e-4)
