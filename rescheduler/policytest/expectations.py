"""Runs a policy test and compares what the policies find with what is expected."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory, Observation
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.binding import Binding
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.plan.result import Outline
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policytest.drawing import cluster_of_drawing
from rescheduler.policytest.file_format import PolicyTest
from rescheduler.policytest.listing import cluster_of_objects
from rescheduler.policytest.series_readings import add_readings, with_devices

_CENT = 0.01


@dataclass(frozen=True, slots=True)
class Difference:
    """One expectation that does not hold. what: its path, such as `cost.zone-spread`."""

    what: str
    expected: Any
    actual: Any


def cluster_of(test: PolicyTest, policies: PolicySet) -> Snapshot:
    """The policy test's cluster with its readings.

    Raises:
        DrawingError, ListingError, ValueError: it cannot be understood.
    """
    if test.cluster is not None:
        bare = cluster_of_drawing(
            test.cluster,
            requests=test.requests,
            specs=test.specs,
            budgets=test.budgets,
            zones=test.zones,
        )
    else:
        bare = cluster_of_objects(test.objects or [], test.zones)
    interval = test.interval.total_seconds()
    own = policies.definitions
    read = add_readings(bare, test.readings, policies.policies, interval, own)
    return with_devices(read, test.devices)


def evaluate(test: PolicyTest, policies: PolicySet) -> list[Difference]:
    """Everything that is not as the policy test expects; empty when it holds.

    Raises:
        DrawingError, ListingError, ValueError: its cluster cannot be understood, or it expects
        something of a policy that is not there.
    """
    snapshot = cluster_of(test, policies)
    reported = _Evaluated(snapshot, policies, test.foundFor)
    expect = test.expect
    answer: list[Difference] = []
    for name, cost in (expect.cost or {}).items():
        actual = reported.cost(name)
        if isinstance(actual, str) or abs(actual - cost) > _CENT:
            shown = actual if isinstance(actual, str) else round(actual, 2)
            answer.append(Difference(f"cost.{name}", cost, shown))
    answer += _compare("problem", expect.problem, reported.problem)
    answer += _compare("candidates", expect.candidates, reported.candidates)
    wanted = {name: sorted(subjects) for name, subjects in (expect.findings or {}).items()}
    answer += _compare("findings", wanted, reported.findings)
    answer += _compare("refused", expect.refused, reported.refusal_codes)
    if expect.moves is not None and reported.moves() != expect.moves:
        answer.append(Difference("moves", expect.moves, reported.moves()))
    return answer


def actual_results(test: dict[str, Any], policies: PolicySet) -> dict[str, Any]:
    """What comes out of a policy test (as JSON) otherwise than it expects, by the expectation."""
    differences = evaluate(PolicyTest.model_validate(test), policies)
    return {difference.what: difference.actual for difference in differences}


def _compare(field: str, expected: Mapping[str, Any] | None, ask: Any) -> list[Difference]:
    answer = []
    for name, value in (expected or {}).items():
        actual = ask(name)
        if actual != value:
            answer.append(Difference(f"{field}.{name}", value, actual))
    return answer


class _Evaluated:
    """What the policies find, evaluated when it is needed."""

    def __init__(
        self, snapshot: Snapshot, policies: PolicySet, found_for: timedelta | None
    ) -> None:
        self._snapshot = snapshot
        self._policies = policies
        copy = WorkingCopy(
            snapshot,
            policies.policies,
            policies.limits,
            History(),
            schedulers=policies.schedulers,
        )
        self._bindings = {binding.policy.name: binding for binding in copy.bindings}
        self._plan: Plan | None = None
        self._found_for = found_for

    def _binding(self, name: str) -> Binding:
        if name not in self._bindings:
            names = ", ".join(f"`{binding}`" for binding in sorted(self._bindings))
            raise ValueError(f"there is no policy `{name}`; there is {names}")
        return self._bindings[name]

    def _make_plan(self) -> Plan:
        if self._plan is None:
            self._plan, observations = self._plan_after(FindingHistory())
            if self._found_for is not None:
                first = FindingHistory().remember(
                    observations, self._snapshot.taken - self._found_for
                )
                watches = [
                    replace(watch, evaluated=self._snapshot.taken) for watch in first.watches
                ]
                self._plan, _ = self._plan_after(FindingHistory(tuple(watches)))
        return self._plan

    def _plan_after(self, finding_history: FindingHistory) -> tuple[Plan, tuple[Observation, ...]]:
        outline = Outline(mode="Enforce", seed=0, tool="", recorded=False)
        return plan_and_observations(
            self._snapshot, self._policies, History(), finding_history, outline
        )

    def cost(self, name: str) -> float | str:
        binding = self._binding(name)
        return _not_evaluated_text(binding) if binding.term is None else binding.term.cost()

    def problem(self, name: str) -> str | None:
        problem = self._binding(name).problem
        return None if problem is None else problem.code

    def candidates(self, name: str) -> list[str] | str:
        binding = self._binding(name)
        if binding.term is None:
            return _not_evaluated_text(binding)
        pods = (self._snapshot.pods[pod] for pod in binding.candidates().tolist())
        return sorted({(pod.metadata.labels or {}).get("app", pod.metadata.name) for pod in pods})

    def findings(self, name: str) -> list[str] | str:
        binding = self._binding(name)
        if binding.term is None:
            return _not_evaluated_text(binding)
        return sorted(f"{finding.code} {finding.subject}" for finding in binding.term.findings())

    def refusal_codes(self, workload: str) -> str | None:
        codes = {
            refusal.code
            for refusal in self._make_plan().refused
            if refusal.owner is not None and refusal.owner.name == workload
        }
        return ", ".join(sorted(codes)) or None

    def moves(self) -> list[str]:
        return [
            f"{move.owner.name} {move.source} -> "
            f"{max(move.landing, key=lambda share: share.probability).node}"
            for move in self._make_plan().moves
        ]


def _not_evaluated_text(binding: Binding) -> str:
    return "not evaluated" if binding.problem is None else f"not evaluated: {binding.problem.code}"
