"""Adds decisions up: the shares that are promised, and what lies behind them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from statistics import median

from tests.e2e.landing.decision import BEST, REFUSED, UNSCHEDULABLE, WRONG, Decision

BEST_SHARE = 0.995
"""The least share of bound pods that lie in the arg-max set, where all nodes are scored."""


class LandingSummary:
    """Counts of one run."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.refused: list[Decision] = []
        self.broken: list[str] = []

    def add(self, decision: Decision) -> None:
        """Count one; a pod that we gave no prediction for is no decision."""
        if decision.verdict == REFUSED:
            self.refused.append(decision)
        else:
            self.decisions.append(decision)

    def wrong(self) -> list[Decision]:
        """The decisions that were predicted otherwise."""
        return [decision for decision in self.decisions if decision.verdict in WRONG]

    def differing(self) -> list[Decision]:
        """The decisions whose scores, feasible nodes or reasons were predicted otherwise."""
        return [decision for decision in self.decisions if decision.differences]

    def recorded(self, record: Callable[[str, object], None]) -> None:
        """Give the figures of the README's table to the test's report."""
        record("decisions", len(self.decisions))
        record("as predicted", len(self.decisions) - len(self.wrong()))
        record("scores", sum(decision.scores for decision in self.decisions))

    def missed(self) -> list[str]:
        """The bars that are not met, in words."""
        reported = []
        count = Counter(decision.verdict for decision in self.decisions)
        outside = count["infeasible"] + sum(
            decision.verdict == "elsewhere" and decision.sampled for decision in self.decisions
        )
        if outside:
            reported.append(f"{outside} pods were bound outside the predicted support")
        bound = [
            decision for decision in self.decisions if decision.observed and not decision.sampled
        ]
        best = sum(decision.verdict == BEST for decision in bound)
        if best < BEST_SHARE * len(bound):
            reported.append(f"{best} of {len(bound)} bound pods in the arg-max set")
        if disagreed := sum(count[verdict] for verdict in ("bound", "waits", "beside", "after")):
            reported.append(f"{disagreed} verdicts of unschedulable disagree")
        reported += [f"a cluster was given up: {failure}" for failure in self.broken]
        if differing := self.differing():
            reported.append(f"{len(differing)} decisions came about otherwise than predicted")
        return reported

    def deciles(self) -> list[tuple[float, float, int]]:
        """(mean predicted, observed share, pairs) of pods and nodes by predicted probability."""
        sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        for decision in self.decisions:
            if not (decision.sampled and decision.observed):
                continue
            for node, chance in decision.predicted.items():
                row = sums[min(int(chance * 10), 9)]
                row[0] += chance
                row[1] += node == decision.observed
                row[2] += 1
        return [(p / n, hits / n, int(n)) for _, (p, hits, n) in sorted(sums.items())]

    def lines(self) -> Iterator[str]:
        """The report."""
        total = len(self.decisions)
        clusters = len({decision.seed for decision in self.decisions})
        kinds = Counter(f"{decision.kind} {decision.owner}".strip() for decision in self.decisions)
        yield f"{total} decisions in {clusters} clusters: {_counted(kinds)}"
        yield f"verdicts: {_counted(Counter(decision.verdict for decision in self.decisions))}"
        yield from self._bound()
        yield from self._refused()
        yield from self._reasoned()
        for mean, share, pairs in self.deciles():
            yield f"  sampled: predicted {mean:6.1%}, observed {share:6.1%} of {pairs}"
        if self.refused:
            reported = Counter(
                decision.refusal.removeprefix(f"{decision.pod}: ") for decision in self.refused
            )
            yield f"not predicted: {_counted(reported)}"
        for decision in (*self.wrong(), *(e for e in self.differing() if e.verdict not in WRONG)):
            yield (
                f"seed {decision.seed} step {decision.step}: {decision.verdict}: "
                f"{decision.kind} {decision.owner} "
                f"{decision.pod}, {decision.state}, bound to {decision.observed or 'nothing'}, "
                "predicted "
                f"{len(decision.predicted)} of {decision.feasible}: "
                f"{'; '.join(decision.differences)} "
                f"({decision.kept})"
            )

    def _bound(self) -> Iterator[str]:
        for sampled, name in ((False, "all nodes scored"), (True, "nodes sampled")):
            chosen = [e for e in self.decisions if e.observed and e.sampled is sampled]
            if not chosen:
                continue
            outside = {"infeasible", "bound", *(["elsewhere"] if sampled else [])}
            inside = sum(decision.verdict not in outside for decision in chosen)
            best = sum(decision.predicted.get(decision.observed, 0.0) > 0 for decision in chosen)
            single = sum(len(decision.predicted) == 1 for decision in chosen)
            yield (
                f"{name}: {len(chosen)} bound, in the support {inside / len(chosen):.2%}, "
                f"with a predicted probability {best / len(chosen):.2%} "
                f"(one node alone predicted in {single / len(chosen):.1%}), "
                f"feasible nodes {median(decision.feasible for decision in chosen):.0f} in the "
                "median"
            )
        moved = [decision for decision in self.decisions if decision.observed and decision.left]
        back = sum(decision.returned for decision in moved)
        if moved:
            yield f"evicted and bound: {len(moved)}, back on the same node {back / len(moved):.1%}"

    def _refused(self) -> Iterator[str]:
        said = sum(decision.unschedulable == 1.0 for decision in self.decisions)
        seen = sum(not decision.observed for decision in self.decisions)
        both = sum(decision.verdict == UNSCHEDULABLE for decision in self.decisions)
        after = [e for e in self.decisions if e.kind == "evict" and e.message and e.observed]
        yield (
            f"unschedulable: {said} predicted, {seen} observed, {both} both; bound only once the "
            f"old pod was gone: {len(after)}"
        )

    def _reasoned(self) -> Iterator[str]:
        scored = [decision for decision in self.decisions if decision.scores]
        explained = [decision for decision in self.decisions if decision.reasons]
        yield (
            f"scores compared: {sum(decision.scores for decision in scored)} in {len(scored)} "
            "decisions; "
            f"reasons compared: {sum(decision.reasons for decision in explained)} "
            f"in {len(explained)} messages; "
            f"{len(self.differing())} decisions with a difference"
        )


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())
