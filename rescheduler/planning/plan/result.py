"""Assembles the plan: moves, refusals, policies and nodes."""

from collections import Counter
from heapq import nsmallest

import msgspec

from rescheduler.documents.envelope import to_document
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import ClusterRef, Mode, Plan, PlannedMove, Refusal, Totals
from rescheduler.model.moves.plan_digest import seal_plan
from rescheduler.model.moves.search_summary import SearchSummary
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.counted_pods import count_pods
from rescheduler.planning.limits.landing_trust import calibration
from rescheduler.planning.plan.assessing import assess_plan, assess_policies
from rescheduler.planning.plan.probes import missing_probes
from rescheduler.planning.plan.unsteered_moves import count_unsteered
from rescheduler.planning.plan.views import (
    InitialValues,
    found_in,
    measured_moves,
    node_views,
    notes,
    policy_results,
    reading_results,
    score,
)
from rescheduler.planning.references import (
    landing_shares,
    owner_ref,
    pod_ref,
    steered_ref,
    stop_ref,
)
from rescheduler.planning.search.batching import batches
from rescheduler.policies.files.policy_set import PolicySet

MOST_REFUSED_PER_CODE = 50


class Outline(msgspec.Struct, frozen=True):
    """What a plan carries beside what was found.

    attended: whether people decide on it. suggests: whether changes are tried that would help; not
    of a plan that is carried out right away, so that its moves need not wait for that.
    """

    mode: Mode
    seed: int
    tool: str
    recorded: bool
    attended: bool = False
    suggests: bool = False


def assemble(  # noqa: PLR0913 - all that a plan says
    copy: WorkingCopy,
    policies: PolicySet,
    before: InitialValues,
    passes: list[tuple[Mode, list[Evaluation]]],
    refusals: dict[int, Problem],
    guards: list[Problem],
    outline: Outline,
    *,
    search: SearchSummary | None = None,
) -> Plan:
    """The plan. passes: the moves of each pass in their order, with the mode they carry."""
    snapshot = copy.snapshot
    moves = _moves(copy, passes)
    evaluations = [move for _, pass_moves in passes for move in pass_moves]
    results = assess_policies(
        copy, policy_results(copy, policies, before), before.wrong, moves, refusals, guards
    )
    plan = Plan(
        tool=outline.tool,
        mode=outline.mode,
        cluster=ClusterRef(
            uid=snapshot.cluster.uid, version=snapshot.cluster.version, name=snapshot.cluster.name
        ),
        created=snapshot.taken,
        expires=snapshot.taken + policies.limits.planExpiry,
        taken=snapshot.taken,
        recorded=outline.recorded,
        seed=outline.seed,
        totals=Totals(
            nodes=len(snapshot.nodes),
            pods=len(snapshot.pods),
            candidates=len(moves) + len(refusals),
            moves=len(moves),
            disruption=sum(move.disruption for move in moves),
            refused=dict(sorted(Counter(code.code for code in refusals.values()).items())),
            unsteered=count_unsteered(copy, evaluations),
        ),
        score=score(results),
        assessment=assess_plan(results, moves),
        policies=results,
        counts=found_in(copy, before),
        readings=reading_results(copy),
        schedulers=copy.schedulers.results(),
        guards=guards,
        moves=moves,
        refused=_list_refusals(copy, refusals),
        nodes=node_views(copy, evaluations, before.loads),
        limits=to_document(policies.limits)["spec"],
        ownReadings=[to_document(reading) for reading in policies.readings],
        notes=[
            *notes(copy),
            *missing_probes(
                snapshot, [evaluation.pod for _, pass_moves in passes for evaluation in pass_moves]
            ),
        ],
        calibration=calibration(
            copy.history, copy.limits, snapshot.cluster.version, snapshot.taken
        ),
        measuredMoves=measured_moves(copy.history),
        search=search,
        countedPods=count_pods(snapshot, policies.limits, copy.history, moves),
    )
    return seal_plan(plan)


