"""A planned move, and the cluster as it is when it is checked again."""

from collections.abc import Callable
from dataclasses import replace

from rescheduler.model.moves.plan import PlannedMove
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.recheck import Recheck
from tests.planning.scenarios import hot_gpus
from tests.planning.world import World

Change = Callable[[World, PlannedMove], None]


def verdict(change: Change, which: int = 0) -> str:
    """The code of the re-check of one move of the plan, after something has changed."""
    world = hot_gpus()
    made = world.plan()
    move = made.moves[which]
    change(world, move)
    fresh = WorkingCopy(world.snapshot, world.policies, world.limits, world.history, plan=made.id)
    answer = Recheck(fresh).check(move)
    if isinstance(answer, PlannedMove):
        return ""
    assert answer.message
    return answer.code


def nothing(world: World, move: PlannedMove) -> None:
    pass


def gone(world: World, move: PlannedMove) -> None:
    rest = [pod for pod in world.snapshot.pods if pod.metadata.uid != move.pod.uid]
    world.snapshot = replace(world.snapshot, pods=rest)
    world.measure()


def node_of(world: World, name: str) -> int:
    return world.snapshot.node_index[name]


def cordon_source(world: World, move: PlannedMove) -> None:
    world.snapshot.nodes[node_of(world, move.source)].spec.unschedulable = True


def calm(world: World, move: PlannedMove) -> None:
    world.use = dict.fromkeys(world.use, 0.1)
    world.measure()
