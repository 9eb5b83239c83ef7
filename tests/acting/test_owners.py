"""The owners above a pod's controller are read again right before its eviction."""

import pytest

from tests.acting.changes import (
    BEGUN,
    OPT_OUT,
    OWNER,
    Change,
    after_the_snapshot,
    gone,
    on,
    run,
    web,
)
from tests.fakes.moves import planned
from tests.fakes.stage import Stage, warm


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


TOP = ("cronjobs", "default", "nightly")


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("", lambda _: None),
        ("ELG011", on(*TOP, metadata=OPT_OUT)),
        ("ELG015", on(*TOP, metadata=BEGUN)),
        ("ELG015", gone(*TOP)),
        ("ELG015", on(*TOP, metadata={"uid": "another"})),
        ("DRF006", on(*TOP, metadata={"generation": 2})),
    ],
)
def test_what_has_changed_above_its_controller_is_seen(
    stage: Stage, code: str, change: Change
) -> None:
    web(stage, "web-2", "n2")
    pod = web(stage)
    stage.world.put(*TOP, {"metadata": {"uid": "nightly"}})
    above = {"kind": "CronJob", "name": "nightly", "uid": "nightly", "controller": True}
    stage.world.objects[OWNER]["metadata"]["ownerReferences"] = [above]
    process = after_the_snapshot(stage, change)
    outcome = run(stage, planned(pod), process=process)
    assert outcome.moves[0].code == (code or "ACT001")
    assert len(stage.world.accepted) == (0 if code else 1)
