"""What a plan counts is what a person would count: hot nodes, not findings about them."""

from typing import Any

from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policytest.series_readings import with_devices
from rescheduler.reporting.headline import headline
from tests.cases import every
from tests.picture import picture
from tests.policies.utilization.shared_gpus import POOL, SHARES

GIB = 2**30
CPU: Any = {"cpu": {"high": "80%", "low": "70%"}}
MEMORY: Any = {"memory": {"high": "90%", "low": "80%"}}
DRAWN = """
    zone a | n1 | web web web web web web web web
    zone a | n2 | -
    zone a | n3 | -
"""


def hot(name: str, targets: Any, **more: Any) -> Utilization:
    given = {"nodes": {"all": True}, "match": {"all": True}, "targets": targets, **more}
    return Utilization(name=name, **given)


def planned(policies: list[Utilization], cpu: float, memory: float, moves: int = 1) -> Plan:
    readings: Any = {
        "node.cpu": {"n1": cpu, "n2": "10%", "n3": "10%"},
        "node.memory": {"n1": memory, "n2": "10%", "n3": "10%"},
        "pod.cpu": {"web": cpu},
        "pod.memory": {"web": memory * 4 * GIB},
    }
    before = picture(DRAWN, readings=readings, policies=policies)
    limits = Limits(movesPerCycle=moves, movesPerNode=moves, maxHotShare=1.0)
    return plan(before, policy_set(list(policies), limits), History(), mode="Enforce")


@every(
    [
        # One node, hot in two resources, of one policy and of two.
        ([hot("u", {**CPU, **MEMORY})], (0.85, 0.95), "1 hot node becomes 0"),
        ([hot("u", CPU), hot("v", MEMORY)], (0.85, 0.95), "1 hot node becomes 0"),
        # 85% to 74.4%: between `low` and `high` it is not hot any more.
        ([hot("u", CPU)], (0.85, 0.2), "1 hot node becomes 0"),
        # It is relieved, and stays hot.
        ([hot("u", CPU)], (0.95, 0.2), "policy u is 59 % better (still 1 hot node)"),
    ]
)
def test_a_node_is_counted_once_and_only_while_it_is_hot(
    policies: list[Utilization], loads: tuple[float, float], said: str
) -> None:
    made = planned(policies, *loads)
    assert len(made.moves) == 1
    assert headline(made) == f"Moves 1 pod: {said}."


def test_a_node_between_low_and_high_is_not_hot() -> None:
    made = planned([hot("u", CPU)], 0.75, 0.2)
    assert made.policies[0].cost.before > 0
    assert (made.counts, made.policies[0].counts) == ([], [])
    assert headline(made) == "Healthy: the policy finds nothing wrong."


def test_a_node_above_the_mean_only_is_not_hot() -> None:
    even = hot("u", {"cpu": {"high": "80%"}}, strategy="Balance")
    made = planned([even], 0.5, 0.2)
    assert len(made.moves) == 1
    assert headline(made).startswith("Moves 1 pod: policy u is ")


def test_a_gpu_that_is_hot_in_load_and_memory_is_one() -> None:
    target: Any = {"high": "80%", "low": "70%"}
    both = hot("u", {"gpu": target, "gpuMemory": target})
    loads: Any = {"n1": {"GPU-1": [0.9, "chat-0=0.5", "chat-1=0.4"]}, "n2": {"GPU-a": [0.1]}}
    names = ("node.gpu", "node.gpu.memory")
    readings = {name: dict.fromkeys(("n1", "n2"), 0.0) for name in names}
    before = picture(POOL, requests=SHARES, readings=readings, policies=[both])
    before = with_devices(before, dict.fromkeys(names, loads))
    made = plan(before, policy_set([both]), History(), mode="Enforce")
    assert {(count.many, count.before) for count in made.counts} == {("hot GPUs", 1)}
