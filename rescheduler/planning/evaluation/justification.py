"""Why a move is worth making: the findings it serves, with the numbers."""

from rescheduler.model.finding import Finding
from rescheduler.model.problem import Problem
from rescheduler.planning.binding import Binding


class Justifications:
    """The findings of every policy, by pod.

    They are taken from the working copy when a pass begins, so each reason describes the state that
    the operator sees. Only what other moves of the plan make worth moving has its reason from the
    state in the middle of the plan.
    """

    def __init__(self, bindings: tuple[Binding, ...]) -> None:
        self._findings = {binding.policy.name: binding.findings for binding in bindings}
        self._by_pod: dict[str, dict[int, Finding]] = {}

    def reason_of(self, pod: int, source: int, binding: Binding, gain: float) -> Problem | None:
        """The reason that one policy gives for moving this pod, or None if it has none."""
        finding = self._of_policy(binding.policy.name).get(pod)
        return None if finding is None else _reason(finding, pod, source, binding, gain)

    def now(self, pod: int, source: int, binding: Binding, gain: float) -> Problem | None:
        """The same in the working copy as it is now, after other moves."""
        finding = next((candidate for candidate in binding.findings if pod in candidate.pods), None)
        if finding is None:
            return None
        return _reason(
            finding, pod, source, binding, gain, "once other moves of this plan are made, "
        )

    def _of_policy(self, name: str) -> dict[int, Finding]:
        """Pod to the first finding of the policy that names it; only few policies are read."""
        by_pod = self._by_pod.get(name)
        if by_pod is None:
            by_pod = self._by_pod[name] = {}
            for finding in reversed(self._findings.get(name, ())):
                by_pod.update(dict.fromkeys(finding.pods, finding))
        return by_pod


def _reason(
    finding: Finding, pod: int, source: int, binding: Binding, gain: float, when: str = ""
) -> Problem:
    load = _utilization(binding, pod, source)
    weight = binding.policy.weight
    weighted = "" if weight == 1 else f" \N{MULTIPLICATION SIGN} weight {weight:g}"
    return Problem(
        code=finding.code,
        message=f"{when}{finding.subject}: {finding.message}{load} "
        f"({binding.policy.name} {gain:+.2f}{weighted})",
    )


def _utilization(binding: Binding, pod: int, source: int) -> str:
    """The loads of the pod's node before and after the move, where the policy follows loads."""
    term = binding.loaded
    if term is None:
        return ""
    loads, used = term.load_after(), term.usage(pod)
    parts: list[str] = []
    for name in sorted(loads):
        amount = used.get("pod" + name.removeprefix("node"), 0.0)
        capacity = binding.capacity(name, source)
        if amount > 0 and capacity > 0:
            before = float(loads[name][source])
            parts.append(f"{name} {before:.0%} to {before - amount / capacity:.0%}")
    return f"; its node goes from {', '.join(parts)}" if parts else ""
