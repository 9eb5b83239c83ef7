"""What a plan shows of the cluster: policies, readings and nodes, before and after."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np

from rescheduler.documents.envelope import to_document
from rescheduler.model.cluster.readings import FloatArray, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_count import FindingCount
from rescheduler.model.moves.gains import Gain
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import (
    Change,
    Cost,
    FindingView,
    MeasuredMove,
    NodeView,
    PodRef,
    PolicyResult,
)
from rescheduler.model.moves.plan_basis import ReadingResult
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for
from rescheduler.planning.binding import Binding
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits import selections
from rescheduler.planning.limits.demotion import result
from rescheduler.planning.plan.assessing import wrong_cost
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.shared.coverage import check_coverage, contradictions

MOST_FINDINGS = 20
MOST_KINDS = 5
MOST_NODES = 2000
MOST_MEASURED = 100
CountedObjects = dict[tuple[str, str], set[str]]
"""Names for one and for several of a thing, to which of them there are."""

ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class InitialValues:
    """The working copy before anything moved: the terms' values, by policy name."""

    costs: dict[str, float]
    findings: dict[str, list[FindingView]]
    counted_objects: dict[str, CountedObjects]
    loads: dict[str, FloatArray]
    wrong: dict[str, float]

    @classmethod
    def from_bindings(cls, bindings: Iterable[Binding], snapshot: Snapshot) -> "InitialValues":
        """Ask every term; the loads are copied, because terms go on with theirs."""
        bindings = list(bindings)
        evaluated = [binding for binding in bindings if binding.term is not None]
        views = {
            binding.policy.name: [
                FindingView(code=f.code, subject=f.subject, cost=f.cost, message=f.message)
                for findings in (
                    (*binding.findings, *binding.immovable()),
                    contradictions(binding.policy, snapshot),
                )
                for f in nsmallest(
                    MOST_FINDINGS, findings, key=lambda finding: (-finding.cost, finding.subject)
                )
            ]
            for binding in bindings
        }
        return cls(
            {
                binding.policy.name: binding.term.cost()
                for binding in evaluated
                if binding.term is not None
            },
            views,
            {binding.policy.name: _counted_objects(binding) for binding in evaluated},
            {name: load.copy() for name, load in loads(evaluated).items()},
            {binding.policy.name: wrong_cost(binding) for binding in evaluated},
        )


def _counted_objects(binding: Binding) -> CountedObjects:
    """What the policy's findings count now, by what it is called."""
    objects: CountedObjects = {}
    for finding in binding.findings:
        if finding.counted_as and finding.code in binding.policy.finding_nouns:
            objects.setdefault(binding.policy.finding_nouns[finding.code], set()).add(
                finding.counted_as
            )
    return objects


def found_in(copy: WorkingCopy, before: InitialValues) -> list[FindingCount]:
    """What all policies together count: what several of them find is one."""
    return _finding_counts(
        _union(before.counted_objects.values()), _union(map(_counted_objects, copy.bindings))
    )


def _union(parts: Iterable[CountedObjects]) -> CountedObjects:
    objects: CountedObjects = {}
    for part in parts:
        for name, subjects in part.items():
            objects.setdefault(name, set()).update(subjects)
    return objects


def loads(bindings: Iterable[Binding]) -> dict[str, FloatArray]:
    """Node reading name to the (nodes,) load of the working copy, from the first policy with it."""
    answer: dict[str, FloatArray] = {}
    for binding in bindings:
        if binding.loaded is not None:
            for name, load in binding.loaded.load_after().items():
                answer.setdefault(name, load)
    return answer


def policy_results(
    copy: WorkingCopy, policies: PolicySet, before: InitialValues
) -> list[PolicyResult]:
    """Each policy's result, in the order of the set."""
    return [
        _policy_result(copy, binding, written, policies, before)
        for binding, written in zip(copy.bindings, policies.policies, strict=True)
    ]


