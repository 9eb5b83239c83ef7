"""A gang on the stage that Kueue runs, and what became of it."""

from typing import Any

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.model.moves.restart_cost import StopRef
from rescheduler.policies.limits import Limits
from tests.fakes import kueue
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Process, Stage

GANG = "default/train (completionMode: Indexed)"
JOB = "job-1"
ROOM = Limits.model_validate({**WIDE, "movesPerHour": 50, "gangs": "Whole", "kueue": "Restart"})


def queue(stage: Stage, *, total: str = "3") -> None:
    cluster_queue, local_queue = kueue.queue(total=total)
    stage.world.put("clusterqueues", "", "all", cluster_queue)
    stage.world.put("localqueues", "default", "team", local_queue)


def gang(stage: Stage, size: int = 3) -> list[PlannedMove]:
    """The moves of an Indexed Job that Kueue has admitted."""
    queue(stage)
    made = [
        stage.world.add_pod(f"train-{n}", f"n{n}", owner=("Job", JOB), app="train")
        for n in range(size)
    ]
    (owner,) = stage.world.owners()
    spec = {"parallelism": size, "completions": size, "completionMode": "Indexed"}
    stage.world.objects[owner]["spec"] |= spec
    of_job = kueue.workload(owner[2], JOB, pods=size)
    stored = stage.world.put("workloads", "default", of_job["metadata"]["name"], of_job)
    stops = StopRef(name=stored["metadata"]["name"], uid=stored["metadata"]["uid"])
    return [planned(manifest, group=GANG, stops=stops) for manifest in made]


def the_workload(stage: Stage) -> dict[str, Any]:
    (found,) = [v for (kind, _, _), v in stage.world.objects.items() if kind == "workloads"]
    return found


def run(stage: Stage, *moves: PlannedMove, process: Process | None = None) -> Outcome:
    process = process or Process(stage, "a", limits=ROOM)
    return act(plan_of(stage.world, moves), process.actor())


def written(process: Process) -> list[tuple[str, str]]:
    """What was asked of the cluster beside our own objects."""
    asked = ("eviction", "workloads")
    return [
        (method, path)
        for method, path in process.sent
        if method != "GET" and any(segment in path for segment in asked)
    ]
