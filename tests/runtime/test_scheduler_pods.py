"""A pod that is found to run a scheduler right before its eviction stays where it is (ELG019)."""

from dataclasses import replace

import pytest

from rescheduler.acting.actor import Actor
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Outcome
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.runtime.cycle import run_cycle
from rescheduler.scheduler.config.scheduler import Scheduler
from tests.cluster import pod
from tests.fakes.stage import Process, Stage
from tests.runtime.cycles import populate
from tests.runtime.skewed import parts, skewed, spread

PACKER = Scheduler.model_validate({"name": "packer", "schedulerName": "packer"})


def seen() -> Snapshot:
    """The skewed cluster, with a pod elsewhere that names scheduler packer."""
    cluster = skewed()
    asking = pod("job-1", "n2", namespace="jobs")
    asking.spec.schedulerName = "packer"
    return replace(cluster, pods=[*cluster.pods, asking])


@pytest.mark.parametrize(("declared", "code"), [((PACKER,), "ELG019"), ((), "ACT001")])
def test_its_name_is_known_from_the_plan(declared: tuple[Scheduler, ...], code: str) -> None:
    stage = Stage()
    populate(stage)
    process = Process(stage, "one")

    def relabel(_: int, method: str, path: str) -> None:
        pods = [key for key in stage.world.objects if key[0] == "pods"]
        if method == "GET" and path.endswith(tuple(f"/pods/{key[2]}" for key in pods)):
            for key in pods:
                stage.world.objects[key]["metadata"]["labels"]["component"] = "packer"

    process.before = relabel

    def actor(_: PolicySet) -> Actor:
        return replace(process.actor(), observe=seen)

    policies = policy_set([spread()], schedulers=declared)
    outcome = run_cycle(
        replace(parts(policies=lambda: policies, observe=lambda *_: seen()), actor=actor)
    )
    assert isinstance(outcome, Outcome)
    assert [move.code for move in outcome.moves] == [code]
