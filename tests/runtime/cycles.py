"""A cluster for whole cycles, in which one pod should move."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rescheduler.acting.actor import Actor
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.cycle import Parts
from tests.fakes.stage import START, Process, Stage, let_policies_act
from tests.runtime.skewed import parts, skewed


def enforcing(stage: Stage, process: Process, observe: Callable[[], Snapshot] = skewed) -> Parts:
    """Parts whose actor is this process; its cluster is the skewed one."""

    def fresh(*_: Any) -> Snapshot:
        return replace(observe(), taken=START)

    def actor(_: PolicySet) -> Actor:
        return replace(process.actor(), observe=fresh)

    return replace(parts(observe=fresh), actor=actor)


def populate(stage: Stage) -> None:
    """The same pods in the world that evictions go to; the policies of the first run may act."""
    let_policies_act(stage)
    stage.world.load(skewed())
