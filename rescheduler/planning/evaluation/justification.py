"""Why a move is worth making: the findings it serves, with the numbers."""

from rescheduler.model.finding import Finding
from rescheduler.model.moves.move_reason import LoadChange, MoveReason
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

    def reason_of(self, pod: int, source: int, binding: Binding, gain: float) -> MoveReason | None:
        """The reason that one policy gives for moving this pod, or None if it has none."""
        finding = self._of_policy(binding.policy.name).get(pod)
        return _reason(finding, pod, source, binding, gain)

    def now(self, pod: int, source: int, binding: Binding, gain: float) -> MoveReason | None:
        """The same in the working copy as it is now, after other moves."""
        finding = next((candidate for candidate in binding.findings if pod in candidate.pods), None)
        return _reason(finding, pod, source, binding, gain, later=True)

    def _of_policy(self, name: str) -> dict[int, Finding]:
        """Pod to the first finding of the policy that names it; only few policies are read."""
        by_pod = self._by_pod.get(name)
        if by_pod is None:
            by_pod = self._by_pod[name] = {}
            for finding in reversed(self._findings.get(name, ())):
                by_pod.update(dict.fromkeys(finding.pods, finding))
        return by_pod


def _reason(
    finding: Finding | None,
    pod: int,
    source: int,
    binding: Binding,
    gain: float,
    *,
    later: bool = False,
) -> MoveReason | None:
    if finding is None:
        return None
    return MoveReason(
        code=finding.code,
        policy=binding.policy.name,
        gain=gain,
        weight=binding.policy.weight,
        subject=finding.subject,
        finding=finding.message,
        later=later,
        loads=_loads(binding, pod, source),
    )


def _loads(binding: Binding, pod: int, source: int) -> list[LoadChange]:
    """The loads of the pod's node before and after the move, where the policy follows loads."""
    term = binding.loaded
    if term is None:
        return []
    loads, used = term.load_after(), term.usage(pod)
    changes = []
    for name in sorted(loads):
        amount = used.get("pod" + name.removeprefix("node"), 0.0)
        capacity = binding.capacity(name, source)
        if amount > 0 and capacity > 0:
            before = float(loads[name][source])
            changes.append(LoadChange(name, before, before - amount / capacity))
    return changes
