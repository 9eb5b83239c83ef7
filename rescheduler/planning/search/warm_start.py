"""A search that begins with the moves of the last plan, where they would not be found again.

Where its time or its evaluations were used up, the next search would end at the same place; and
moves that annealing proposed are found by chance. So what of them still passes is taken first, and
the search goes on from there. Where it comes to its end before its time is up, a search from
nothing follows, as the cluster may have changed: the better plan is kept, of equals that one, so
that the next search begins from nothing again.
"""

from msgspec import structs

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Mode, Plan, PlannedMove
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.planning.search.second_search import WHOLE, search_again
from rescheduler.planning.search.strategy import Proposal


def search_from_last(
    evaluator: Evaluator, effort: Effort, last: Proposal | None = None
) -> SearchResult:
    """What a search finds that begins with these moves, or one from nothing if that is better.

    last: None to begin from nothing at once; as it is where none of them passes. The working copy
    has the moves of the result.
    """
    if last is None or effort.expired():
        return search(evaluator, effort=effort)
    again = {pod for pods in last.planned for pod in pods}
    result = search(evaluator, effort=effort, proposal=last)
    resumed = sum(move.gain for move in result.moves if move.pod in again)
    if result.summary is None or not resumed:
        return result
    result.summary = structs.replace(result.summary, resumed=resumed)
    if result.summary.stopped not in WHOLE:
        return result
    return search_again(evaluator, result, effort) or result


def last_moves(plan: Plan | None, snapshot: Snapshot, mode: Mode) -> Proposal | None:
    """Of the last plan the moves of this mode whose pods are still there.

    None where there are none, or a search finds them without. Gangs that are moved as a whole and
    rooms for them are found again: they are few.
    """
    if plan is None or not _worth_keeping(plan):
        return None
    moves = [m for m in plan.moves if m.mode == mode and not m.group and not m.room]
    index = snapshot.pod_index
    pods = {move.pod.uid: index[move.pod.uid] for move in moves if move.pod.uid in index}
    if not pods:
        return None
    helpers = {uid for move in moves for uid in move.after}
    chains = [(*move.after, move.pod.uid) for move in moves if move.pod.uid not in helpers]
    proposed = plan.search is not None and plan.search.singly is not None
    return Proposal(
        nodes=_nodes(moves, pods, snapshot) if proposed else {},
        planned=tuple(
            tuple(pods[uid] for uid in dict.fromkeys(chain))
            for chain in chains
            if pods.keys() >= {*chain}
        ),
    )


def _worth_keeping(plan: Plan) -> bool:
    """Whether its search was cut short, began with an earlier plan, or has what was proposed."""
    search = plan.search
    if search is None:
        return False
    cut = search.stopped in ("time", "steps")
    return cut or search.resumed is not None or search.singly is not None


def _nodes(moves: list[PlannedMove], pods: dict[str, int], snapshot: Snapshot) -> dict[int, int]:
    """The node that each is sent to, or would most likely land on."""
    number = {node.metadata.name: index for index, node in enumerate(snapshot.nodes)}
    targets: dict[int, int] = {}
    for move in moves:
        names = move.steered.nodes if move.steered else [share.node for share in move.landing]
        if move.pod.uid in pods and names and names[0] in number:
            targets[pods[move.pod.uid]] = number[names[0]]
    return targets
