"""The verdict on each pod in a plan made now, and how each policy evaluates it."""

import numpy as np

from rescheduler.model.explanation import PolicyView, Verdict
from rescheduler.model.moves.move import Landing
from rescheduler.model.moves.plan import FindingView, Mode
from rescheduler.planning.binding import Binding
from rescheduler.planning.evaluation.destinations import describe
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.plan.decision import Decision, decide
from rescheduler.planning.plan.planner import with_landings
from rescheduler.planning.search.batching import batches

MOST_FINDINGS = 5


class PodVerdicts:
    """The decision about every pod of a working copy. Making it changes the working copy."""

    def __init__(self, copy: WorkingCopy) -> None:
        self._copy = copy
        self._asked = bool(copy.bindings)
        self._decision = decide(copy) if self._asked else Decision()
        self._moves: dict[int, tuple[Evaluation, int, Mode]] = {}
        last = 0
        # What a plan publishes, so that both name the same nodes.
        for mode, evaluations in with_landings(copy, self._decision.passes):
            for evaluation, batch in zip(evaluations, batches(copy, evaluations), strict=True):
                self._moves[evaluation.pod] = (evaluation, last + batch, mode)
            last = max((batch for _, batch, _ in self._moves.values()), default=0)

    def verdict_of(self, pod: int) -> Verdict:
        """Whether the pod moves, stays and why, or is held by a guard."""
        if not self._asked:
            return Verdict(outcome="unknown", message="no policies were given")
        if pod in self._moves:
            evaluation, batch, mode = self._moves[pod]
            return Verdict(
                outcome="moves",
                message=self._describe_landing(evaluation),
                batch=batch,
                mode=mode,
                gain=evaluation.gain,
                disruption=evaluation.disruption,
            )
        refusal = self._decision.refusals.get(pod)
        if refusal is None:
            return self._no_candidate(pod)
        held = refusal.code in {guard.code for guard in self._decision.guards}
        return Verdict(
            outcome="held" if held else "stays", code=refusal.code, message=refusal.message
        )

    def _describe_landing(self, evaluation: Evaluation) -> str:
        """Where it most likely lands; of nodes that are equally likely, the first by name."""
        nodes, landing = self._copy.snapshot.nodes, evaluation.landing
        likely, chance = [evaluation.destination], 1.0
        if landing is not None and len(landing.nodes):
            chance = float(landing.probabilities.max())
            likely = landing.nodes[landing.probabilities >= chance - 1e-9].tolist()
        name = min(nodes[node].metadata.name for node in likely)
        more = f", one of {len(likely)} equally likely" if len(likely) > 1 else ""
        suffix = " each" if more else ""
        # What would read 100 % goes without saying.
        share = "" if chance >= 0.995 else f" ({chance:.0%}{suffix})"
        return f"expected on {name}{more}{share}{self._describe_steering(evaluation)}"

    def _describe_steering(self, evaluation: Evaluation) -> str:
        """What steers it, and where it would land else; "" where nothing does."""
        choice = evaluation.choice
        if choice is None:
            return ""
        nodes = self._copy.snapshot.nodes
        names = ", ".join(nodes[node].metadata.name for node in choice.nodes[:3].tolist())
        more = f" and {len(choice.nodes) - 3} more" if len(choice.nodes) > 3 else ""
        otherwise = describe(self._copy.snapshot, choice.unsteered)
        return f"; steered to {names}{more} ({choice.strength} by {choice.by}), else {otherwise}"

    def _no_candidate(self, pod: int) -> Verdict:
        refusal = self._copy.eligibility.refusal(pod)
        text = "it is no candidate: no policy finds that a move of it could lower its cost"
        if refusal is None:
            return Verdict(outcome="stays", message=text)
        return Verdict(outcome="stays", code=refusal.code, message=f"{refusal.message}; and {text}")


def pod_views(copy: WorkingCopy, pod: int, landing: Landing) -> list[PolicyView]:
    """What each policy would gain if the pod were moved now, and finds about it."""
    return [_pod_view(copy, binding, pod, landing) for binding in copy.bindings]


def _pod_view(copy: WorkingCopy, binding: Binding, pod: int, landing: Landing) -> PolicyView:
    term, gain = binding.term, None
    source = int(copy.snapshot.pod_node[pod])
    if term is not None and source >= 0 and landing.refusal is None and len(landing.nodes):
        away = np.where(landing.nodes == source, 0.0, landing.probabilities)
        gain = -float(away @ term.deltas(pod, landing.nodes)) + 0.0
    return view(binding, {pod}, gain)


def view(
    binding: Binding, pods: set[int], gain: float | None = None, subject: str = ""
) -> PolicyView:
    """A policy with its findings about any of these pods or that subject, the costliest first."""
    findings = [
        finding
        for finding in (binding.term.findings() if binding.term is not None else ())
        if finding.subject == subject or not pods.isdisjoint(finding.pods)
    ]
    findings.sort(key=lambda finding: (-finding.cost, finding.subject))
    problem = binding.problem
    return PolicyView(
        name=binding.policy.name,
        kind=binding.policy.kind,
        mode=binding.policy.mode,
        weight=binding.policy.weight,
        gain=gain,
        findings=[
            FindingView(code=f.code, subject=f.subject, cost=f.cost, message=f.message)
            for f in findings[:MOST_FINDINGS]
        ],
        problem=None if problem is None else problem,
    )
