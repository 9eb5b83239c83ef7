"""The intent of an eviction: what is stored before it is sent, and budgets are charged by."""

from rescheduler.acting.actor import Actor
from rescheduler.acting.move_results import chances
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.calibration import likeliest
from rescheduler.model.moves.history import IN_FLIGHT_NODES
from rescheduler.model.moves.past_move import PastMove, mark
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.planning.gates.replacement import pods_of_controller, selector_of_controller


def intent_of(
    move: PlannedMove,
    fresh: Snapshot,
    actor: Actor,
    *,
    plan: str,
    scheduler: str,
    seen: Snapshot,
    releases: PastMove | None = None,
) -> PastMove:
    """The intent to make this move now.

    fresh: what was read right before, with all pods of the controller. plan: its id. scheduler: the
    version of kube-scheduler. seen: the snapshot by which the move was checked.
    releases: the move whose Pending replacement is evicted; that one is followed, and not this.
    """
    followed = releases is None
    counted = actor.limits.groups_to_note(move, seen)
    return PastMove(
        plan=plan,
        podUid=move.pod.uid,
        namespace=move.pod.namespace,
        pod=move.pod.name,
        workload=move.owner.uid,
        controller=move.owner.controllerUid or move.owner.uid,
        controllerKind=move.owner.controllerKind or move.owner.kind,
        source=move.source,
        counted=counted if releases is None else releases.counted,
        at=actor.clock(),
        fence=actor.ledger.fence,
        batch=move.batch if followed else 0,  # a release is in no batch of any plan
        policies=sorted(name for name, gain in move.gains.items() if gain > 0),
        gains={name: float(f"{gain:.4g}") for name, gain in move.gains.items() if gain > 0},
        landing=likeliest(chances(move.landing), IN_FLIGHT_NODES),
        unschedulable=move.unschedulable,
        scheduler=scheduler,
        usage=dict(move.usage),
        hot={name: list(hot_devices) for name, hot_devices in move.hot.items()} if followed else {},
        crashLooping=move.crashLooping,
        selector=selector_of_controller(move, fresh) if followed else "",
        steered=actor.steering.intend(move, fresh, seen),
        stops="" if move.stops is None else move.stops.name,
        stopsUid="" if move.stops is None else move.stops.uid,
        earlierPods=sorted(mark(pod.metadata.uid) for pod in pods_of_controller(move, fresh.pods))
        if followed
        else [],
        frees="" if releases is None else releases.podUid,
    )
