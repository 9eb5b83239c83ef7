"""The sentence on top says what the plan does, and nothing that it does not."""

from typing import Any

import pytest
from msgspec import structs

from rescheduler.model.found import Found
from rescheduler.model.idle import IdleHolder
from rescheduler.model.plan import Cost, Plan, PolicyResult
from rescheduler.model.room import GangRoom
from rescheduler.reporting.headline import headline
from rescheduler.reporting.view import view
from tests.reporting.samples import became, outcome_of, plan

IDLE = IdleHolder(namespace="lab", owner="Pod nb", pods=1, gpus=9.0, use=0.01, hours=0.1)


def room(gang: str = "ml/llama-70b", gpus: float = 16.0, **more: Any) -> GangRoom:
    return GangRoom(
        **{"gang": gang, "pods": 2, "gpus": gpus, "before": False, "after": True, **more}
    )


def hot(before: int, after: int) -> Found:
    return Found(one="hot GPU", many="hot GPUs", before=before, after=after)


def policy(name: str = "p", before: float = 0.0, after: float = 0.0, **more: Any) -> PolicyResult:
    cost = Cost(before=before, after=after)
    return PolicyResult(name=name, kind="K", mode="Enforce", weight=1.0, cost=cost, **more)


def of(*policies: PolicyResult, moves: int = 2) -> Plan:
    made = plan()
    return structs.replace(made, policies=list(policies), moves=made.moves[:moves])


HOT = policy(found=[hot(5, 0)])


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        ([HOT], "5 hot GPUs become 0"),
        ([policy(found=[hot(1, 0)])], "1 hot GPU becomes 0"),
        ([HOT, HOT], "10 hot GPUs become 0"),
        ([policy(found=[Found(one="pod apart", many="pods apart", before=2, after=1)])],
         "2 pods apart become 1"),
        ([policy(room=[room()])], "gang ml/llama-70b gets its 16 GPUs"),
        ([policy(room=[room(gpus=1.0)])], "gang ml/llama-70b gets its 1 GPU"),
        ([policy(room=[room(gpus=0.0)])], "gang ml/llama-70b gets room for its 2 pods"),
        ([policy("a", room=[room()]), policy("b", room=[room()])],
         "gang ml/llama-70b gets its 16 GPUs"),
        ([policy(room=[room("a"), room("b"), room("c")])],
         "gang a gets its 16 GPUs, gang b gets its 16 GPUs, 1 more gang gets room"),
        ([policy(room=[room(after=False)])], "1 gang still waits"),
        ([policy("zones", 4, 3)], "policy zones is 25 % better"),
        ([policy(idle=[IDLE])], "214 idle GPU-hours a day are told"),
    ],
)  # fmt: skip
def test_each_thing_is_told_once(policies: list[PolicyResult], told: str) -> None:
    assert headline(of(*policies)) == f"Moves 2 pods: {told}."


@pytest.mark.parametrize(
    "policies",
    [
        [policy(found=[hot(2, 2)])],
        [policy(found=[hot(2, 3)])],
        [policy("zones", 3, 3)],
        [policy("zones", 3, 4)],
        [policy(room=[room(before=True)])],
        [policy(idle=[structs.replace(IDLE, gpus=0.01)])],
        [],
    ],
)
def test_what_does_not_get_better_is_not_told(policies: list[PolicyResult]) -> None:
    assert headline(of(*policies)) == "Moves 2 pods."


def test_without_moves_it_says_what_waits_and_what_idles() -> None:
    made = of(policy(room=[room(after=False)]), policy(idle=[IDLE]), moves=0)
    assert headline(made) == (
        "Moves no pod: 1 gang still waits, 214 idle GPU-hours a day are told."
    )
    assert headline(of(moves=0)) == "Moves no pod."


def test_moves_that_only_audit_policies_want_are_not_made() -> None:
    made = of(HOT)
    audit = [structs.replace(each, mode="Audit") for each in made.moves]
    assert headline(structs.replace(made, moves=audit)) == (
        "Would move 2 pods: 5 hot GPUs become 0."
    )


def test_an_outcome_claims_nothing_that_was_not_carried_out() -> None:
    made = of(HOT)
    moves = [structs.replace(each, mode="Enforce") for each in made.moves]
    made = structs.replace(made, moves=moves)
    done = became(0, "evicted", "ACT001", "", "gpu-b-17", 0.6, 38.0)
    refused = became(1, "refused", "ACT004", "0 disruptions allowed")
    whole = outcome_of(made, done, structs.replace(refused, result="evicted"))
    assert headline(whole) == "Moved 2 of 2 pods, as predicted: 5 hot GPUs become 0."
    assert headline(outcome_of(made, done, refused)) == "Moved 1 of 2 pods."


def test_what_others_wrote_is_made_harmless_in_it() -> None:
    hostile = of(policy(room=[room("ml/\x1b[31mred")]))
    assert "\x1b" not in view(hostile).headline
