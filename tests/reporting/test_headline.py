"""The sentence on top says what the plan does, and nothing that it does not."""

from typing import Any

from msgspec import structs

from rescheduler.model.finding_count import FindingCount
from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.gang_room import GangRoom
from rescheduler.model.moves.plan import Cost, GainsResult, Outcome, Plan, PolicyResult, Result
from rescheduler.reporting.headline import headline
from rescheduler.reporting.view import view
from tests.cases import every
from tests.reporting.samples import became, outcome_of, plan

IDLE = IdleHolder(namespace="lab", owner="Pod nb", pods=1, gpus=9.0, use=0.01, hours=0.1)


def room(gang: str = "ml/llama-70b", gpus: float = 16.0, **more: Any) -> GangRoom:
    return GangRoom(
        **{"gang": gang, "pods": 2, "gpus": gpus, "before": False, "after": True, **more}
    )


def hot(before: int, after: int) -> FindingCount:
    return FindingCount(one="hot GPU", many="hot GPUs", before=before, after=after)


def policy(name: str = "p", before: float = 0.0, after: float = 0.0, **more: Any) -> PolicyResult:
    cost = Cost(before=before, after=after)
    return PolicyResult(name=name, kind="K", mode="Enforce", weight=1.0, cost=cost, **more)


def of(*policies: PolicyResult, moves: int = 2) -> Plan:
    made = plan()
    found = [count for one in policies for count in one.counts]
    return structs.replace(made, policies=list(policies), counts=found, moves=made.moves[:moves])


HOT = policy(counts=[hot(5, 0)])


@every([
        ([HOT], "5 hot GPUs become 0"),
        ([policy(counts=[hot(1, 0)])], "1 hot GPU becomes 0"),
        ([policy("u", 4, 3, counts=[hot(2, 2)])], "policy u is 25 % better (still 2 hot GPUs)"),
        ([policy("u", 4, 3, counts=[hot(2, 3)])], "policy u is 25 % better (still 3 hot GPUs)"),
        ([policy(counts=[FindingCount(one="pod apart", many="pods apart", before=2, after=1)])],
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
        ([policy(idle=[IDLE])], "214 GPU-hours a day are idle"),
    ])  # fmt: skip
def test_each_thing_is_told_once(policies: list[PolicyResult], told: str) -> None:
    assert headline(of(*policies)) == f"Moves 2 pods: {told}."


@every(
    [
        [policy(counts=[hot(2, 2)])],
        [policy(counts=[hot(2, 3)])],
        [policy("zones", 3, 3)],
        [policy("zones", 3, 4)],
        [policy(room=[room(before=True)])],
        [policy(idle=[structs.replace(IDLE, gpus=0.01)])],
        [],
    ]
)
def test_what_does_not_get_better_is_not_told(policies: list[PolicyResult]) -> None:
    assert headline(of(*policies)) == "Moves 2 pods."


def test_without_moves_it_says_what_waits_and_what_idles() -> None:
    made = of(policy(room=[room(after=False)]), policy(idle=[IDLE]), moves=0)
    assert headline(made) == ("Moves no pod: 1 gang still waits, 214 GPU-hours a day are idle.")
    assert headline(of(moves=0)) == "Moves no pod."


def test_moves_that_only_audit_policies_want_are_not_made() -> None:
    made = of(HOT)
    audit = [structs.replace(move, mode="Audit") for move in made.moves]
    assert headline(structs.replace(made, moves=audit)) == (
        "Would move 2 pods: 5 hot GPUs become 0."
    )


Became = tuple[int, Result, str, str | None, float | None]
"""Index of a move, its result, code, where it landed, seconds to Ready."""


def outcome(*results: Became) -> Outcome:
    """Of a plan that cools five GPUs."""
    made = of(HOT, moves=len(results))
    moves = [structs.replace(move, mode="Enforce") for move in made.moves]
    made = structs.replace(made, moves=moves)
    return outcome_of(
        made,
        *(
            became(at, result, code, "", node, 0.6 if node else None, seconds)
            for at, result, code, node, seconds in results
        ),
    )


WELL: Became = (0, "evicted", "ACT001", "gpu-b-17", 38.0)


@every([
        ((1, "evicted", "ACT001", "gpu-b-18", 4.0),
         "Moved 2 of 2 pods; predicted: 5 hot GPUs become 0."),
        ((1, "refused", "ACT004", None, None), "Moved 1 of 2 pods."),
        ((1, "unknown", "ACT009", None, None), "Moved 1 of 2 pods."),
        ((1, "evicted", "ACT011", "gpu-b-18", None),
         "Moved 1 of 2 pods, evicted 1 more that has no Ready replacement on another node."),
        ((1, "evicted", "ACT001", None, None),
         "Moved 1 of 2 pods, evicted 1 more that has no Ready replacement on another node."),
    ])  # fmt: skip
def test_an_outcome_keeps_what_was_done_apart_from_predictions(second: Any, told: str) -> None:
    assert headline(outcome(WELL, second)) == told


def test_an_outcome_of_no_moves_says_so() -> None:
    waits = of(policy(room=[room(after=False)]), moves=0)
    assert headline(outcome_of(waits)) == "Moved no pod: 1 gang still waits."
    assert headline(outcome_of(of(HOT, moves=0))) == "Moved no pod."


def test_pods_that_came_back_were_not_moved() -> None:
    made = outcome(WELL, (1, "evicted", "ACT012", "gpu-b-18", 4.0))
    moves = [made.plan.moves[0], structs.replace(made.plan.moves[1], source="gpu-b-18")]
    back = structs.replace(made, plan=structs.replace(made.plan, moves=moves))
    assert headline(back).startswith("Moved 1 of 2 pods, evicted 1 more")


def test_what_was_measured_is_of_earlier_moves_and_is_told_as_such() -> None:
    made = outcome(WELL, (1, "evicted", "ACT001", "gpu-b-18", 4.0))
    brought = GainsResult(promised=4.0, measured=3.0, moves=5)
    policies = [
        structs.replace(HOT, brought=brought),
        policy("zones", brought=GainsResult(promised=4.0, measured=4.0, moves=1)),
        policy("new", brought=GainsResult(promised=0.0, measured=0.0, moves=0)),
        policy(idle=[IDLE]),
    ]
    told = structs.replace(made, plan=structs.replace(made.plan, policies=policies))
    assert headline(told) == (
        "Moved 2 of 2 pods; predicted: 5 hot GPUs become 0. "
        "Measured: earlier moves brought 88 % of what they promised. "
        "214 GPU-hours a day are idle."
    )


def test_what_others_wrote_is_made_harmless_in_it() -> None:
    hostile = of(policy(room=[room("ml/\x1b[31mred")]))
    assert "\x1b" not in view(hostile).headline
