"""What a person asks to forget is heeded while the lock is held, and only once."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rescheduler.actions.ledger import Ledger
from rescheduler.model.errors import LedgerUnreadable
from rescheduler.model.moves.history import History
from tests.actions.state import (
    KEY,
    begun,
    past,
    taken_over,
)
from tests.fakes.stage import Stage


def older(stage: Stage, ledger: Ledger) -> dict[str, Any]:
    """As it was before the last write."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(stage.world.objects[KEY]))
    ledger.write(History([past("u1", state="ready")]))
    return found


def damaged(stage: Stage, ledger: Ledger) -> dict[str, Any]:
    """As somebody left it who edited an older one."""
    return mistyped(older(stage, ledger))


def latest_damaged(stage: Stage, ledger: Ledger) -> dict[str, Any]:
    """With the bytes that we wrote last."""
    older(stage, ledger)
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(stage.world.objects[KEY]))
    return mistyped(found)


def mistyped(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "data": {**state["data"], "checksum": "0"}}


@pytest.mark.parametrize(
    ("spoiled", "said"),
    [(older, "not by us"), (damaged, "instead of 0"), (latest_damaged, "instead of 0")],
)
def test_a_person_forgets_the_budgets_while_we_hold_the_lock(
    spoiled: Callable[[Stage, Ledger], dict[str, Any]], said: str
) -> None:
    """The request is heeded by the cycle after the one that saw it."""
    stage = Stage()
    a = begun(stage)
    left = spoiled(stage, a.ledger)
    stage.world.put(*KEY, left)
    for _ in range(2):
        with pytest.raises(LedgerUnreadable, match=said):
            a.ledger.load()
    stage.world.put(*KEY, {**left, "data": {**left["data"], "budgets": "forget"}})
    with pytest.raises(LedgerUnreadable):
        a.ledger.load()
    assert a.ledger.load().moves == []
    assert "budgets" not in stage.world.objects[KEY]["data"], "it is done once"
    a.ledger.write(History([past("u2", state="ready")]))
    assert [move.podUid for move in a.ledger.load().moves] == ["u2"]


def test_a_request_to_forget_does_not_wait_for_a_later_damage() -> None:
    stage = Stage()
    a = begun(stage)
    a.ledger.write(History([past("u1", state="ready")]))
    found = stage.world.objects[KEY]
    stage.world.put(*KEY, {**found, "data": {**found["data"], "budgets": "forget"}})
    assert [move.podUid for move in a.ledger.load().moves] == ["u1"]
    found = stage.world.objects[KEY]
    assert "budgets" not in found["data"], "at once: where nothing is moved, nothing is written"
    a.lease.release()
    stage.world.put(*KEY, {**found, "data": {**found["data"], "checksum": "0"}})
    with pytest.raises(LedgerUnreadable):
        taken_over(stage).ledger.open()


def test_a_reset_is_obeyed_once_though_another_one_follows_soon() -> None:
    """A later loss must not be forgiven by what was asked for an earlier one."""
    stage = Stage()
    a = begun(stage)

    def ask(text: str) -> None:
        found = msgspec.json.decode(msgspec.json.encode(stage.world.objects[KEY]))
        stage.world.put(*KEY, {**found, "data": {**found["data"], "reset": text}})

    a.ledger.write(History([past("u1", state="lost", settled=stage.now())]))
    ask("hold default")
    history = a.ledger.load()
    assert [move.forgiven for move in history.moves] == [True]
    ask("hold default\nhold elsewhere")
    history.moves.append(past("u2", state="lost", settled=stage.now()))
    a.ledger.write(history)
    assert stage.world.objects[KEY]["data"]["reset"] == "hold elsewhere"
    assert [move.forgiven for move in a.ledger.load().moves] == [True, False]
    a.ledger.write(a.ledger.load())
    assert "reset" not in stage.world.objects[KEY]["data"]
