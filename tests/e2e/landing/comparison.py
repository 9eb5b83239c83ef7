"""Compares a forecast with what the scheduler did, reported and logged."""

from dataclasses import replace

from tests.e2e.landing.decision import BEST, REFUSED, UNSCHEDULABLE, Decision, disagrees
from tests.e2e.landing.forecast import Forecast
from tests.e2e.landing.reasons import differences


def compare(decision: Decision, forecast: Forecast) -> None:
    """Fill in the prediction, the verdict and the differences; what was observed is known."""
    decision.differences, decision.scores, decision.reasons = [], 0, 0
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
    _compare_reasons(decision, forecast)
    _compare_scores(decision, forecast)
    if disagrees(decision) and forecast.hears_late:
        _compare_late(decision, forecast)


def _compare_late(decision: Decision, forecast: Forecast) -> None:
    """Forget the differences where all is as if it had not heard yet that the old pod goes."""
    late = replace(decision, differences=[], scores=0, reasons=0)
    with forecast.unheard():
        if forecast.feasible():
            late.verdict = _verdict(late, forecast.feasible())
        elif late.observed and late.message:  # tried again when it had heard
            late.verdict = BEST if late.predicted.get(late.observed) else late.verdict
        _compare_reasons(late, forecast)
        _compare_scores(late, forecast)
    if not disagrees(late):
        decision.verdict, decision.differences = late.verdict, []


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


def _compare_reasons(decision: Decision, forecast: Forecast) -> None:
    """Hold the first refusal's message against the predicted rejections."""
    if not decision.message:
        return
    overlap = decision.kind == "evict" and decision.owner in {"ReplicaSet", "ReplicationController"}
    predicted = forecast.rejections("overlap" if overlap else "gone")
    reported, decision.reasons = differences(decision.message, predicted)
    decision.differences += reported
    if decision.event and decision.event != decision.message:
        decision.differences.append(f"the event says {decision.event!r}")


def _compare_scores(decision: Decision, forecast: Forecast) -> None:
    """Hold the scores in the log against ours, plugin by plugin and node by node."""
    if not decision.observed or not decision.scored:
        return
    found, feasible = set(decision.scored), forecast.feasible()
    if strangers := found - feasible:
        decision.differences.append(f"scored, but called infeasible: {sorted(strangers)[:5]}")
        return
    if not decision.sampled and (missing := feasible - found):
        decision.differences.append(f"called feasible, but not scored: {sorted(missing)[:5]}")
    ours = forecast.points(decision.scored)
    for plugin in sorted({*ours, *decision.points}):
        theirs = decision.points.get(plugin, {})
        mine = ours.get(plugin, {})
        decision.scores += len(decision.scored)
        wrong = [n for n in decision.scored if mine.get(n, 0) != theirs.get(n, 0)]
        if wrong:
            shown = ", ".join(f"{n} {mine.get(n, 0)} not {theirs.get(n, 0)}" for n in wrong[:4])
            decision.differences.append(f"{plugin} scores {len(wrong)} nodes otherwise: {shown}")
