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
        return [each for each in self.decisions if each.verdict in WRONG]

    def differing(self) -> list[Decision]:
        """The decisions whose scores, feasible nodes or reasons were predicted otherwise."""
        return [each for each in self.decisions if each.differences]

    def recorded(self, record: Callable[[str, object], None]) -> None:
        """Give the figures of the README's table to the test's report."""
        record("decisions", len(self.decisions))
        record("as predicted", len(self.decisions) - len(self.wrong()))
        record("scores", sum(each.scores for each in self.decisions))

    def missed(self) -> list[str]:
        """The bars that are not met, in words."""
        reported = []
        count = Counter(each.verdict for each in self.decisions)
        outside = count["infeasible"] + sum(
            each.verdict == "elsewhere" and each.sampled for each in self.decisions
        )
        if outside:
            reported.append(f"{outside} pods were bound outside the predicted support")
        bound = [each for each in self.decisions if each.observed and not each.sampled]
        best = sum(each.verdict == BEST for each in bound)
        if best < BEST_SHARE * len(bound):
            reported.append(f"{best} of {len(bound)} bound pods in the arg-max set")
        if disagreed := sum(count[verdict] for verdict in ("bound", "waits", "beside", "after")):
            reported.append(f"{disagreed} verdicts of unschedulable disagree")
        reported += [f"a cluster was given up: {each}" for each in self.broken]
        if differing := self.differing():
            reported.append(f"{len(differing)} decisions came about otherwise than predicted")
        return reported

    def deciles(self) -> list[tuple[float, float, int]]:
        """(mean predicted, observed share, pairs) of pods and nodes by predicted probability."""
        sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        for each in self.decisions:
            if not (each.sampled and each.observed):
                continue
            for node, chance in each.predicted.items():
                row = sums[min(int(chance * 10), 9)]
                row[0] += chance
                row[1] += node == each.observed
                row[2] += 1
        return [(p / n, hits / n, int(n)) for _, (p, hits, n) in sorted(sums.items())]

    def lines(self) -> Iterator[str]:
        """The report."""
        total = len(self.decisions)
        clusters = len({each.seed for each in self.decisions})
        kinds = Counter(f"{each.kind} {each.owner}".strip() for each in self.decisions)
        yield f"{total} decisions in {clusters} clusters: {_counted(kinds)}"
        yield f"verdicts: {_counted(Counter(each.verdict for each in self.decisions))}"
        yield from self._bound()
        yield from self._refused()
        yield from self._reasoned()
        for mean, share, pairs in self.deciles():
            yield f"  sampled: predicted {mean:6.1%}, observed {share:6.1%} of {pairs}"
        if self.refused:
            reported = Counter(each.refusal.removeprefix(f"{each.pod}: ") for each in self.refused)
            yield f"not predicted: {_counted(reported)}"
        for each in (*self.wrong(), *(e for e in self.differing() if e.verdict not in WRONG)):
            yield (
                f"seed {each.seed} step {each.step}: {each.verdict}: {each.kind} {each.owner} "
                f"{each.pod}, {each.state}, bound to {each.observed or 'nothing'}, predicted "
                f"{len(each.predicted)} of {each.feasible}: {'; '.join(each.differences)} "
                f"({each.kept})"
            )

    def _bound(self) -> Iterator[str]:
        for sampled, name in ((False, "all nodes scored"), (True, "nodes sampled")):
            chosen = [e for e in self.decisions if e.observed and e.sampled is sampled]
            if not chosen:
                continue
            outside = {"infeasible", "bound", *(["elsewhere"] if sampled else [])}
            inside = sum(each.verdict not in outside for each in chosen)
            best = sum(each.predicted.get(each.observed, 0.0) > 0 for each in chosen)
            single = sum(len(each.predicted) == 1 for each in chosen)
            yield (
                f"{name}: {len(chosen)} bound, in the support {inside / len(chosen):.2%}, "
                f"with a predicted probability {best / len(chosen):.2%} "
                f"(one node alone predicted in {single / len(chosen):.1%}), "
                f"feasible nodes {median(each.feasible for each in chosen):.0f} in the median"
            )
        moved = [each for each in self.decisions if each.observed and each.left]
        back = sum(each.returned for each in moved)
        if moved:
            yield f"evicted and bound: {len(moved)}, back on the same node {back / len(moved):.1%}"

    def _refused(self) -> Iterator[str]:
        said = sum(each.unschedulable == 1.0 for each in self.decisions)
        seen = sum(not each.observed for each in self.decisions)
        both = sum(each.verdict == UNSCHEDULABLE for each in self.decisions)
        after = [e for e in self.decisions if e.kind == "evict" and e.message and e.observed]
        yield (
            f"unschedulable: {said} predicted, {seen} observed, {both} both; bound only once the "
            f"old pod was gone: {len(after)}"
        )

    def _reasoned(self) -> Iterator[str]:
        scored = [each for each in self.decisions if each.scores]
        explained = [each for each in self.decisions if each.reasons]
        yield (
            f"scores compared: {sum(each.scores for each in scored)} in {len(scored)} decisions; "
            f"reasons compared: {sum(each.reasons for each in explained)} "
            f"in {len(explained)} messages; "
            f"{len(self.differing())} decisions with a difference"
        )


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())
