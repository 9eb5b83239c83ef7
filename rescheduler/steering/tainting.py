"""Steering by soft taints while acting: which nodes bear one, and when it is taken off.

A node is tainted once the intent that names it is stored, and before the eviction is sent, so that
whoever comes after a crash knows where to look. The taint goes as soon as the replacement is
placed, at its deadline, where nothing was evicted, and when the run ends. Only one replacement at a
time is steered so: where it lands was predicted with its own taints and no others.
"""

from collections.abc import Iterable, Sequence

from rescheduler.acting.actor import Actor
from rescheduler.kube.tolerations import SOFT_TAINT
from rescheduler.model.errors import ActionError
from rescheduler.model.history import History, PastMove
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.soft_taints import tainted_by_us

KNOWN_AFTER = 0.3
"""Seconds for kube-scheduler to hear of the taints before it hears of the replacement."""


def steers(move: PastMove) -> bool:
    """Whether nodes may bear a taint for it now."""
    return move.steered is not None and move.steered.by == "SoftTaint" and move.steered.open


def taint(actor: Actor, history: History, moves: Sequence[PastMove]) -> Problem | None:
    """Taint the nodes of these moves, whose intents are stored: all of them, or say why not.

    Nothing may be evicted where it says why.

    Raises:
        LockLost: somebody with a later fence tainted one of them.
        ActionError: one could not be tainted, or it is not known whether it was.
    """
    if actor.taints is None:
        return Problem(code="STR001", message="nothing here taints nodes")
    nodes = shunned(moves)
    if not nodes:
        return Problem(code="STR014", message="no node is named to taint")
    most = actor.limits.taintedNodes
    tainted = shunned(history.moves)
    if len(tainted) > most:
        text = f"{len(tainted)} nodes would be tainted at a time, and taintedNodes is {most}"
        return Problem(code="STR014", message=text)
    until = max(move.steered.until for move in moves if move.steered is not None)
    for node in nodes:
        if not actor.lease.valid_for(actor.pace.call):
            return Problem(code="STR014", message="the lock is not sure to outlast it")
        problem = actor.taints.add(node, actor.ledger.fence, until)
        if problem is not None:
            return problem
    actor.sleep(KNOWN_AFTER)
    return None


def untaint(actor: Actor, moves: Iterable[PastMove], *, begins: bool = False) -> None:
    """Take the taints of these moves off. begins: whether the lock was just won.

    Raises:
        LockLost, ActionError: as `taint`; taints may be left.
    """
    for node in shunned(moves):
        if actor.taints is None:
            raise ActionError("nothing here takes taints off nodes", "run it on a cluster.")
        actor.taints.remove(node, actor.ledger.fence, begins=begins)


def shunned(moves: Iterable[PastMove]) -> list[str]:
    """The nodes that may bear a taint for these moves."""
    named = [each for m in moves if m.steered and steers(m) for each in m.steered.shunned]
    return list(dict.fromkeys(named))


def sweep_strays(actor: Actor, snapshot: Snapshot) -> list[Problem]:
    """Take our taints off nodes of which no move knows: a state was lost. What must be said of it.

    To be called where no move is open. One that stays is tried again in each cycle, and no reason
    not to act: it is a wish among the scheduler's scores only, which `snapshot` shows as it is.
    """
    stay: list[Problem] = []
    for node in tainted_by_us(snapshot.nodes):
        # Whoever took the lock while we read the cluster has taints of its own there.
        if actor.taints is None or not actor.lease.valid_for(actor.pace.call):
            break
        try:
            actor.taints.remove(node, actor.ledger.fence, begins=True)
        except ActionError as error:
            actor.warn("a taint of ours could not be taken off", node=node, message=error.message)
            said = f"node {node} bears a taint of ours that could not be taken off: {error.message}"
            advice = f"`kubectl taint node {node} {SOFT_TAINT.key}:{SOFT_TAINT.effect}-` does it"
            stay.append(Problem(code="STR014", message=f"{said}; {advice}."))
        else:
            actor.warn("swept a taint of ours", node=node)
    return stay
