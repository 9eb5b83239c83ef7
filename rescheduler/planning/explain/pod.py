"""One pod explained: where it would land if it were evicted now, and why it moves or stays."""

from rescheduler.kube.pod_state import waits_for_a_node
from rescheduler.model.explanation import Header, PodExplanation, Verdict
from rescheduler.planning.explain.checks import checks
from rescheduler.planning.explain.fate import Fates, pod_views
from rescheduler.planning.explain.place import place
from rescheduler.planning.references import owner_ref, pod_ref
from rescheduler.planning.search.working_copy import WorkingCopy


def explain_pod(copy: WorkingCopy, pod: int, header: Header) -> PodExplanation:
    """How checks, scheduler and policies evaluate this pod; then what a plan made now does with it.

    copy: as it is before anything moved; deciding moves it along.
    """
    snapshot = copy.snapshot
    each = snapshot.pods[pod]
    seen = place(copy, pod)
    views = pod_views(copy, pod, copy.scheduler.landing(pod))
    asked = checks(copy, pod)
    disruption = copy.disruption(pod)
    verdict = Fates(copy).of(pod)
    if waits_for_a_node(each):
        text = f"it is Pending: see `explain pending {each.key}`"
        verdict = Verdict(fate="unknown", message=text)
    if verdict.disruption is None and each.node:
        verdict.disruption = disruption
    return PodExplanation(
        header=header,
        pod=pod_ref(snapshot, pod),
        owner=owner_ref(snapshot, pod),
        node=each.node,
        phase=each.status.phase,
        scheduler=each.spec.schedulerName,
        verdict=verdict,
        eligibility=asked,
        filters=seen.filters,
        scores=seen.scores,
        landing=seen.landing,
        returns=seen.returns,
        unschedulable=seen.unschedulable,
        feasible=seen.feasible,
        nodes=len(snapshot.nodes),
        state=seen.state,
        event=seen.event,
        refusal=seen.refusal,
        policies=views,
    )
