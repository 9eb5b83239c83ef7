"""Whether a planned move is still right on a fresh snapshot, checked just before it is made."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from msgspec import structs

from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.model.wording import count_text
from rescheduler.planning.evaluation.evaluation import Evaluation, GainThreshold, JointEvaluation
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.gates.drift import drift
from rescheduler.planning.plan.decision import guards_on
from rescheduler.planning.references import landing_shares, steered_ref, stop_ref
from rescheduler.policies.terms import NO_ROOM

LEAST_OVERLAP = 0.5
"""The probability with which the replacement must land where the plan predicted."""


class Recheck:
    """Evaluates the moves of one batch again, one after the other, on one fresh snapshot."""

    def __init__(self, copy: WorkingCopy, moves: Iterable[PlannedMove] = ()) -> None:
        """copy: of a snapshot read just now, with the plan's policies, limits and seed.

        Its history holds the moves that were made since, and its `plan` is the plan's id.
        moves: of the plan, among which the others of a move's group are found, and those that it
        makes room for: it is judged together with these, and each of them once more when its turn
        comes. So is a move that makes room for a gang with those after it that do.
        """
        self._copy = copy
        self._groups: dict[str, list[PlannedMove]] = {}
        self._behind: dict[str, list[PlannedMove]] = {}
        self._rooms: dict[str, list[PlannedMove]] = {}
        for move in moves:
            if move.room:
                self._rooms.setdefault(move.room, []).append(move)
            if move.group:
                self._groups.setdefault(move.group, []).append(move)
            for uid in move.after:
                self._behind.setdefault(uid, []).append(move)
        self._moved = {past.podUid for past in copy.history.moves if past.state == "ready"}
        self._answers: dict[str, dict[str, PlannedMove] | Problem] = {}
        self._evaluator = Evaluator(copy)
        self._evaluated: dict[str, Evaluation] = {}

    def guards(self) -> list[Problem]:
        """Every guard that holds on this snapshot; to be read before any move is checked."""
        return guards_on(self._copy)

    def refuse_held(self, move: PlannedMove) -> Problem | None:
        """Why this move is held on this snapshot as earlier ones went wrong, or None."""
        return self._copy.holds.refusal(move.pod.namespace, move.owner.controllerKind)

    def check(self, move: PlannedMove, made: Iterable[PastMove] = ()) -> PlannedMove | Problem:
        """The move with the landing and gains predicted now; or why it must not be made.

        made: the moves of this batch that were made already. Each stands where its replacement has
        landed, or where it will most likely land as long as that cannot be seen.
        """
        for past in made:
            self._follow(past)
        if move.group:
            return self._in_group(move)
        missing = [uid for uid in move.after if uid not in self._moved]
        if missing:
            return Problem(
                code="DRF008",
                message=f"{count_text(len(missing), 'move')} that makes room for it was not made",
            )
        result = self._check([move, *self._behind.get(move.pod.uid, ()), *self._room_left(move)])
        return result if isinstance(result, Problem) else result[0]

    def _room_left(self, move: PlannedMove) -> list[PlannedMove]:
        """The moves after this one that make room for the same gang."""
        uids = [room.pod.uid for room in self._rooms.get(move.room, [])]
        after = uids.index(move.pod.uid) + 1 if move.pod.uid in uids else len(uids)
        return self._rooms[move.room][after:] if uids else []

    def _in_group(self, move: PlannedMove) -> PlannedMove | Problem:
        """The move where its whole group may be moved as one; the group is evaluated once."""
        if move.group not in self._answers:
            moves = self._groups.get(move.group, [move])
            result = self._check(moves)
            self._answers[move.group] = (
                result
                if isinstance(result, Problem)
                else {planned_move.pod.uid: planned_move for planned_move in result}
            )
        answer = self._answers[move.group]
        return answer if isinstance(answer, Problem) else answer[move.pod.uid]

    def _check(self, moves: list[PlannedMove]) -> list[PlannedMove] | Problem:
        """These moves, all of them or none, one after the other."""
        copy = self._copy
        pods: list[int] = []
        for move in moves:
            pod = copy.snapshot.pod_index.get(move.pod.uid)
            changed = _drift(move, copy, pod)
            if changed is not None or pod is None:
                return changed or problem("ACT002")
            pods.append(pod)
            self._evaluator.chooser.planned[pod] = self._planned_nodes(move)
        if moves[0].room and len(pods) > 1:
            self._evaluator.rooms[tuple(pods)] = moves[0].room
        evaluated = self._evaluator.evaluate(tuple(pods), self._gate)
        refusal = evaluated.refusal
        if refusal is not None:
            if refusal.code.startswith(("FEA", "MRG", "ELG018", NO_ROOM)):
                return Problem(code="DRF004", message=f"{refusal.code}: {refusal.message}")
            return refusal
        fresh = [
            self._as_now(move, evaluation)
            for move, evaluation in zip(moves, evaluated.moves, strict=True)
        ]
        changed = next((move for move in fresh if isinstance(move, Problem)), None)
        if changed is not None:
            return changed
        for evaluation in evaluated.moves:
            self._evaluated[copy.snapshot.pods[evaluation.pod].metadata.uid] = evaluation
        return [move for move in fresh if isinstance(move, PlannedMove)]

    def _planned_nodes(self, move: PlannedMove) -> list[int] | None:
        """The nodes that were chosen for it, as far as they are still there; None: it is unsteered.

        Where too few of them are acceptable now, others are chosen: of a steered landing only the
        nodes are our own choice, and the gain there is computed again.
        """
        index = self._copy.snapshot.node_index
        if move.steered is None:
            return None
        return [index[name] for name in move.steered.nodes if name in index]

    def _as_now(self, move: PlannedMove, evaluation: Evaluation) -> PlannedMove | Problem:
        """The move with the landing that is predicted now, or why that is another one."""
        copy, landing = self._copy, evaluation.landing
        if landing is None:
            raise AssertionError("a pod that is not refused has a landing")
        shares = landing_shares(copy.snapshot, landing)
        planned = {share.node for share in move.landing}
        overlap = sum(share.probability for share in shares if share.node in planned)
        if overlap < LEAST_OVERLAP and evaluation.choice is None:
            return Problem(
                code="DRF004",
                message=f"its landing has changed: {overlap:.0%} of it is where the plan predicted",
            )
        return structs.replace(
            move,
            landing=shares,
            steered=steered_ref(copy.snapshot, evaluation.choice),
            unsteered=landing_shares(copy.snapshot, evaluation.choice.unsteered)
            if evaluation.choice
            else [],
            returns=landing.returns,
            unschedulable=landing.unschedulable,
            gain=evaluation.gain,
            gains=evaluation.gains,
        )

    @cached_property
    def _gate(self) -> GainThreshold:
        """As of before the batch: its moves do not change the checks of those after them."""
        return self._evaluator.bounds().gate

    def _follow(self, past: PastMove) -> None:
        evaluation = self._evaluated.pop(past.podUid, None)
        if evaluation is None:
            return
        index = self._copy.snapshot.node_index
        landed = index.get(past.landedOn, evaluation.destination)
        landed_there = replace(evaluation, destination=landed)
        self._copy.commit(JointEvaluation((evaluation.pod,), (landed_there,)))


def _drift(move: PlannedMove, copy: WorkingCopy, pod: int | None) -> Problem | None:
    """What has changed about the pod or its nodes since the plan, or None."""
    if pod is None:
        return problem("ACT002")
    pod_object = copy.snapshot.pods[pod]
    if changed := drift(move, pod_object):
        return changed
    owner = pod_object.controller
    if owner is None or owner.uid != move.owner.controllerUid:
        return problem("DRF006", "It has another controller than when it was planned.")
    if move.group and stop_ref(copy.snapshot, pod) != move.stops:
        return problem("DRF006", "Another Workload of Kueue runs its gang now, or none.")
    if said := _changed_nodes(move, copy):
        return Problem(code="DRF003", message=said)
    return None


def _changed_nodes(move: PlannedMove, copy: WorkingCopy) -> str:
    """What became of the pod's node or of the one where it was expected; "" if nothing did.

    Where a replacement is steered is chosen again if it must be.
    """
    expected = [share.node for share in move.landing if share.probability > LEAST_OVERLAP]
    expected = [] if move.steered is not None else expected
    for name in [move.source, *expected]:
        index = copy.snapshot.node_index.get(name)
        if index is None:
            return f"node {name} is gone"
        check = (
            copy.eligibility.places.node
            if name == move.source
            else copy.eligibility.places.destination
        )
        refusal = check(index)
        if refusal is not None:
            return refusal.message
    return ""
