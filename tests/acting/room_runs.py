"""A gang that waits for room, and the moves that make it."""

from typing import Any

from rescheduler.model.moves.plan import PlannedMove
from rescheduler.policies.limits import Limits
from tests.fakes.moves import planned
from tests.fakes.stage import WIDE, Stage

LIMITS = Limits.model_validate({**WIDE, "movesPerHour": 50})


def room(stage: Stage, *batches: int, **more: Any) -> list[PlannedMove]:
    """Moves of pods of as many workloads, with the batch of each."""
    return [
        planned(
            stage.world.add_pod(f"w{n}-0", f"n{n}", owner=("ReplicaSet", f"rs-{n}"), app=f"w{n}"),
            batch=batch,
            room="ml/llama",
            **more,
        )
        for n, batch in enumerate(batches)
    ]
