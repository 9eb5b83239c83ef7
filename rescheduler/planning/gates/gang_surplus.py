"""Whether a gang has enough Ready pods to lose this one, read right before its eviction."""

from rescheduler.model.cluster.gangs import Gangs
from rescheduler.model.problem import Problem
from rescheduler.planning.gates.context import PodContext


def gang_has_surplus(context: PodContext) -> Problem | None:
    """Why the gang of this pod cannot spare it, by the pods of its namespace as they are now.

    Only marks on the pods themselves count: a gang that is known by its controller spares none.
    """
    least, pods = context.move.gangMinimum, context.namespace_pods
    if least is None or pods is None:
        return None
    gangs = Gangs(pods, [], [])
    own = next((n for n, pod in enumerate(pods) if pod.metadata.uid == context.move.pod.uid), None)
    gang = None if own is None else gangs.gang_of(own)
    if gang is None:
        return Problem(code="DRF001", message="it is in no gang any more")
    facts = gangs.facts(gang)
    members = [pods[number] for number in facts.members.tolist()]
    ready = sum(pod.ready and pod.metadata.deletionTimestamp is None for pod in members)
    if ready > least and not facts.entangled:
        return None
    text = f"gang {gang.name} has {ready} Ready and needs {least}: no pod of it can be evicted"
    return Problem(code="ELG027", message=text)
