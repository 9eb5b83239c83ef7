"""Steering while acting: what is entered into the table of replacements, and when it is taken out.

An entry is made once the intent is stored in the ledger, and before the eviction is sent; from the
ledger whoever comes after a crash knows that something may be left in the table. It is taken out
as soon as the replacement was steered: when it is seen, or where the means work while it is placed,
when it is; at its deadline, where nothing was evicted, and when the run ends. Where a replacement
lands is held against what was predicted only if it was steered.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from rescheduler.acting.actor import Actor
from rescheduler.kube.node_selection import node_affinity
from rescheduler.kube.objects import Pod
from rescheduler.kube.pod_state import grace
from rescheduler.kube.steered import HOSTNAME, PREFERRED, REQUIRED, template_hash
from rescheduler.model.errors import ActionError, LockLost
from rescheduler.model.history import History, PastMove, PastSteering
from rescheduler.model.plan import PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.steering import MOST_NODES, Entry, Means
from rescheduler.steering.confirming import confirmed, missed_before
from rescheduler.steering.tainting import shunned, steers, taint, untaint

TABLED: frozenset[Means] = frozenset({"AdmissionPolicy", "Webhook", "Extender"})
"""What reads the table of replacements."""
_AS_PLACED: frozenset[Means] = frozenset({"Extender", "SoftTaint"})
"""What works while a replacement is placed; the others do when it is made."""
PENDING = timedelta(minutes=1)
"""So long after the pod's grace period its replacement is waited for and, once it is seen, may stay
Pending where it is required to go to the chosen nodes."""


def steering_of(
    move: PlannedMove, fresh: Snapshot, snapshot: Snapshot | None, actor: Actor
) -> PastSteering | None:
    """How the replacement of this move is to be steered, for its intent; None: not at all.

    fresh: the pod as it was read just now. snapshot: has the nodes and their labels.
    """
    if move.steered is None:
        return None
    pod = next(each for each in fresh.pods if each.metadata.uid == move.pod.uid)
    labels = {
        node.metadata.name: (node.metadata.labels or {}).get(HOSTNAME, "")
        for node in (snapshot.nodes if snapshot is not None else ())
        if node.metadata.name in move.steered.nodes
    }
    named = pod.controller is not None and pod.controller.kind == "StatefulSet"
    taints = move.steered.by == "SoftTaint"
    return PastSteering(
        by=move.steered.by,
        strength=move.steered.strength,
        hostnames=[] if taints else [labels.get(node, "") for node in move.steered.nodes],
        shunned=move.steered.shunned if taints else [],
        template=template_hash(pod.metadata.labels),
        name=pod.metadata.name if named else "",
        until=actor.clock() + grace(pod) + PENDING,
    )


def enter(actor: Actor, history: History, moves: Sequence[PastMove]) -> Problem | None:
    """Enter these moves, whose intents are stored, into the table: all of them, or say why not.

    Nothing may be evicted where it says why.

    Raises:
        LockLost: somebody with a later fence wrote it.
    """
    wanted = [(move, move.steered) for move in moves if move.steered is not None]
    if not wanted:
        return None
    other = {steered.by for _, steered in wanted} - TABLED - {"SoftTaint"}
    if other:
        return Problem(code="STR001", message=f"nothing here steers by {', '.join(sorted(other))}")
    try:
        for _, steered in wanted:
            steered.open = True
        tainting = [move for move, steered in wanted if steered.by == "SoftTaint"]
        tabled = [(move, steered) for move, steered in wanted if steered.by in TABLED]
        problem = taint(actor, history, tainting) if tainting else None
        return problem or (_enter(actor, history, tabled) if tabled else None)
    except LockLost:
        raise
    except ActionError as error:
        code = "STR014" if any(map(steers, moves)) else "STR004"
        return Problem(code=code, message=error.sentence)


def _enter(
    actor: Actor, history: History, wanted: Sequence[tuple[PastMove, PastSteering]]
) -> Problem | None:
    """As `enter`, into the table; raises ActionError too."""
    if actor.steering is None:
        return Problem(code="STR001", message="nothing here writes the table of replacements")
    _join([steered for _, steered in wanted], [move.controller for move, _ in wanted])
    moves = [move for move, _ in wanted]
    problem = missed_before(history, moves) or _unfit(history, moves)
    if problem is not None:
        return problem
    problem = actor.steering.add([_entry(move, each) for move, each in wanted], actor.ledger.fence)
    for means in sorted({each.by for _, each in wanted}):
        problem = problem or confirmed(actor, means)
    return problem


def _join(steered: Sequence[PastSteering], controllers: Sequence[str]) -> None:
    """Give those of one controller that are entered together the same nodes: pods are fungible."""
    groups: dict[tuple[str, ...], list[PastSteering]] = {}
    for each, controller in zip(steered, controllers, strict=True):
        groups.setdefault((controller, each.template, each.name, each.strength), []).append(each)
    for same in groups.values():
        names = list(dict.fromkeys(name for each in same for name in each.hostnames))
        for each in same:
            each.hostnames = names


def _unfit(history: History, moves: Sequence[PastMove]) -> Problem | None:
    """Why these must not be entered, beside what the table itself says."""
    own = {move.podUid: move.steered.hostnames for move in moves if move.steered is not None}
    sets = {move.controller: move.steered.hostnames for move in moves if move.steered is not None}
    for move in history.moves:
        if move.steered is None or not move.steered.open or move.podUid in own:
            continue
        if sets.get(move.controller, move.steered.hostnames) != move.steered.hostnames:
            said = f"the replacement of {move.namespace}/{move.pod}, of the same controller"
            return Problem(
                code="STR004", message=f"{said}, shall go elsewhere and is not there yet"
            )
    for move in moves:
        if move.steered is None:
            continue
        names = move.steered.hostnames
        if not all(names):
            said = f"a node for {move.namespace}/{move.pod} has no label {HOSTNAME} any more"
            return Problem(code="STR004", message=said)
        if len(names) > MOST_NODES or (move.steered.strength == "Require" and len(names) < 2):
            said = f"{len(names)} nodes are named for {move.namespace}/{move.pod}"
            return Problem(
                code="STR003",
                message=f"{said}: Require takes 2 to {MOST_NODES}, Prefer 1 to {MOST_NODES}",
            )
    return None


def _entry(move: PastMove, steered: PastSteering) -> Entry:
    return Entry(
        owner=move.controller,
        namespace=move.namespace,
        template=steered.template,
        name=steered.name,
        hostnames=tuple(steered.hostnames),
        strength=steered.strength,
        deadline=steered.until,
        plan=move.plan,
        pod=move.podUid,
    )


def close(actor: Actor, moves: Iterable[PastMove], *, every: bool = False) -> bool:
    """Take out what is not needed any more; answers whether there was anything.

    An entry is needed until its replacement was steered, nothing was evicted after all, or its
    deadline has come. Which pod took which entry only an extender knows, so those of a controller
    are needed until the last one of these `moves` was steered. every: whether the run ends, so that
    none is needed.

    What cannot be taken out stays marked as open; where the run ends that is an error.

    Raises:
        LockLost: somebody with a later fence wrote the table.
        ActionError: the run ends, and they could not be taken out.
    """
    left = [(m, m.steered) for m in moves if m.steered is not None and m.steered.open]
    waiting = {
        move.controller
        for move, steered in left
        if steered.by == "Extender" and not (_done(move, steered) or _over(actor, move, steered))
    }
    due = [
        (move, steered)
        for move, steered in left
        if every
        or _over(actor, move, steered)
        or (_done(move, steered) and not (steered.by == "Extender" and move.controller in waiting))
    ]
    if not due:
        return False
    try:
        untaint(actor, [move for move, _ in due])
        tabled = {move.podUid for move, steered in due if steered.by in TABLED}
        if tabled and actor.steering is not None:
            actor.steering.remove(tabled, actor.ledger.fence)
    except LockLost:
        raise
    except ActionError as error:
        if every:
            raise
        actor.warn("an entry could not be taken out yet", message=error.message)
        return False
    for move, steered in due:
        _closed(move, steered)
    return True


def _over(actor: Actor, move: PastMove, steered: PastSteering) -> bool:
    """Whether its replacement is not steered any more, or needs none."""
    return actor.clock() >= steered.until or not move.in_flight


def _done(move: PastMove, steered: PastSteering) -> bool:
    """Whether its replacement was steered."""
    return bool(move.landedOn if steered.by in _AS_PLACED else move.replacement)


def _closed(move: PastMove, steered: PastSteering) -> None:
    steered.open = False
    if move.state != "refused":
        steered.hostnames, steered.shunned = [], []  # one that was refused may be tried once more
    if not _done(move, steered):
        # What comes now is not steered, so that what was predicted says nothing of it.
        move.compared = True


def sweep(actor: Actor, history: History) -> bool:
    """Take out what a process that ended has left, in the table and on nodes; whether it did.

    Raises:
        ActionError: it has left something, and that cannot be taken out.
    """
    for node in shunned(history.moves):
        actor.warn("sweeping a node that was tainted for a replacement", node=node)
    untaint(actor, history.moves, begins=True)
    left = [(m, m.steered) for m in history.moves if m.steered is not None and m.steered.open]
    _sweep_table(actor, needed=any(steered.by in TABLED for _, steered in left))
    for move, steered in left:
        _closed(move, steered)
    return bool(left)


def _sweep_table(actor: Actor, *, needed: bool) -> None:
    if actor.steering is None:
        return
    try:
        found = actor.steering.sweep(actor.ledger.fence, surely=needed)
    except ActionError:
        if needed:
            raise
        # Nothing of ours is in there; that it cannot be written is said before the cycle plans.
        return
    for each in found:
        actor.warn("swept an entry that steered replacements", entry=each)


def arrived(actor: Actor, move: PastMove, found: Pod) -> None:
    """Look at a replacement that is seen for the first time: whether it was steered at all."""
    steered = move.steered
    if steered is None or steered.freed or steered.by == "SoftTaint":
        return
    if steered.by == "Extender":
        # It heeds the deadline in the table, which is not put off.
        steered.until = min(steered.until, actor.clock() + PENDING)
        return
    steered.until = actor.clock() + PENDING
    if not steered.open:
        return
    # What else reads the table shows in the affinity.
    affinity = node_affinity(found.spec)
    required = getattr(affinity, REQUIRED)
    terms = list((required.nodeSelectorTerms if required is not None else None) or ())
    terms += [each.preference for each in getattr(affinity, PREFERRED) or ()]
    named = [
        set(each.values or ())
        for term in terms
        for each in term.matchExpressions or ()
        if each.key == HOSTNAME and each.operator == "In"
    ]
    if not any(set(steered.hostnames) <= values for values in named):
        move.compared = True
        # The table asks for nothing of a pod of another template.
        steered.missed = template_hash(found.metadata.labels) == steered.template
