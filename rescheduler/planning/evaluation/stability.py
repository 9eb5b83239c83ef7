"""Whether the findings that would move a pod have held as long as their policy asks (`stableFor`).

Of load and signs the past is known from the readings; of all else, what earlier cycles remembered.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from rescheduler.documents.fields import duration_text
from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.finding_history import KEY_BYTES, MOST_FINDINGS, FindingHistory, Observation
from rescheduler.model.problem import Problem
from rescheduler.planning.binding import Binding, weighted_gain
from rescheduler.planning.evaluation.evaluation import GainThreshold, JointEvaluation
from rescheduler.policies.base import Policy
from rescheduler.policies.terms import Lasting

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class _Waiting:
    """One policy that waits. ages: (pods,) seconds for which its findings have held; NaN: unknown.

    measured: whether readings show it. truncated: whether more was found than is remembered.
    """

    policy: Policy
    ages: FloatArray
    measured: bool
    truncated: bool = False


class Stability:
    """What each waiting policy knows of the past, before anything moves in the working copy.

    observations: what was found now, to be remembered for the next cycle.
    """

    def __init__(
        self, bindings: Iterable[Binding], snapshot: Snapshot, finding_history: FindingHistory
    ) -> None:
        self._taken = snapshot.taken
        waiting = [
            binding for binding in bindings if binding.policy.span and binding.term is not None
        ]
        keys = {
            binding.policy.name: _finding_keys(binding, snapshot, codes)
            for binding in waiting
            if (codes := _measured_codes(binding)) is not None
        }
        self.observations = tuple(
            Observation(
                policy=binding.policy.name,
                meaning=binding.policy.meaning,
                patience=timedelta(seconds=binding.policy.span),
                findings=tuple(dict.fromkeys(key for key, _ in keys[binding.policy.name])),
            )
            for binding in waiting
            if binding.policy.name in keys
        )
        history = finding_history.remember(self.observations, self._taken)
        self._waiting: dict[str, _Waiting] = {}
        for binding in waiting:
            name, term = binding.policy.name, _lasting_term(binding)
            measured_age = (
                np.full(len(snapshot.pods), np.nan) if term is None else term.finding_ages()
            )
            if name in keys:
                self._waiting[name] = self._waiting_by_history(
                    binding.policy, keys[name], history, measured_age
                )
            else:
                self._waiting[name] = _Waiting(binding.policy, measured_age, measured=True)

    def ready(self, binding: Binding, pods: IntArray) -> IntArray:
        """Those of the pods whose findings have held for long enough."""
        waiting = self._waiting.get(binding.policy.name)
        if waiting is None:
            return pods
        return pods[waiting.ages[pods] >= waiting.policy.span - _ROUNDING]

    def refusals(
        self, bindings: Iterable[Binding], candidates: Iterable[int]
    ) -> dict[int, Problem]:
        """The candidates of these policies whose findings are too new, and why."""
        wanted: dict[int, list[Binding]] = {}
        ready: set[int] = set()
        others: list[Binding] = []
        for binding in bindings:
            if binding.policy.name not in self._waiting:
                others.append(binding)
                continue
            pods = binding.candidates()
            ready.update(self.ready(binding, pods).tolist())
            for pod in pods.tolist():
                wanted.setdefault(pod, []).append(binding)
        if not ready.issuperset(wanted):
            ready.update(pod for binding in others for pod in binding.candidates().tolist())
        answer: dict[int, Problem] = {}
        for pod in candidates if wanted else ():
            refusal = None if pod in ready else self._refusal(wanted.get(pod, ()), pod)
            if refusal is not None:
                answer[pod] = refusal
        return answer

    def refuse_moves(
        self,
        evaluation: JointEvaluation,
        bindings: Sequence[Binding],
        deciding: Sequence[Binding],
        gate: GainThreshold,
    ) -> Problem | None:
        """Why the moves are not worth it without what policies gain whose findings are too new.

        bindings: all that count. deciding: those that may move the pods; one with findings that are
        old enough must gain by itself.
        """
        new = [
            (binding, move)
            for move in evaluation.moves
            for binding in bindings
            if move.gains[binding.policy.name] > 0
            and not len(self.ready(binding, np.array([move.pod], dtype=np.int32)))
        ]
        if not new:
            return None
        gains = evaluation.gains
        for binding, move in new:
            gains[binding.policy.name] -= move.gains[binding.policy.name]
        rest = evaluation.gain - sum(b.policy.weight * m.gains[b.policy.name] for b, m in new)
        refusal = gate.refusal(
            rest, evaluation.disruption, moves=len(evaluation.moves), chain=evaluation.chain
        )
        if weighted_gain(deciding, gains) > 0 and refusal is None:
            return None
        pod = new[0][1].pod
        return self._refusal([binding for binding, move in new if move.pod == pod], pod)

    def _refusal(self, bindings: Iterable[Binding], pod: int) -> Problem | None:
        """STB001 or STB002 where these policies' findings on the pod are too new.

        Of several that wait, the one that may act first is reported.
        """
        names = [binding.policy.name for binding in bindings]
        waiting = [self._waiting[name] for name in names if name in self._waiting]
        dated = [
            waiting_policy for waiting_policy in waiting if not np.isnan(waiting_policy.ages[pod])
        ]
        if dated:
            return self._too_new(
                min(
                    dated,
                    key=lambda waiting_policy: (
                        waiting_policy.policy.span - float(waiting_policy.ages[pod])
                    ),
                ),
                pod,
            )
        return _unknown_age(waiting[0]) if waiting else None

    def _too_new(self, waiting: _Waiting, pod: int) -> Problem:
        policy, seconds = waiting.policy, float(waiting.ages[pod])
        since = self._taken - timedelta(seconds=seconds)
        until = since + timedelta(seconds=policy.span)
        held = duration_text(timedelta(seconds=round(seconds)))
        text = f"{policy.name}: known to hold since {since:%Y-%m-%d %H:%M:%S} UTC ({held})"
        if seconds <= 0:
            text = f"{policy.name}: not known to hold before {since:%Y-%m-%d %H:%M:%S} UTC"
        needed = duration_text(timedelta(seconds=policy.span))
        day = "" if until.date() == self._taken.date() else f"{until:%Y-%m-%d} "
        return Problem(
            code="STB001",
            message=f"{text}, and stableFor is {needed}: it may act from {day}{until:%H:%M:%S} UTC "
            "on, if it holds until then",
        )

    def _waiting_by_history(
        self,
        policy: Policy,
        keys: list[tuple[bytes, tuple[int, ...]]],
        finding_history: FindingHistory,
        measured_age: FloatArray,
    ) -> _Waiting:
        """Since when each pod has had the oldest of its findings. measured_age: by readings."""
        watch = finding_history.watch_of(policy.name)
        since = {} if watch is None else watch.first_times()
        ages = measured_age.copy()
        for key, concerned in keys:
            if key in since:
                seconds = (self._taken - since[key]).total_seconds()
                index = list(concerned)
                ages[index] = np.fmax(ages[index], seconds)
        missing = any(key not in since for key, _ in keys)
        return _Waiting(policy, ages, measured=False, truncated=missing)


def _lasting_term(binding: Binding) -> Lasting | None:
    """The term, where readings show how long its findings have held."""
    term: object = binding.term
    return term if isinstance(term, Lasting) else None


def _unknown_age(waiting: _Waiting) -> Problem:
    policy = waiting.policy
    if waiting.measured:
        why = (
            "no reading shows it earlier: it comes from other moves of this plan, or the past "
            "could not be read, or a recording was made without this policy"
        )
    elif waiting.truncated:
        why = f"more than {MOST_FINDINGS:,} findings were made, and not all are remembered"
    else:
        why = "no finding names the pod before the other moves of this plan"
    needed = duration_text(timedelta(seconds=policy.span))
    return Problem(
        code="STB002",
        message=f"{policy.name}: how long it has held is not known, and stableFor is {needed}: "
        f"{why}",
    )


def _measured_codes(binding: Binding) -> frozenset[str] | None:
    """The codes of the findings whose past the readings show; None: of all."""
    term = _lasting_term(binding)
    return frozenset() if term is None else term.measured_codes()


def _finding_keys(
    binding: Binding, snapshot: Snapshot, measured: frozenset[str]
) -> list[tuple[bytes, tuple[int, ...]]]:
    """Key of each finding that is remembered, with the pods that it concerns; costliest first."""
    remembered = [finding for finding in binding.findings if finding.code not in measured]
    findings = sorted(
        remembered, key=lambda finding: (-finding.cost, finding.code, finding.subject)
    )
    if not binding.policy.each_alone:
        return [
            (_key(finding, finding.subject), finding.pods) for finding in findings if finding.pods
        ]
    return [
        (_key(finding, snapshot.pods[pod].metadata.uid), (pod,))
        for finding in findings
        for pod in finding.pods
    ]


def _key(finding: Finding, subject: str) -> bytes:
    """What distinguishes a finding from all others of its policy, in any cycle."""
    text = f"{finding.code}/{finding.aspect}/{subject}".encode()
    return hashlib.blake2b(text, digest_size=KEY_BYTES).digest()
