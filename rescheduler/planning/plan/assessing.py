"""Whether a policy finds the placement healthy, cannot judge it, or is powerless to mend it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import structs

from rescheduler.model.moves.assessment import Assessment, AssessmentState
from rescheduler.model.moves.plan import PlannedMove, PolicyResult
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.model.wording import count_text, verb_for
from rescheduler.planning.binding import Binding
from rescheduler.planning.evaluation.working_copy import WorkingCopy


def wrong_cost(binding: Binding) -> float:
    """What is wrong in the working copy, unweighted: all findings that are not tolerable."""
    findings = (*binding.findings, *binding.immovable())
    return sum(finding.cost for finding in findings if not finding.tolerable)


def assess_policies(
    copy: WorkingCopy,
    results: Sequence[PolicyResult],
    wrong: Mapping[str, float],
    moves: Sequence[PlannedMove],
    refusals: Mapping[int, Problem],
    guards: Sequence[Problem],
) -> list[PolicyResult]:
    """The results with what each policy says of the placement.

    wrong: by policy name, what was wrong before anything moved. Less than the margin that a move
    must exceed is nothing.
    """
    answer = []
    for binding, result in zip(copy.bindings, results, strict=True):
        unjudged = _why_unjudged(binding, result)
        worth = wrong.get(result.name, 0.0) * (result.weight or 1.0)
        if worth > copy.limits.margin:
            assessment = Assessment(state="Improvable")
            if not any(_serves(move, result) for move in moves):
                why = guards[0] if guards else _why_powerless(binding, refusals)
                assessment = Assessment(state="Powerless", why=why)
        elif unjudged is not None:
            assessment = Assessment(state="NotJudged", why=unjudged)
        else:
            assessment = Assessment(state="Healthy")
        answer.append(structs.replace(result, assessment=assessment))
    return answer


def assess_plan(results: Sequence[PolicyResult], moves: Sequence[PlannedMove]) -> Assessment:
    """What all policies with a weight say together.

    It is healthy only if one of them judges, and nothing is known of the others that speaks
    against it: a reading that is missing, or trouble that a policy passes over.
    """
    weighted = [
        (result, result.assessment) for result in results if result.weight > 0 and result.assessment
    ]
    by_state: dict[AssessmentState, list[tuple[PolicyResult, Assessment]]] = {}
    for result, assessment in weighted:
        by_state.setdefault(assessment.state, []).append((result, assessment))
    if moves or "Improvable" in by_state:
        return Assessment(state="Improvable")
    if powerless := by_state.get("Powerless"):
        costliest = max(powerless, key=lambda pair: _stake(pair[0]))
        return structs.replace(costliest[1])
    unjudged = by_state.get("NotJudged", [])
    barring = [pair for pair in unjudged if _bars_health(*pair)]
    if barring or "Healthy" not in by_state:
        first = next(iter(barring or unjudged), None)
        return Assessment(state="NotJudged", why=None if first is None else first[1].why)
    return Assessment(state="Healthy")


def _stake(result: PolicyResult) -> float:
    return result.weight * (result.cost.before + result.immovable)


def _bars_health(result: PolicyResult, assessment: Assessment) -> bool:
    return result.problem is not None or (
        assessment.why is not None and assessment.why.code == "ELG047"
    )


def _why_unjudged(binding: Binding, result: PolicyResult) -> Problem | None:
    """Why the policy does not judge what it selects, or not all of it, or None."""
    if binding.problem is not None:
        return binding.problem
    passed_over = binding.unjudged_sentence()
    if passed_over:
        return Problem("ELG047", passed_over)
    selection = result.selection
    if selection is not None and 0 in (selection.pods, selection.nodes):
        what = "pod" if selection.pods == 0 else "node"
        return Problem("SEL003", next(iter(selection.inert), f"it selects no {what}"))
    if result.scope and result.worst + result.immovable > 0:
        return None
    if selection is not None and selection.inert:
        return Problem("SEL004", selection.inert[0])
    return Problem("SEL005", "this cluster has nothing that it judges")


def _serves(move: PlannedMove, result: PolicyResult) -> bool:
    gangs = {room.gang for room in result.room}
    return move.gains.get(result.name, 0.0) > 0 or move.room in gangs


def _why_powerless(binding: Binding, refusals: Mapping[int, Problem]) -> Problem:
    """Why no pod is moved for the policy's sake: what refuses most of its candidates."""
    codes = Counter(refusals[pod].code for pod in binding.candidates().tolist() if pod in refusals)
    if codes:
        code, count = min(codes.items(), key=lambda pair: (-pair[1], pair[0]))
        total = sum(codes.values())
        share = (
            count_text(total, "pod")
            if count == total
            else f"{count:,} of {count_text(total, 'pod')}"
        )
        could = verb_for(total, "that could move stays", "that could move stay")
        return Problem(code, f"{share} {could}: {CATALOG[code].sentence}")
    if not binding.policy.moves_pods:
        return Problem("FEA022", CATALOG["FEA022"].sentence.rstrip("."))
    standing = binding.immovable()
    if standing:
        return Problem("FEA020", f"{standing[0].subject}: {standing[0].message}")
    if warnings := binding.warnings():
        return warnings[0]
    return Problem("FEA020", "none of the pods that it may move is a cause of what it finds")
