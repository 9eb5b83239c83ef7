"""Compares a forecast with what the scheduler did, said and wrote to its log."""

from tests.e2e.landing.decision import BEST, REFUSED, UNSCHEDULABLE, Decision
from tests.e2e.landing.forecast import Forecast
from tests.e2e.landing.reasons import differences
from tests.e2e.landing.score_log import Attempt


def judge(decision: Decision, forecast: Forecast) -> None:
    """Fill in the prediction and the verdict; `observed` and `message` are known."""
    verdicts = forecast.verdicts
    landing = verdicts.landing
    feasible = forecast.feasible()
    decision.state = verdicts.state
    decision.feasible = len(feasible)
    decision.predicted = forecast.chances()
    decision.unschedulable = landing.unschedulable
    if landing.refusal is not None:
        decision.refusal = landing.refusal.message
        decision.verdict = REFUSED
        return
    decision.verdict = _verdict(decision, feasible)


def _verdict(decision: Decision, feasible: set[str]) -> str:
    certain = decision.unschedulable == 1.0
    if not decision.observed:
        return UNSCHEDULABLE if certain else "waits"
    if certain:
        return "bound"
    if decision.observed not in feasible:
        return "infeasible"
    if decision.kind == "evict" and decision.owner in {"ReplicaSet", "ReplicationController"}:
        refused = bool(decision.message)
        if refused != (decision.state == "gone"):
            return "after" if refused else "beside"
    return BEST if decision.predicted.get(decision.observed) else "elsewhere"


def compare_reasons(decision: Decision, forecast: Forecast) -> None:
    """Hold the first refusal's message against the predicted rejections."""
    if not decision.message or decision.verdict == REFUSED:
        return
    overlap = decision.kind == "evict" and decision.owner in {"ReplicaSet", "ReplicationController"}
    predicted = forecast.rejections("overlap" if overlap else "gone")
    told, decision.reasons = differences(decision.message, predicted)
    decision.differences += told
    if decision.event and decision.event != decision.message:
        decision.differences.append(f"the event says {decision.event!r}")


def compare_scores(decision: Decision, forecast: Forecast, attempts: list[Attempt]) -> None:
    """Hold the scores in the log against ours, plugin by plugin and node by node."""
    scored = [each for each in attempts if each.pod == forecast.successor and each.totals]
    if decision.verdict == REFUSED or not decision.observed or not scored:
        return
    attempt = scored[-1]
    found, feasible = set(attempt.totals), forecast.feasible()
    if strangers := found - feasible:
        decision.differences.append(f"scored, but called infeasible: {sorted(strangers)[:5]}")
        return
    if not decision.sampled and (missing := feasible - found):
        decision.differences.append(f"called feasible, but not scored: {sorted(missing)[:5]}")
    ours = forecast.points(list(attempt.totals))
    for plugin in sorted({*ours, *attempt.points}):
        theirs = attempt.points.get(plugin, {})
        mine = ours.get(plugin, {})
        decision.scores += len(attempt.totals)
        wrong = [n for n in attempt.totals if mine.get(n, 0) != theirs.get(n, 0)]
        if wrong:
            shown = ", ".join(f"{n} {mine.get(n, 0)} not {theirs.get(n, 0)}" for n in wrong[:4])
            decision.differences.append(f"{plugin} scores {len(wrong)} nodes otherwise: {shown}")
