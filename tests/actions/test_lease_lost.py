"""A lock that another one had in between is not ours any more, even where it is free again."""

from collections.abc import Callable

import pytest

from rescheduler.model.errors import LockLost
from rescheduler.model.moves.history import History
from tests.actions.state import LEASE, begun, later, note, past, taken_over
from tests.fakes.stage import Process, Stage

PUT = ("PUT", "/apis/coordination.k8s.io/v1/namespaces/rescheduler/leases/rescheduler")


def stands_still(process: Process, meanwhile: Callable[[], object]) -> None:
    """Right before its next write of the Lease, until its lock has expired."""

    def once(_: int, method: str, path: str) -> None:
        if (method, path) == PUT:
            process.before = lambda *_: None
            process.stage.seconds += 300
            meanwhile()

    process.before = once


@pytest.mark.parametrize("released", [True, False])
def test_a_note_is_never_put_over_that_of_another_holder(released: bool) -> None:
    stage = Stage()
    a = begun(stage)

    def another() -> None:
        b = taken_over(stage)
        b.ledger.write(b.ledger.open())
        if released:
            b.lease.release()

    stands_still(a, another)
    with pytest.raises(LockLost, match="before the state could be noted"):
        a.ledger.write(History([past("u1")]))
    assert not a.lease.held
    assert (note(stage)["fence"], note(stage)["sequence"]) == (2, 4)


def test_a_lock_that_another_one_had_is_not_renewed() -> None:
    stage = Stage()
    a = begun(stage)

    def another() -> None:
        taken_over(stage).lease.release()

    stands_still(a, another)
    assert not a.lease.renew()
    assert not a.lease.held
    later(a, 0)
    assert a.lease.held, "it is acquired again"


def test_a_deleted_lease_is_not_made_again_once_the_lock_has_expired() -> None:
    stage = Stage()
    a = begun(stage)
    stands_still(a, lambda: stage.world.objects.pop(LEASE))
    with pytest.raises(LockLost):
        a.ledger.write(History([past("u1")]))
    assert LEASE not in stage.world.objects


def test_what_others_write_on_the_lease_costs_nobody_the_lock() -> None:
    stage = Stage()
    a = begun(stage)
    lease = stage.world.objects[LEASE]
    lease["metadata"]["labels"] = {"team": "platform"}
    stage.world.put(*LEASE, lease)
    a.ledger.write(History([past("u1")]))
    assert a.lease.held
    assert note(stage)["sequence"] == 2
