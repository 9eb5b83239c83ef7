"""What descheduler's DefaultEvictor would not touch we leave alone too, and some more."""

import gzip
import json
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rescheduler.model.history import History
from rescheduler.planning.eligibility import Eligibility
from tests.oracle import cases
from tests.oracle.cases import Case

GIVEN = os.environ.get("RESCHEDULER_ORACLE", "")

pytestmark = pytest.mark.skipif(not GIVEN, reason="RESCHEDULER_ORACLE names no folder")

STRICTER = {
    "ELG001": "a bare pod would not come back; that it has failed makes no difference",
    "ELG002": "pods of a DaemonSet come back to their node, whatever is allowed",
    "ELG003": "mirror pods come back to their node; an annotation does not change that",
    "ELG009": "critical pods never move, and `evict` does not lift the priority of a pod",
    "ELG010": "whether local data may be lost is said by cluster-autoscaler's annotations",
    "ELG011": "prefer-no-eviction is taken for what it says",
    "ELG012": "Ready pods of the workload are counted, and their fixtures' owners have one each",
    "ELG017": "its volume claim is not in the cluster, so where it could go is not known",
}
"""Code to the reason why a pod that descheduler would evict is left alone."""

LOOSER = dict.fromkeys(
    ("ignorePodsWithoutPDB", "PodsWithoutPDB"),
    "a pod without a PodDisruptionBudget is held by our own limits instead",
)
"""Argument to the reason why a pod that descheduler protects may be eligible."""


def filters() -> list[tuple[str, dict[str, Any], str, bool]]:
    """Name, the cluster, the pod, and whether descheduler would evict it."""
    with gzip.open(Path(GIVEN) / "cases.json.gz") as stream:
        found = json.load(stream)
    return [
        (each["test"], each, each["result"]["pod"], each["result"]["result"])
        for each in found
        if (each.get("result") or {}).get("point") == "Filter"
    ]


def refusal(given: dict[str, Any], name: str) -> str:
    """The code with which we leave the pod alone, or ""."""
    begin, taken = given["begin"], datetime.fromisoformat(given["capturedAt"]).astimezone(UTC)
    pods = begin["pods"] or []
    hosts = {each["spec"].get("nodeName") for each in pods} - {None, ""}
    known = {each["metadata"]["name"] for each in begin["nodes"] or []}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    nodes = [
        *(begin["nodes"] or []),
        *({"metadata": {"name": host}, "status": ready} for host in sorted(hosts - known)),
    ]
    made = cases.assembled(nodes, pods, taken=taken)
    case = Case("", "", {}, {**begin, "limits": None}, taken, 0)
    evictor = begin["evictorArgs"]
    limits = cases.limits(case).model_copy(
        update={
            "minReplicas": max(1, evictor.get("minReplicas") or 1),
            "minPodAge": cases.duration(evictor.get("minPodAge")),
        }
    )
    [number] = [at for at, each in enumerate(made.pods) if each.metadata.name == name][:1]
    code = Eligibility(made, limits, History()).refusal(number)
    return code.code if code else ""


def test_what_they_protect_is_left_alone_and_more_with_a_reason() -> None:
    known = filters()
    assert len(known) > 30
    stricter: Counter[str] = Counter()
    for name, given, pod, theirs in known:
        code = refusal(given, pod)
        if theirs and code:
            assert code in STRICTER, (name, code)
            stricter[code] += 1
        elif not theirs and not code:
            told = json.dumps(given["begin"]["evictorArgs"])
            assert any(each in told for each in LOOSER), name
    assert set(stricter) == set(STRICTER)
