"""The words of a move's reason are made from its data."""

import pytest
from msgspec.structs import replace

from rescheduler.model.moves.move_reason import LoadChange, MoveReason, RequestChange
from rescheduler.model.reasons import CATALOG
from rescheduler.reporting.move_reasons import coded_text, reason_text

HOT = MoveReason(code="UTL001", policy="hot", gain=0.4, subject="node n1", finding="too busy")
LOADS = [LoadChange("node.cpu", 0.9, 0.6), LoadChange("node.gpu", 0.5, 0.25)]
CPU, MEMORY = RequestChange("cpu", "2", "1"), RequestChange("memory", "1Gi", "4Gi")
CASES = {
    "node n1: too busy (hot +0.40)": HOT,
    "node n1: too busy (hot +0.40 \N{MULTIPLICATION SIGN} weight 2.5)": replace(HOT, weight=2.5),
    "once other moves of this plan are made, node n1: too busy (hot +0.40)": replace(
        HOT, later=True
    ),
    "node n1: too busy; its node goes from node.cpu 90% to 60%, node.gpu 50% to 25% (hot +0.40)": (
        replace(HOT, loads=LOADS)
    ),
    "it makes room for ml/bert on n2": MoveReason(code="FEA012", pod="ml/bert", node="n2"),
    "it makes room for gang ml/g, with 1 other move, all or none": MoveReason(
        code="FRG004", gang="ml/g", others=1
    ),
    "it moves with the rest of gang ml/g": MoveReason(code="FEA014", gang="ml/g"),
    "nothing is wrong where it is, and it fits better on n2 (near +1.00)": MoveReason(
        code="FEA015", node="n2", policy="near", gain=1.0
    ),
    "its replacement asks for 1 CPU (now 2) and 4Gi of memory (now 1Gi), like its template": (
        MoveReason(code="ELG043", requests=[CPU, MEMORY], like="its template")
    ),
    CATALOG["STR006"].sentence: MoveReason(code="STR006"),
}


@pytest.mark.parametrize("text", CASES)
def test_a_reason_is_a_sentence(text: str) -> None:
    assert reason_text(CASES[text]) == text
    assert coded_text(CASES[text]) == f"{CASES[text].code} {text}"
