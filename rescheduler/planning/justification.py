"""Why a move is worth making: the findings it serves, with the numbers."""

from rescheduler.model.plan import Code
from rescheduler.planning.binding import Binding


class Justifications:
    """The findings of every policy, looked up by pod.

    They are taken from the working copy when a pass begins, so each reason tells the state that
    the operator sees, not one in the middle of the plan.
    """

    def __init__(self, bindings: tuple[Binding, ...]) -> None:
        self._by_pod: dict[str, dict[int, tuple[str, str]]] = {}
        for binding in bindings:
            if binding.term is None:
                continue
            found = self._by_pod.setdefault(binding.policy.name, {})
            for finding in binding.term.findings():
                for pod in finding.pods:
                    found.setdefault(pod, (finding.code, f"{finding.subject}: {finding.message}"))

    def of(self, pod: int, source: int, binding: Binding, gain: float) -> Code | None:
        """The reason that one policy gives for moving this pod, or None if it has none."""
        found = self._by_pod.get(binding.policy.name, {}).get(pod)
        if found is None:
            return None
        code, message = found
        load = _relief(binding, pod, source)
        return Code(code=code, message=f"{message}{load} ({binding.policy.name} {gain:+.2f})")


def _relief(binding: Binding, pod: int, source: int) -> str:
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
    return f"; it takes its node from {', '.join(parts)}" if parts else ""
