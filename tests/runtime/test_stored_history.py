"""What those who only read make of the state that earlier runs left."""

import pytest

from rescheduler.runtime.stored_history import recall
from rescheduler.sources.kubernetes.client import Connection
from tests.actions.state import KEY, begun
from tests.fakes.apiserver import Fault, serving
from tests.fakes.stage import Stage


def test_a_pause_is_noted() -> None:
    stage = Stage()
    begun(stage)
    found = stage.world.objects[KEY]
    stage.world.put(*KEY, {**found, "data": {**found["data"], "paused": "true"}})
    with serving(stage.world) as fake:
        _, notes = recall(Connection(fake.client(), "test", attempts=1))
    assert [note.code for note in notes] == ["GRD006"]


@pytest.mark.parametrize(
    ("damaged", "refused", "codes"),
    [(False, False, []), (True, False, ["GRD004"]), (False, True, ["DAT002"])],
)
def test_a_damaged_state_is_told_from_one_that_may_not_be_read(
    damaged: bool, refused: bool, codes: list[str]
) -> None:
    stage = Stage()
    begun(stage)
    if damaged:
        found = stage.world.objects[KEY]
        stage.world.put(*KEY, {**found, "data": {**found["data"], "checksum": "0"}})
    with serving(stage.world) as fake:
        if refused:
            fake.faults.append(Fault("GET", "configmaps", 403, times=9))
        history, notes = recall(Connection(fake.client(), "test", attempts=1))
    assert history.moves == []
    assert [note.code for note in notes] == codes
