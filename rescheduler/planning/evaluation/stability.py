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
from rescheduler.planning.binding import Binding, gained
from rescheduler.planning.evaluation.evaluation import Gate, JointEvaluation
from rescheduler.policies.base import Policy
from rescheduler.policies.terms import Lasting

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class _Waiting:
    """One policy that waits. known: (pods,) seconds for which its findings have held; NaN: unknown.

    measured: whether readings show it. truncated: whether more was found than is remembered.
    """

    policy: Policy
    known: FloatArray
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
        waiting = [each for each in bindings if each.policy.span and each.term is not None]
        found = {
            each.policy.name: _finding_keys(each, snapshot, codes)
            for each in waiting
            if (codes := _measured(each)) is not None
        }
        self.observations = tuple(
            Observation(
                policy=each.policy.name,
                meaning=each.policy.meaning,
                patience=timedelta(seconds=each.policy.span),
                findings=tuple(dict.fromkeys(key for key, _ in found[each.policy.name])),
            )
            for each in waiting
            if each.policy.name in found
        )
        known = finding_history.after(self.observations, self._taken)
        self._waiting: dict[str, _Waiting] = {}
        for each in waiting:
            name, term = each.policy.name, _lasting(each)
            measured_age = np.full(len(snapshot.pods), np.nan) if term is None else term.lasted()
            if name in found:
                self._waiting[name] = self._remembered(
                    each.policy, found[name], known, measured_age
                )
            else:
                self._waiting[name] = _Waiting(each.policy, measured_age, measured=True)

    def ready(self, binding: Binding, pods: IntArray) -> IntArray:
        """Those of the pods whose findings have held for long enough."""
        waiting = self._waiting.get(binding.policy.name)
        if waiting is None:
            return pods
        return pods[waiting.known[pods] >= waiting.policy.span - _ROUNDING]

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
            ready.update(pod for each in others for pod in each.candidates().tolist())
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
        gate: Gate,
    ) -> Problem | None:
        """Why the moves are not worth it without what policies gain whose findings are too new.

        bindings: all that count. deciding: those for whose sake the pods may be moved; one of which
        the findings are old enough must gain by itself.
        """
        new = [
            (each, move)
            for move in evaluation.moves
            for each in bindings
            if move.gains[each.policy.name] > 0
            and not len(self.ready(each, np.array([move.pod], dtype=np.int32)))
        ]
        if not new:
            return None
        gains = evaluation.gains
        for each, move in new:
            gains[each.policy.name] -= move.gains[each.policy.name]
        rest = evaluation.gain - sum(b.policy.weight * m.gains[b.policy.name] for b, m in new)
        refusal = gate.refusal(
            rest, evaluation.disruption, moves=len(evaluation.moves), chain=evaluation.chain
        )
        if gained(deciding, gains) > 0 and refusal is None:
            return None
        pod = new[0][1].pod
        return self._refusal([each for each, move in new if move.pod == pod], pod)

    def _refusal(self, bindings: Iterable[Binding], pod: int) -> Problem | None:
        """STB001 or STB002 where these policies' findings on the pod are too new.

        Of several that wait, the one that may act first is reported.
        """
        names = [each.policy.name for each in bindings]
        waiting = [self._waiting[name] for name in names if name in self._waiting]
        known = [each for each in waiting if not np.isnan(each.known[pod])]
        if known:
            return self._too_new(
                min(known, key=lambda each: each.policy.span - float(each.known[pod])), pod
            )
        return _unknown(waiting[0]) if waiting else None

    def _too_new(self, waiting: _Waiting, pod: int) -> Problem:
        policy, seconds = waiting.policy, float(waiting.known[pod])
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

    def _remembered(
        self,
        policy: Policy,
        found: list[tuple[bytes, tuple[int, ...]]],
        finding_history: FindingHistory,
        measured_age: FloatArray,
    ) -> _Waiting:
        """Since when each pod has had the oldest of its findings. measured_age: by readings."""
        watch = finding_history.of(policy.name)
        since = {} if watch is None else watch.since()
        known = measured_age.copy()
        for key, concerned in found:
            if key in since:
                seconds = (self._taken - since[key]).total_seconds()
                index = list(concerned)
                known[index] = np.fmax(known[index], seconds)
        missing = any(key not in since for key, _ in found)
        return _Waiting(policy, known, measured=False, truncated=missing)


def _lasting(binding: Binding) -> Lasting | None:
    """The term, where readings show how long its findings have held."""
    term: object = binding.term
    return term if isinstance(term, Lasting) else None


def _unknown(waiting: _Waiting) -> Problem:
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


def _measured(binding: Binding) -> frozenset[str] | None:
    """The codes of the findings whose past the readings show; None: of all."""
    term = _lasting(binding)
    return frozenset() if term is None else term.measured()


def _finding_keys(
    binding: Binding, snapshot: Snapshot, measured: frozenset[str]
) -> list[tuple[bytes, tuple[int, ...]]]:
    """Key of each finding that is remembered, with the pods that it concerns; costliest first."""
    remembered = [each for each in binding.findings if each.code not in measured]
    found = sorted(remembered, key=lambda each: (-each.cost, each.code, each.subject))
    if not binding.policy.each_alone:
        return [(_key(each, each.subject), each.pods) for each in found if each.pods]
    return [
        (_key(each, snapshot.pods[pod].metadata.uid), (pod,)) for each in found for pod in each.pods
    ]


def _key(finding: Finding, subject: str) -> bytes:
    """What distinguishes a finding from all others of its policy, in any cycle."""
    text = f"{finding.code}/{finding.aspect}/{subject}".encode()
    return hashlib.blake2b(text, digest_size=KEY_BYTES).digest()