def _policy_result(
    copy: WorkingCopy, binding: Binding, written: Policy, policies: PolicySet, before: InitialValues
) -> PolicyResult:
    """The result of one policy. written: as in its document, which a demotion leaves alone."""
    policy, term, problem = binding.policy, binding.term, binding.problem
    name = policy.name
    return PolicyResult(
        name=name,
        kind=policy.kind,
        mode=policy.mode,
        weight=policy.weight,
        cost=Cost(before=before.costs.get(name, 0.0), after=term.cost() if term else 0.0),
        scope=term.scope() if term else 0,
        subject=policy.subject,
        worst=term.worst() if term else 0.0,
        immovable=sum(finding.cost for finding in binding.immovable()),
        digest=policies.digests.get(name, ""),
        source=policies.files.get(name, ""),
        findings=before.findings.get(name, []),
        problem=problem or None,
        idle=binding.idle(),
        counts=_finding_counts(before.counted_objects.get(name, {}), _counted_objects(binding)),
        room=[] if binding.roomy is None else binding.roomy.gang_placements(),
        brought=result(copy.history, written, copy.limits, copy.snapshot.taken),
        selection=selections.result(
            copy.history,
            written,
            copy.snapshot,
            copy.limits,
            copy.eligibility,
            attended=copy.attended,
        ),
        document=to_document(written),
    )


def _finding_counts(before: CountedObjects, after: CountedObjects) -> list[FindingCount]:
    return [
        FindingCount(
            one=one,
            many=many,
            before=len(before.get((one, many), ())),
            after=len(after.get((one, many), ())),
        )
        for one, many in sorted({*before, *after})
    ]


def reading_results(copy: WorkingCopy) -> list[ReadingResult]:
    """How good each reading was that a policy requested; one that is not there has RDG007."""
    requests = dict.fromkeys(r for b in copy.bindings for r in b.policy.requests())
    return [_reading_result(copy, request) for request in requests]


def _reading_result(copy: WorkingCopy, request: ReadingRequest) -> ReadingResult:
    reading = copy.snapshot.readings.find(request)
    readings = copy.snapshot.readings
    coverage, problem = (
        0.0,
        readings.missing_problem(request) if reading is None else reading.problem,
    )
    if reading is not None and request.subject != "pair":
        askers = [
            binding.policy for binding in copy.bindings if request in binding.policy.requests()
        ]
        expected, problem = check_coverage(reading, askers, copy.snapshot)
        coverage = reading.coverage_of(expected)
    elif reading is not None:
        coverage = reading.coverage
    return ReadingResult(
        name=request.name,
        coverage=coverage,
        ageSeconds=reading.age if reading is not None else None,
        windowSeconds=request.window,
        maxAgeSeconds=request.max_age,
        minCoverage=request.min_coverage,
        unit=reading.unit if reading is not None else "",
        query=reading.query if reading is not None else "",
        notes=list(reading.notes) if reading is not None else [],
        problem=problem,
    )


def node_views(
    copy: WorkingCopy, moves: list[Evaluation], before: dict[str, FloatArray]
) -> list[NodeView]:
    """Every node before and after; of more than 2,000 only those that change or are hot."""
    snapshot = copy.snapshot
    counts = np.bincount(
        snapshot.pod_node[snapshot.pod_node >= 0], minlength=len(snapshot.nodes)
    ).tolist()
    change = [0] * len(snapshot.nodes)
    touched: set[int] = set()
    for move in moves:
        change[move.source] -= 1
        change[move.destination] += 1
        touched.update((move.source, move.destination))
    for binding in copy.bindings:
        if binding.loaded is not None:
            touched.update(binding.loaded.hot_nodes().tolist())
    after = loads(copy.bindings)
    everyone = len(snapshot.nodes) <= MOST_NODES
    return [
        NodeView(
            name=node.metadata.name,
            zone=(node.metadata.labels or {}).get(ZONE, ""),
            pods=Change(before=counts[index], after=counts[index] + change[index]),
            load={
                name: Change(
                    before=number_or_none(values[index]), after=number_or_none(after[name][index])
                )
                for name, values in before.items()
            },
        )
        for index, node in enumerate(snapshot.nodes)
        if everyone or index in touched
    ]


def score(results: list[PolicyResult]) -> Change:
    """100 at no cost, 0 at the worst there could be, over what the policies with a weight judge.

    Not known where none of them judges anything, nor where one could not be evaluated: else a run
    without data would score better than one that sees what is wrong. What no move may mend counts.
    """
    weighted = [policy for policy in results if policy.weight > 0]
    judged = [policy for policy in weighted if not policy.silent]
    worst = sum(policy.weight * (policy.worst + policy.immovable) for policy in judged)
    if worst <= 0 or any(policy.problem is not None for policy in weighted):
        return Change(before=None, after=None)
    standing = sum(policy.weight * policy.immovable for policy in judged)
    before, after = (
        100.0 * min(max(1.0 - (cost + standing) / worst, 0.0), 1.0)
        for cost in (
            sum(policy.weight * policy.cost.before for policy in judged),
            sum(policy.weight * policy.cost.after for policy in judged),
        )
    )
    return Change(before=before, after=after)


