"""In which batch each of the moves that were found is sent."""

from collections.abc import Sequence

from rescheduler.planning.evaluation.evaluation import Evaluation, places
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.batches import number
from rescheduler.planning.limits.pulls import Pulls


def batches(copy: WorkingCopy, found: Sequence[Evaluation]) -> list[int]:
    """The batch of each move, counted from 1; see `number`."""
    snapshot, pulls = copy.snapshot, Pulls(copy.snapshot.nodes)

    def shared(move: Evaluation) -> list[int | str]:
        budgets = copy.budgets.budgets_of(move.pod)
        if copy.limits.batchSize == 1 or move.landing is None:
            return [*budgets]
        return [*budgets, *pulls.of(snapshot.pods[move.pod].spec, move.source, move.landing)]

    return number(
        ((int(snapshot.pod_workload[each.pod]), shared(each)) for each in found),
        copy.limits.batchSize,
        [each.group for each in found],
        places(found),
    )
