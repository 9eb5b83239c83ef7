"""Whether Kueue's Workload of a gang is still the planned one and may be deleted (ACT021)."""

from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.kueue import unstoppable
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.restart_cost import StopRef
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.planning.gates.context import PodContext


def workload_stoppable(context: PodContext) -> Problem | None:
    """ACT021: why the Workload that runs the gang must be left alone."""
    stops = context.move.stops
    if stops is None:
        return None
    workload = workload_of(context.now, context.move.pod.namespace, stops)
    if workload is None:
        return problem("ACT021", f"Workload {stops.name} is gone, or another one.")
    why = unstoppable(workload)
    return problem("ACT021", f"{why}.") if why else None


def workload_of(read: Snapshot, namespace: str, stops: StopRef) -> GangObject | None:
    """The Workload as it was read; None if it is gone, or another one has its name."""
    key = (namespace, stops.name, stops.uid)
    for gang_object in read.gang_objects:
        metadata = gang_object.metadata
        if (metadata.namespace, metadata.name, metadata.uid) == key:
            return gang_object
    return None