def notes(copy: WorkingCopy) -> list[Problem]:
    """What was odd about the data: undecodable objects, unread kinds, warnings of the terms."""
    snapshot = copy.snapshot
    problems = [
        Problem(
            code="DAT001",
            message=f"{q.kind} {q.namespace}/{q.name}".replace(" /", " ") + f": {q.message}",
        )
        for q in snapshot.undecodable
    ]
    if snapshot.unread:
        why = {name: f" ({text})" for name, text in snapshot.served.items()}
        failing = snapshot.failing
        others = [name for name in snapshot.unread if name not in failing]
        for code, names in (("DAT002", others), ("DAT004", failing)):
            kinds = ", ".join(f"{name}{why.get(name, '')}" for name in names)
            if kinds:
                problems.append(Problem(code=code, message=f"not read: {kinds}"))
    problems += copy.schedulers.notes
    problems += _quiet(copy)
    for binding in copy.bindings:
        problems += [
            Problem(code=warning.code, message=f"{binding.policy.name}: {warning.message}")
            for warning in binding.warnings()
        ]
        problems += _skipped_gangs(binding, copy)
    lacking = {
        room.gang
        for b in copy.bindings
        if b.roomy
        for room in b.roomy.gang_placements()
        if not room.after
    }
    problems += [why for gang, why in sorted(copy.unroomed.items()) if gang in lacking]
    return problems


def _quiet(copy: WorkingCopy) -> list[Problem]:
    """ELG036: how many pods are left alone for an owner that is not read, by its kind."""
    ranked = sorted(copy.eligibility.unread_owners().items(), key=lambda pair: (-pair[1], pair[0]))
    rest = ranked[MOST_KINDS:]
    if rest:
        more = (count_text(len(rest), "more kind"), sum(pods for _, pods in rest))
        ranked = [*ranked[:MOST_KINDS], more]
    if not ranked:
        return []
    (kind, pods), *others = ranked
    text = f"{count_text(pods, 'pod')} {verb_for(pods, 'is', 'are')} run by {kind}"
    text += "".join(f", {pods:,} by {kind}" for kind, pods in others)
    verb = verb_for(len(ranked), "is", "are")
    return [Problem(code="ELG036", message=f"{text}, which {verb} not read (otherOwners)")]


def _skipped_gangs(binding: Binding, copy: WorkingCopy) -> list[Problem]:
    """ELG016 where the groups of a policy are gangs, and the Limits let no pod of one be moved."""
    if copy.limits.gangs != "Spare" or not any(binding.policy.grouped_by_gang()):
        return []
    gangs = {copy.snapshot.gangs.gang_of(pod) for pod in binding.candidates().tolist()} - {None}
    if not gangs:
        return []
    text = (
        f"findings on {count_text(len(gangs), 'gang')} are reported and not acted on: gangs "
        "is Spare"
    )
    return [Problem(code="ELG016", message=f"{binding.policy.name}: {text}")]


def number_or_none(value: float) -> float | None:
    """The value, None if nobody knows it."""
    return None if np.isnan(value) else float(value)


def measured_moves(history: History) -> list[MeasuredMove]:
    """What earlier moves have brought, the latest first."""
    latest = sorted(
        ((move.gain.at, move.at, move.podUid, move) for move in history.moves if move.gain),
        key=lambda row: row[:3],
        reverse=True,
    )
    return [_measured_move(move, move.gain) for *_, move in latest[:MOST_MEASURED] if move.gain]


def _measured_move(move: PastMove, gain: Gain) -> MeasuredMove:
    return MeasuredMove(
        pod=PodRef(namespace=move.namespace, name=move.pod, uid=move.podUid),
        plan=move.plan,
        node=move.source,
        landedOn=move.landedOn or None,
        evicted=move.at,
        at=gain.at,
        predicted=move.gains,
        promised=gain.promised,
        measured=gain.measured,
        neutral=gain.neutral,
        problem=Problem(code="MSR003", message=gain.problem) if gain.problem else None,
    )
