"""Spread wants pods apart, Locality wants them near their data: what weighs more decides, once."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.spread.policy import Spread
from rescheduler.reporting.move_reasons import reason_text
from tests.picture import picture

ROOMY = Limits(
    movesPerWorkload=20, inFlightPerWorkload=20, movesPerCycle=20, movesPerNode=20,
    movesPerNamespace=20, gainShare=0.0,
)  # fmt: skip


def named(app: str) -> dict[str, Any]:
    return {"labels": {"matchLabels": {"app": app}}}


APART = Spread.model_validate({"name": "apart", "match": named("web")})
NEAR = Locality.model_validate(
    {
        "name": "near",
        "match": named("web"),
        "pairs": [{"pods": named("web"), "near": named("cache")}],
        "levels": [{"name": "zone", "labels": ["topology.kubernetes.io/zone"]}],
    }
)
CROWDED = """
    zone a | n1 | cache cache cache cache web web web web
    zone b | n2 | -
"""


def planned(before: Snapshot, apart: float, near: float) -> Plan:
    policies = [
        APART.model_copy(update={"weight": apart}),
        NEAR.model_copy(update={"weight": near}),
    ]
    return plan(before, policy_set(list(policies), ROOMY), History(), mode="Enforce")


def landed(before: Snapshot, made: Plan) -> Snapshot:
    """The cluster with each moved pod where it most likely landed."""
    to = {
        move.pod.uid: max(move.landing, key=lambda share: share.probability).node
        for move in made.moves
    }
    pods = [
        msgspec.structs.replace(pod, node=to.get(pod.metadata.uid, pod.node)) for pod in before.pods
    ]
    return replace(before, pods=pods)


@pytest.mark.parametrize(("apart", "near", "moves"), [(1, 2, 0), (1, 1, 0), (3, 1, 2)])
def test_who_weighs_more_decides_and_then_it_rests(apart: float, near: float, moves: int) -> None:
    before = picture(CROWDED)
    made = planned(before, apart, near)
    assert len(made.moves) == moves
    assert planned(landed(before, made), apart, near).moves == []


def test_the_report_reports_what_each_gains_and_loses() -> None:
    made = planned(picture(CROWDED), 3, 1)
    for move in made.moves:
        assert move.gains["apart"] == pytest.approx(1.0)
        assert move.gains["near"] < 0
        assert move.gain == pytest.approx(3 * move.gains["apart"] + move.gains["near"])
        assert [reason.code for reason in move.reasons] == ["SPR001"]
    refused = planned(picture(CROWDED), 1, 2).refused
    assert {refusal.code for refusal in refused} == {"FEA003"}


def test_what_only_the_moves_before_it_make_worth_moving_has_a_reason_too() -> None:
    """The api pods are near all web pods until one of these is moved for Spread's sake."""
    follows = NEAR.model_copy(
        update={
            "match": NEAR.match.model_validate(named("api")),
            "pairs": [
                pair.model_validate({"pods": named("api"), "near": named("web")})
                for pair in NEAR.pairs
            ],
        }
    )
    before = picture("""
        zone a | n0 | -
        zone b | n1 | web web api api api
    """)
    policies = [APART.model_copy(update={"weight": 5}), follows]
    made = plan(before, policy_set(policies, ROOMY), History(), mode="Enforce")
    first, then = made.moves
    assert [reason.code for reason in first.reasons] == ["SPR001"]
    (reason,) = then.reasons
    assert then.pod.name == "api-0"
    assert reason.code == "LOC001"
    assert reason_text(reason).startswith("once other moves of this plan are made, ")


def test_a_move_that_would_leave_the_zone_of_the_data_is_refused() -> None:
    before = picture("""
        zone a | n1 | cache cache web web
        zone a | n2 | -
        zone b | n3 | -
    """)
    hosts = {"topologyKey": "kubernetes.io/hostname", "within": "topology.kubernetes.io/zone"}
    within = Spread.model_validate(
        {"name": "within", "match": named("web"), "constraints": [{**hosts, "maxPerDomain": 1}]}
    )
    made = plan(before, policy_set([within, NEAR], ROOMY), History(), mode="Enforce")
    # The scheduler would take it to n3, where it gains for one what it loses for the other.
    assert made.moves == []
    assert {(refusal.pod.name, refusal.code) for refusal in made.refused} == {
        ("web-0", "FEA003"),
        ("web-1", "FEA003"),
    }
    assert all("expected on n3" in refusal.message for refusal in made.refused)
