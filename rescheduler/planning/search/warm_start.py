"""A search that begins with the moves of the last plan, where they would not be found again.

Where its time or its evaluations were used up, the next search would end at the same place; and
moves that annealing proposed are found by chance. So what of them still passes is taken first, and
the search goes on from there with half of its effort. The rest is for a search from nothing, as the
cluster may have changed: the better plan is kept.
"""

from msgspec import structs

from rescheduler.model.plan import Mode, Plan, PlannedMove
from rescheduler.model.snapshot import Snapshot
from rescheduler.planning.search.effort import Effort
from rescheduler.planning.search.evaluator import Evaluator
from rescheduler.planning.search.search import SearchResult, search
from rescheduler.planning.search.second_search import search_again
from rescheduler.planning.search.strategy import Proposal

_EVALUATIONS = 2
"""For each of the last plan's moves, so that something is left beyond them: more than half, if need
be."""


def searched(evaluator: Evaluator, effort: Effort, last: Proposal | None = None) -> SearchResult:
    """What a search finds that begins with these moves, or one from nothing if that is better.

    last: None to begin from nothing at once; as it is where none of them passes. The working copy
    has the moves of the result.
    """
    if last is None or effort.expired():
        return search(evaluator, effort=effort)
    again = {pod for pods in last.planned for pod in pods}
    steps = min(effort.steps, max(effort.steps // 2, _EVALUATIONS * len(again)))
    half = Effort(steps, effort.half_spent)
    found = search(evaluator, effort=effort, proposal=last, followed=half)
    resumed = sum(move.gain for move in found.moves if move.pod in again)
    if found.summary is None or not resumed:
        return found
    found.summary = structs.replace(found.summary, resumed=resumed)
    return search_again(evaluator, found, effort) or found


def last_moves(plan: Plan | None, snapshot: Snapshot, mode: Mode) -> Proposal | None:
    """Of the last plan the moves of this mode whose pods are still there.

    None where they are less than half, as the others were made: half of the effort is too much for
    them; or where a search finds them without. Gangs that are moved as a whole and rooms for them
    are found anew: they are few, and never cut short by half.
    """
    if plan is None or not _worth_keeping(plan):
        return None
    moves = [m for m in plan.moves if m.mode == mode and not m.group and not m.room]
    index = snapshot.pod_index
    pods = {move.pod.uid: index[move.pod.uid] for move in moves if move.pod.uid in index}
    if not pods or 2 * len(pods) < len(moves):
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
    number = {each.metadata.name: index for index, each in enumerate(snapshot.nodes)}
    found: dict[int, int] = {}
    for move in moves:
        names = move.steered.nodes if move.steered else [share.node for share in move.landing]
        if move.pod.uid in pods and names and names[0] in number:
            found[pods[move.pod.uid]] = number[names[0]]
    return found
