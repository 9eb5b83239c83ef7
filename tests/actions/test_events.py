"""Events on the pod and on its owner."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rescheduler.actions.events import EventWriter, note, reason_of
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan import MoveResult, OwnerRef, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.reporting.move_reasons import coded_text
from rescheduler.reporting.move_sentences import move_sentence
from tests.cases import every
from tests.fakes.apiserver import Fault, serving
from tests.fakes.moves import became, planned
from tests.fakes.stage import START, Stage

AT = datetime(2026, 11, 21, 12, 0, 0, 5, tzinfo=UTC)


def a_move(**more: Any) -> PlannedMove:
    pod = Stage().world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="web")
    return planned(pod, **more)


def ended(**more: Any) -> tuple[PlannedMove, MoveResult]:
    """A move, and what became of it."""
    move = a_move()
    return move, became(move, **more)


def test_an_eviction_is_reported_on_the_pod_and_on_its_owner() -> None:
    with serving() as fake:
        writer = EventWriter(
            fake.client(),
            instance="host_1",
            now=lambda: AT,
            describe=move_sentence,
            reason_text=coded_text,
        )
        move = a_move()
        writer(move, became(move), "abc123")
        first, second = fake.sent("POST", "/events")
    assert first is not None
    assert second is not None
    assert first["regarding"]["uid"] == move.pod.uid
    assert second["regarding"] == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "rs-1",
        "namespace": "default",
        "uid": "rs-1",
    }
    assert first["eventTime"] == "2026-11-21T12:00:00.000005Z"
    assert (first["reason"], first["type"], first["action"]) == (
        "RebalanceUtilization",
        "Normal",
        "Evict",
    )
    assert first["note"] == (
        "Evicted by policy hot; replacement expected on spare (75 %). Plan abc123: "
        "UTL001 node n1: it is hot (hot +0.00)"
    )
    assert writer.failures == 0


def test_a_demotion_is_reported_on_the_state_config_map() -> None:
    with serving() as fake:
        writer = EventWriter(
            fake.client(),
            instance="host_1",
            now=lambda: AT,
            describe=move_sentence,
            reason_text=coded_text,
            state="ours/rescheduler-state",
        )
        writer.report_demotion(
            Problem(code="MSR001", message="Policy even counts as Audit " + "x" * 2000)
        )
        (body,) = fake.sent("POST", "/events")
    assert body is not None
    assert body["regarding"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "rescheduler-state",
        "namespace": "ours",
    }
    assert (body["reason"], body["type"], body["metadata"]["namespace"]) == (
        "PolicyDemoted",
        "Warning",
        "ours",
    )
    assert body["note"].startswith("MSR001 Policy even")
    assert len(body["note"]) == 1024


def test_what_cannot_be_reported_is_counted_and_stops_nothing() -> None:
    with serving() as fake:
        fake.faults += [Fault("POST", "/events", 403), Fault("POST", "/events", "drop-before")]
        writer = EventWriter(
            fake.client(),
            instance="host_1",
            now=lambda: START,
            describe=move_sentence,
            reason_text=coded_text,
        )
        writer(*ended(), "abc123")
    assert writer.failures == 2


def test_the_reason_says_what_it_is_for_or_what_went_wrong() -> None:
    spread, plain = a_move(reasons=[MoveReason(code="SPR001")]), a_move(reasons=[])
    assert reason_of(spread, became(spread)) == "RestoreSpread"
    assert reason_of(plain, became(plain)) == "Reschedule"
    assert reason_of(*ended(result="refused", code="ACT004")) == "EvictionRefused"
    assert reason_of(*ended(result="unknown", code="ACT009")) == "EvictionUnknown"
    assert reason_of(*ended(code="ACT011")) == "ReplacementLate"
    assert reason_of(*ended(code="ACT018", readySeconds=3.0)) == "ReplacementLate"
    assert reason_of(*ended(code="ACT023")) == "ReplacementLate"
    assert reason_of(*ended(code="ACT019", readySeconds=3.0)) == "PodStillTerminating"
    assert reason_of(*ended(code="ACT012", readySeconds=3.0)) == "ReplacementReturned"
    assert reason_of(*ended(readySeconds=3.0)) == "ReplacementReady"


@given(st.text(max_size=3000))
def test_a_note_fits(text: str) -> None:
    assert len(note(a_move(), text, "abc123", [text]).encode()) <= 1024


def test_an_owner_of_an_unknown_kind_is_left_out() -> None:
    with serving() as fake:
        writer = EventWriter(
            fake.client(),
            instance="host_1",
            now=lambda: START,
            describe=move_sentence,
            reason_text=coded_text,
        )
        move = a_move(owner=OwnerRef(kind="Rollout", name="web", uid="r-1"))
        writer(move, became(move), "abc123")
        assert len(fake.sent("POST", "/events")) == 1


@every(
    [
        ("room for default/api-1 on n1", "room for default/api-1 on n1"),
        ("room for bank/ledger-0 on n1", "room for something in another namespace on n1"),
        (
            "it makes room for pod bank/ledger-0.",
            "it makes room for something in another namespace.",
        ),
        ("Workload bank/rival waits, too", "something in another namespace waits, too"),
        ("Deployment/bank/ledger is hot", "something in another namespace is hot"),
        ("3/4 of nvidia.com/gpu in topology.kubernetes.io/zone=a", None),
        ("GET https://10.0.0.1:6443/api/v1/namespaces/bank/pods: 200", None),
        ("Deployment default/web, half/", None),
    ]
)
def test_an_event_names_nothing_in_other_namespaces(said: str, written: str | None) -> None:
    text = note(a_move(), "Evicted.", "p", [f"UTL001 {said}"])
    assert text == f"Evicted. Plan p: UTL001 {written or said}"
    assert note(a_move(), said, "p", []) == f"{written or said} Plan p."
