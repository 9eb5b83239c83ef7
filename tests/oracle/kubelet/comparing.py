"""Ask kubelet and the program about the same cases, and count where they differ."""

import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rescheduler.planning.eligibility.kubelet_admission import KubeletAdmission
from tests.oracle.kubelet.cases import ELSEWHERE, HERE, Case, draw_case, seen
from tests.oracle.kubelet.telling import Answer

_BATCH = 500
"""Cases of one process: kubelet's CPU manager leaves a goroutine behind for each."""


@dataclass
class Verdict:
    """Of one case: whether kubelet admits the pod, and whether the program thinks so."""

    case: Case
    answer: Answer
    kubelet: bool
    program: bool

    @property
    def kind(self) -> str:
        """`agree`, `false admit` (kubelet refuses) or `false refusal`."""
        if self.kubelet == self.program:
            return "agree"
        return "false admit" if self.program else "false refusal"


@dataclass
class Comparison:
    """Verdicts, counted by kind: of cases that the API tells all of, of the others, by feature."""

    told: Counter[str] = field(default_factory=Counter)
    untold: Counter[str] = field(default_factory=Counter)
    by_feature: dict[str, Counter[str]] = field(default_factory=dict)
    differing: list[Verdict] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        """Count one more."""
        kinds = (verdict.kind, "admits" if verdict.kubelet else "refuses")
        untold = verdict.case.machine.untold
        (self.untold if untold else self.told).update(kinds)
        for feature in untold or verdict.case.features:
            self.by_feature.setdefault(feature, Counter()).update(kinds)
        if verdict.kind != "agree":
            self.differing.append(verdict)

    def join(self, other: "Comparison") -> None:
        """Count those of another one too."""
        self.told.update(other.told)
        self.untold.update(other.untold)
        for feature, counts in other.by_feature.items():
            self.by_feature.setdefault(feature, Counter()).update(counts)
        self.differing += other.differing

    @staticmethod
    def shares(counts: Counter[str]) -> tuple[float, float, float]:
        """Agreement, false admits of all refusals, false refusals of all admissions."""
        cases = counts["admits"] + counts["refuses"]
        return (
            counts["agree"] / max(cases, 1),
            counts["false admit"] / max(counts["refuses"], 1),
            counts["false refusal"] / max(counts["admits"], 1),
        )

    def table(self) -> str:
        """What people read."""
        lines = [
            f"{'':42}{'cases':>7}{'refused':>9}{'agree':>9}{'false admits':>21}{'refusals':>20}"
        ]
        rows = {
            "all that the API tells of": self.told,
            "options that it does not tell": self.untold,
        }
        for name, counts in {**rows, **dict(sorted(self.by_feature.items()))}.items():
            agree, admits, refusals = self.shares(counts)
            cases = counts["admits"] + counts["refuses"]
            false = f"{counts['false admit']:10} ({admits:7.2%})"
            false += f"{counts['false refusal']:10} ({refusals:7.2%})"
            lines.append(f"{name:42}{cases:7}{counts['refuses']:9}{agree:9.2%}{false}")
        return "\n".join(lines)


def compare(judge: Path, seeds: Iterable[int]) -> Comparison:
    """The cases of these seeds, held against each other.

    Raises:
        RuntimeError: the judge has no answer to a case.
    """
    comparison = Comparison()
    batch: list[int] = []
    for seed in seeds:
        batch.append(seed)
        if len(batch) == _BATCH:
            for verdict in _verdicts(judge, batch):
                comparison.add(verdict)
            batch = []
    for verdict in _verdicts(judge, batch):
        comparison.add(verdict)
    return comparison


def _verdicts(judge: Path, seeds: list[int]) -> Iterator[Verdict]:
    cases = [draw_case(seed) for seed in seeds]
    done = subprocess.run(
        [str(judge)], input=b"".join(case.line() for case in cases), capture_output=True, check=True
    )
    answers = done.stdout.splitlines()
    if len(answers) != len(cases):
        raise RuntimeError(f"{len(answers)} answers to {len(cases)} cases")
    for case, line in zip(cases, answers, strict=True):
        answer = msgspec.json.decode(line, type=Answer)
        if answer.error:
            raise RuntimeError(f"seed {case.seed}: {answer.error}")
        cluster = seen(case, answer)
        rejected = KubeletAdmission(cluster).rejects(len(cluster.pods) - 1, ELSEWHERE, HERE)
        yield Verdict(case, answer, answer.admit, not rejected)
