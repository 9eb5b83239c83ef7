"""What goes wrong with one workload while acting holds its namespace, and nobody else."""

from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Process, Stage, warm

TENANTS = ("one", "two", "three", "four")


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


def owned(stage: Stage, namespace: str, name: str, node: str = "n1") -> dict[str, Any]:
    stage.world.put("namespaces", "", namespace, {})
    made = [
        stage.world.add_pod(
            f"{name}-{number}", node, owner=("ReplicaSet", name), app=name, namespace=namespace
        )
        for number in range(2)
    ]
    return made[0]


def spread(stage: Stage) -> list[PlannedMove]:
    """In namespace `one` two workloads, and in the others one each; each move a batch."""
    pods = [owned(stage, "one", "one-a"), owned(stage, "one", "one-b", "n2")]
    pods += [owned(stage, name, name, f"n{n}") for n, name in enumerate(TENANTS[1:], 3)]
    return [planned(pod, batch=number) for number, pod in enumerate(pods, 1)]


def test_a_lost_replacement_holds_its_namespace_and_the_run_goes_on(stage: Stage) -> None:
    stage.world.place = lambda pod: "" if pod["metadata"]["namespace"] == "one" else "spare"
    process = Process(stage, "a", namespaces=TENANTS, missed=True)
    outcome = act(plan_of(stage.world, spread(stage)), process.actor())
    assert [(m.result, m.code) for m in outcome.moves] == [
        ("evicted", "ACT011"),
        ("refused", "ELG038"),
        *[("evicted", "ACT001")] * 3,
    ]
    assert "pod one/one-a-0 was evicted" in outcome.moves[1].message
    assert (outcome.verdict.code, exit_code(outcome)) == ("ACT013", 3)


def test_a_lost_replacement_holds_its_namespace_in_the_next_run_too(stage: Stage) -> None:
    stage.world.place = lambda pod: "" if pod["metadata"]["namespace"] == "one" else "spare"
    process = Process(stage, "a", namespaces=TENANTS, missed=True)
    moves = [structs.replace(move, batch=1) for move in spread(stage)]
    act(plan_of(stage.world, moves[:1]), process.actor())
    stage.seconds += 100
    later = Process(stage, "b", namespaces=TENANTS, missed=True)
    outcome = act(plan_of(stage.world, moves[1:]), later.actor())
    assert [m.code for m in outcome.moves] == ["ELG038", *["ACT001"] * 3]


def test_several_lost_replacements_end_the_run(stage: Stage) -> None:
    stage.world.place = lambda _: ""
    process = Process(stage, "a", namespaces=TENANTS, missed=True)
    outcome = act(plan_of(stage.world, spread(stage)), process.actor())
    assert [m.result for m in outcome.moves] == ["evicted", "refused", *["evicted"] * 2, "skipped"]
    assert (outcome.verdict.code, exit_code(outcome)) == ("GRD003", 3)


def test_a_workload_that_was_scaled_down_lacks_nothing(stage: Stage) -> None:
    """The controller takes the youngest pod, which is the replacement."""
    moves = spread(stage)
    scaled: list[str] = []

    def scale(_number: int, _method: str, _path: str) -> None:
        made = [key for key in stage.world.objects if key[0] == "pods" and "one-a-r" in key[2]]
        if made and not scaled:
            scaled.append(made[0][2])
            del stage.world.objects[made[0]]
            stage.world.objects["replicasets", "one", "one-a"]["spec"]["replicas"] -= 1

    process = Process(stage, "a", namespaces=TENANTS, missed=True, before=scale)
    outcome = act(plan_of(stage.world, moves), process.actor())
    assert scaled
    assert [m.code for m in outcome.moves] == ["ACT011", *["ACT001"] * 4]
    assert outcome.verdict.code == "ACT013"


def test_a_pod_that_does_not_go_ends_no_run(stage: Stage) -> None:
    stage.world.stuck = lambda pod: pod["metadata"]["namespace"] == "one"
    process = Process(stage, "a", namespaces=TENANTS, missed=True)
    outcome = act(plan_of(stage.world, spread(stage)), process.actor())
    assert [m.code for m in outcome.moves] == ["ACT019", "ELG038", *["ACT001"] * 3]
    assert (outcome.verdict.code, exit_code(outcome)) == ("ACT013", 3)
