"""What has become of a move, in one sentence that a person believes."""

from typing import Any

import pytest
from msgspec import structs

from rescheduler.model.moves.plan import LandingShare
from rescheduler.model.moves.restart_cost import StopRef
from rescheduler.model.reasons import CATALOG
from rescheduler.reporting.move_sentences import move_sentence
from tests.reporting.samples import became, move

ANSWER = "POST /api/v1/namespaces/ml/pods/bert-train-3/eviction: 201 Created"


def evicted(nodes: int, **fields: Any) -> str:
    landing = [
        LandingShare(node=f"gpu-{8 + n:03d}", probability=0.06 if n == 0 else 0.05)
        for n in range(nodes)
    ]
    result = structs.replace(became(0, "evicted", "ACT001", ANSWER), landing=landing)
    return move_sentence(move(0, gains={"low": 0.1, "hot-gpus": 2.0}, **fields), result)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (19, "replacement expected on gpu-008 (6 %) or 18 others."),
        (2, "replacement expected on gpu-008 (6 %) or 1 other."),
        (1, "replacement expected on gpu-008 (6 %)."),
        (0, "it is not known where its replacement goes."),
    ],
)
def test_an_eviction_names_its_policy_and_the_likeliest_node(nodes: int, expected: str) -> None:
    assert evicted(nodes) == f"Evicted by policy hot-gpus; {expected}"


def test_a_gang_is_stopped_by_kueue() -> None:
    stops = StopRef(name="train", uid="u")
    assert evicted(1, stops=stops).startswith("Stopped by Kueue for policy hot-gpus; ")


def test_a_move_without_a_gain_names_no_policy() -> None:
    result = structs.replace(became(0, "evicted", "ACT001", ANSWER), landing=[])
    assert move_sentence(move(0, gains={}), result).startswith("Evicted; ")


def test_a_replacement_says_where_it_is_and_since_when_it_is_ready() -> None:
    ready = became(0, "evicted", "ACT001", "", "gpu-008", 0.06, 41.4)
    assert move_sentence(move(0), ready) == "The replacement on gpu-008 was Ready after 41 s."
    waits = became(0, "evicted", "ACT001", "", "gpu-008", 0.06)
    assert move_sentence(move(0), waits) == "The replacement on gpu-008 is not Ready yet."


def test_that_steering_did_not_work_stays_in_the_sentence() -> None:
    said = f"The pod was evicted. {CATALOG['STR005'].sentence}"
    ready = became(0, "evicted", "ACT001", said, "gpu-008", 0.06, 41.4)
    assert move_sentence(move(0), ready).endswith(f"41 s. {CATALOG['STR005'].sentence}")


@pytest.mark.parametrize(
    ("result", "code", "start"),
    [
        ("refused", "ACT004", "Not evicted (ACT004): 0 allowed"),
        ("skipped", "ACT010", "Not evicted (ACT010): 0 allowed"),
        ("unknown", "ACT009", "Eviction requested, with no clear answer (ACT009): 0 allowed"),
        ("evicted", "ACT012", "ACT012 0 allowed Its replacement is on gpu-a-11."),
    ],
)
def test_what_went_wrong_keeps_its_code(result: Any, code: str, start: str) -> None:
    landed = "gpu-a-11" if code == "ACT012" else None
    assert move_sentence(move(0), became(0, result, code, "0 allowed", landed)) == start
