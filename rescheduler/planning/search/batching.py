"""In which batch each of the moves that were found is sent."""

from collections.abc import Sequence

from rescheduler.planning.evaluation.evaluation import Evaluation, places
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.limits.batches import number
from rescheduler.planning.limits.image_pulls import ImagePulls


def batches(copy: WorkingCopy, evaluations: Sequence[Evaluation]) -> list[int]:
    """The batch of each move, counted from 1; see `number`."""
    snapshot, image_pulls = copy.snapshot, ImagePulls(copy.snapshot.nodes)

    def shared_keys(move: Evaluation) -> list[int | str]:
        budgets = copy.budgets.budgets_of(move.pod)
        if copy.limits.batchSize == 1 or move.landing is None:
            return [*budgets]
        return [
            *budgets,
            *image_pulls.images_to_pull(snapshot.pods[move.pod].spec, move.source, move.landing),
        ]

    return number(
        (
            (int(snapshot.pod_workload[evaluation.pod]), shared_keys(evaluation))
            for evaluation in evaluations
        ),
        copy.limits.batchSize,
        [evaluation.group for evaluation in evaluations],
        places(evaluations),
    )
