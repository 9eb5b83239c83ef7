"""A move's states change by the events of one table, and in no other way."""

import ast
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from rescheduler.model.errors import ImpossibleEvent
from rescheduler.model.moves.past_move import TRANSITIONS, Event, PastMove, State
from tests.cases import every

NOW = datetime(2026, 11, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
PACKAGE = sorted((Path(__file__).parents[2] / "rescheduler").rglob("*.py"))
STATES: tuple[State, ...] = get_args(State)

EVENTS: dict[str, tuple[Event, Callable[[PastMove], object]]] = {
    "refuse": ("refuse", lambda move: move.refuse("ACT004", LATER)),
    "break_off": ("refuse", lambda move: move.break_off("ACT005", LATER)),
    "give_back": ("give up waiting", lambda move: move.give_back(LATER)),
    "evict": ("evict", lambda move: move.evict("ACT001")),
    "charge_late": ("see effect", lambda move: move.charge_late(LATER)),
    "see_gone": ("see gone", lambda move: move.see_gone(LATER)),
    "see_stay": ("see stay", lambda move: move.see_stay()),
    "see_replacement": ("see replacement", lambda move: move.see_replacement("r-1", "n2")),
    "see_ready": ("see replacement", lambda move: move.see_ready(LATER, 2.0, 0)),
    "see_not_ready": ("see replacement", lambda move: move.see_not_ready()),
    "see_restart": ("see replacement", lambda move: move.see_restart(1, None)),
    "settle": ("settle", lambda move: move.settle(LATER)),
    "lose": ("lose", lambda move: move.lose(LATER, looping=False)),
    "lose_sight": ("lose sight", lambda move: move.lose_sight(LATER)),
    "see_no_effect": ("see no effect", lambda move: move.see_no_effect()),
    "complete": ("complete", lambda move: move.complete(LATER)),
}


def move(state: State) -> PastMove:
    return PastMove(
        plan="p",
        podUid="pod-1",
        namespace="default",
        pod="web-1",
        workload="d-1",
        source="n1",
        at=NOW,
        state=state,
    )


@every({f"{name}-{state}": (name, state) for name in EVENTS for state in STATES})
def test_an_event_leads_where_the_table_says_or_cannot_happen(name: str, state: State) -> None:
    event, happen = EVENTS[name]
    past = move(state)
    following = TRANSITIONS[event].get(state)
    if following is None:
        with pytest.raises(ImpossibleEvent, match=f"web-1 is {state}"):
            happen(past)
        assert past == move(state), "nothing of it is changed"
    else:
        happen(past)
        assert past.state == following


def test_every_event_of_the_table_has_a_method() -> None:
    assert {event for event, _ in EVENTS.values()} == set(TRANSITIONS) == set(get_args(Event))


def test_what_is_settled_or_refused_for_good_is_left() -> None:
    """Only an unanswered eviction that was given back may still turn out to be carried out."""
    onward = {state for steps in TRANSITIONS.values() for state in steps}
    assert "ready" not in onward
    assert [event for event, steps in TRANSITIONS.items() if "refused" in steps] == ["see effect"]


def test_only_an_intent_is_given_back() -> None:
    """What was evicted stays charged, whatever becomes of it."""
    given_back = {
        state
        for steps in TRANSITIONS.values()
        for state, following in steps.items()
        if following == "refused"
    }
    assert given_back == {"intended"}


def fields_written(path: Path) -> set[str]:
    """The fields of a move's record that a module assigns, by their names."""
    names = set(PastMove.__struct_fields__) - {"policies", "batch", "code", "source", "at", "plan"}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
        and node.attr in names
    }


OTHERS = {
    "landing_trust.py": {"compared"},
    "listing.py": {"namespace"},
    "page_decoding.py": {"namespace"},
    "summary.py": {"gain"},
}
"""Modules that write a field of another record, which has the same name."""


@every({str(path): (path,) for path in PACKAGE if path.name != "history.py"})
def test_nobody_else_assigns_a_field_of_a_move(path: Path) -> None:
    assert fields_written(path) <= OTHERS.get(path.name, set())
