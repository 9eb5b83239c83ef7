"""The search takes only what gains where it will land, and works out nothing twice."""

from collections import Counter

import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.problem import Problem
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.evaluation.evaluation import Evaluation, JointEvaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.search.search import search
from tests.bench.bench_search import policies
from tests.bench.grown import Size, grown


@pytest.fixture(scope="module")
def cluster() -> Snapshot:
    """48 Deployments of 50; some of their pods may land on many nodes, and gain on few of them."""
    return grown(5, Size(nodes=240, workloads=48))


class Watched(Evaluator):
    """Counts what is worked out, by pods and state of the working copy."""

    def __init__(self, copy: WorkingCopy) -> None:
        super().__init__(copy)
        self.worked_out: Counter[tuple[tuple[int, ...], int]] = Counter()

    def work_out(self, pods: tuple[int, ...]) -> tuple[Evaluation, ...] | Problem:
        self.worked_out[pods, self.copy.version] += 1
        return super().work_out(pods)


class Checked(WorkingCopy):
    """Lets no move be made that is worth nothing as soon as it is made."""

    def commit(self, evaluation: JointEvaluation) -> JointEvaluation:
        made = super().commit(evaluation)
        assert not Evaluator(self).needless(made, made.moves)
        return made


def watched(snapshot: Snapshot, cap: int) -> Watched:
    chosen = policies(cap)
    return Watched(Checked(snapshot, chosen.policies, chosen.limits, History()))


def test_no_move_is_made_that_gains_nothing_where_it_most_likely_lands(cluster: Snapshot) -> None:
    found = search(watched(cluster, 40))
    assert found.moves
    reported = [refusal.message for refusal in found.refusals.values() if refusal.code == "FEA003"]
    assert any("where it most likely lands" in message for message in reported)


@pytest.mark.parametrize("cap", [10, 33, 40])
def test_nothing_is_worked_out_twice_and_the_refusals_are_true_of_the_plan(
    cluster: Snapshot, cap: int
) -> None:
    """Asked again, in the working copy at the end, each candidate is refused for the same."""
    evaluator = watched(cluster, cap)
    found = search(evaluator)
    candidates = len(found.moves) + len(found.refusals)
    assert set(evaluator.worked_out.values()) == {1}
    assert len(evaluator.worked_out) <= 3 * candidates
    full = len(found.moves) == cap
    assert full or not any(refusal.code == "PAC001" for refusal in found.refusals.values())
    now = set(evaluator.copy.candidates())
    for pod, refusal in found.refusals.items():
        again = evaluator.refuse_pods((pod,), closed=False) or evaluator.weigh((pod,)).refusal
        if refusal.code == "PAC001":
            assert full
        elif pod in now:
            assert again is not None
            assert again == refusal or evaluator.bounds().best[pod] <= 0.05


@pytest.mark.parametrize("steps", [20, 60, 120])
def test_a_search_that_must_end_takes_the_best_that_it_evaluated(
    cluster: Snapshot, steps: int
) -> None:
    """Most of what is evaluated waits for others that could be better, and is worth a move."""
    evaluator = watched(cluster, 40)
    found = search(evaluator, effort=Effort(steps=steps))
    assert found.summary is not None
    assert found.summary.stopped == "steps"
    evaluated = {pods for pods, _ in list(evaluator.worked_out)[:steps]}
    passed = {evaluation.pods for evaluation in found.accepted}
    assert passed <= evaluated
    assert found.moves
    again = watched(cluster, 40)
    for evaluation in found.accepted:
        fresh = again.evaluate(evaluation.pods)
        assert fresh.refusal is None
        again.copy.commit(fresh)
    worth = [pods for pods in evaluated - passed if again.evaluate(pods).refusal is None]
    assert not worth, "all that was evaluated and still passes is in the plan"