def _moves(copy: WorkingCopy, passes: list[tuple[Mode, list[Evaluation]]]) -> list[PlannedMove]:
    answer: list[PlannedMove] = []
    last = 0
    for mode, evaluations in passes:
        numbers = batches(copy, evaluations)
        answer += [
            _move(copy, evaluation, last + batch, mode)
            for evaluation, batch in zip(evaluations, numbers, strict=True)
        ]
        last += max(numbers, default=0)
    return answer


def _move(copy: WorkingCopy, evaluation: Evaluation, batch: int, mode: Mode) -> PlannedMove:
    snapshot, landing = copy.snapshot, evaluation.landing
    owner = owner_ref(copy.snapshot, evaluation.pod)
    if landing is None or owner is None:
        raise AssertionError("a committed move has a landing and an owner")
    usage: dict[str, float] = {}
    hot: dict[str, list[str]] = {}
    for binding in copy.bindings:
        if binding.loaded is not None:
            usage.update(binding.loaded.usage(evaluation.pod))
        hot_names = binding.hot_on(evaluation.source)
        if hot_names and evaluation.gains.get(binding.policy.name, 0.0) > 0:
            hot[binding.policy.name] = list(hot_names)
    return PlannedMove(
        pod=pod_ref(copy.snapshot, evaluation.pod),
        owner=owner,
        source=snapshot.nodes[evaluation.source].metadata.name,
        landing=landing_shares(snapshot, landing),
        returns=landing.returns,
        unschedulable=landing.unschedulable,
        gain=evaluation.gain,
        disruption=evaluation.disruption,
        batch=batch,
        mode=mode,
        reasons=list(evaluation.reasons),
        gains=evaluation.gains,
        usage=usage,
        hot=hot,
        budget=evaluation.budget,
        crashLooping=snapshot.pods[evaluation.pod].crash_looping,
        restart=copy.disruptions.restart(evaluation.pod),
        group=evaluation.group,
        stops=stop_ref(snapshot, evaluation.pod) if evaluation.group else None,
        room=evaluation.room,
        after=[snapshot.pods[pod].metadata.uid for pod in evaluation.after],
        steered=steered_ref(snapshot, evaluation.choice),
        unsteered=landing_shares(snapshot, evaluation.choice.unsteered)
        if evaluation.choice
        else [],
        gangMinimum=None if evaluation.group else _gang_minimum(snapshot, evaluation.pod),
    )


def _gang_minimum(snapshot: Snapshot, pod: int) -> int | None:
    """How many Ready pods the gang of this pod must keep, where it may spare any."""
    gang = snapshot.gangs.gang_of(pod)
    facts = None if gang is None else snapshot.gangs.facts(gang)
    return None if facts is None or len(facts.members) == 1 else facts.minimum


def _first_by_key(snapshot: Snapshot, indices: list[int], most: int) -> list[int]:
    """The first of these pods by key, in that order."""
    by_namespace: dict[str, list[int]] = {}
    for pod in indices:
        by_namespace.setdefault(snapshot.pods[pod].metadata.namespace, []).append(pod)
    first: list[int] = []
    # As in keys: a "-" comes before the "/" that ends a namespace.
    for _, pods in sorted(by_namespace.items(), key=lambda group: f"{group[0]}/"):
        remaining = most - len(first)
        if remaining <= 0:
            break
        first += nsmallest(remaining, pods, key=lambda pod: snapshot.pods[pod].metadata.name)
    return first


def _list_refusals(copy: WorkingCopy, refusals: dict[int, Problem]) -> list[Refusal]:
    """The refused candidates by code and name, some of each code."""
    pods = copy.snapshot.pods
    by_code: dict[str, list[int]] = {}
    for pod, refusal in refusals.items():
        by_code.setdefault(refusal.code, []).append(pod)
    shown = [
        pod
        for _, refused in sorted(by_code.items())
        for pod in _first_by_key(copy.snapshot, refused, MOST_REFUSED_PER_CODE)
    ]
    return [
        Refusal(
            pod=pod_ref(copy.snapshot, pod),
            code=refusals[pod].code,
            message=refusals[pod].message,
            owner=owner_ref(copy.snapshot, pod),
            node=pods[pod].node,
        )
        for pod in shown
    ]
