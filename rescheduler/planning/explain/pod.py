"""One pod explained: where it would land if it were evicted now, and why it moves or stays."""

from collections.abc import Iterator

from rescheduler.kube.pods.pod_state import waits_for_a_node
from rescheduler.model.explanation import Check, GangView, Header, PodExplanation, Verdict
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.gang_members import SpareMembers
from rescheduler.planning.evaluation.evaluator import ONLY_WHOLE
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.explain.pod_prediction import place
from rescheduler.planning.explain.pod_verdicts import PodVerdicts, pod_views
from rescheduler.planning.references import owner_ref, pod_ref

_BUDGETS = ("BUD001", "BUD003")
_LEFT = ("BUD002", "BUD004")


def checks(copy: WorkingCopy, pod: int) -> list[Check]:
    """The checks of eligibility and budgets, in the order of their codes.

    Within a group the checks after one that fails are skipped.
    """
    by_code: dict[str, Check] = {}
    for codes, answer in _groups(copy, pod):
        for check in _checks(codes, answer):
            previous = by_code.get(check.code)
            if previous is None or previous.result == "passed":
                by_code[check.code] = check
    return sorted(by_code.values(), key=lambda check: (_family(check.code), check.code))


def _groups(copy: WorkingCopy, pod: int) -> Iterator[tuple[tuple[str, ...], Problem | None]]:
    yield from copy.eligibility.checks(pod)
    yield ("ELG038", "ELG039", "ELG040"), copy.refuse_held(pod)
    permanent = copy.budgets.permanent(pod)
    yield _BUDGETS, permanent
    gang, refusal = copy.snapshot.gangs.gang_of(pod), copy.eligibility.refusal(pod)
    if gang is not None and refusal is not None and refusal.code == ONLY_WHOLE:
        yield ("ELG030",), copy.budgets.too_large(gang)
    if permanent is None and copy.snapshot.pod_node[pod] >= 0:
        yield (*copy.budgets.limit_codes, *_LEFT), copy.budgets.refusal(pod)


def _checks(codes: tuple[str, ...], answer: Problem | None) -> Iterator[Check]:
    failed = False
    for code in codes:
        if answer is not None and code == answer.code:
            failed = True
            yield Check(code=code, result="failed", message=answer.message)
        else:
            yield Check(code=code, result="not checked" if failed else "passed")


def _family(code: str) -> int:
    order = ("ELG", "DAT", "BUD", "PAC")
    return order.index(code[:3]) if code[:3] in order else len(order)


def explain_pod(copy: WorkingCopy, pod: int, header: Header) -> PodExplanation:
    """How checks, scheduler and policies evaluate this pod; then what a plan made now does with it.

    copy: as it is before anything moved; deciding moves it along.
    """
    snapshot = copy.snapshot
    pod_object = snapshot.pods[pod]
    seen = place(copy, pod)
    views = pod_views(copy, pod, copy.scheduler.landing(pod))
    eligibility = checks(copy, pod)
    disruption = copy.disruption(pod)
    verdict = PodVerdicts(copy).verdict_of(pod)
    if waits_for_a_node(pod_object):
        text = f"it is Pending: see `explain pending {pod_object.key}`"
        verdict = Verdict(outcome="unknown", message=text)
    if verdict.disruption is None and pod_object.node:
        verdict.disruption = disruption
    return PodExplanation(
        header=header,
        pod=pod_ref(snapshot, pod),
        owner=owner_ref(snapshot, pod),
        node=pod_object.node,
        phase=pod_object.status.phase,
        scheduler=pod_object.spec.schedulerName,
        verdict=verdict,
        eligibility=eligibility,
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
        gang=_gang(copy, pod),
    )


def _gang(copy: WorkingCopy, pod: int) -> GangView | None:
    gang = copy.snapshot.gangs.gang_of(pod)
    if gang is None:
        return None
    facts = copy.snapshot.gangs.facts(gang)
    return GangView(
        name=gang.name,
        mark=gang.mark,
        minimum=facts.minimum,
        members=len(facts.members),
        ready=SpareMembers(copy.snapshot, copy.history).ready(gang),
        kueue=facts.kueue,
    )
