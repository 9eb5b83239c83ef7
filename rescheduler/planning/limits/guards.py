"""Guards: what holds a whole cycle, however good its moves are."""

from collections.abc import Iterator
from datetime import timedelta

from rescheduler.model.history import History, PastMove
from rescheduler.model.problem import Problem
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.wording import agreed, counted, instant
from rescheduler.planning.binding import Binding
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.schedulers import Schedulers

MOST_CLOCK_SKEW = timedelta(seconds=30)
"""Cool-downs and ages are compared with the API server's clock; evictions expire after 2 min."""
_FEW_NODES = 3


def holding(
    snapshot: Snapshot,
    bindings: tuple[Binding, ...],
    eligibility: Eligibility,
    limits: Limits,
    history: History,
    schedulers: Schedulers,
) -> list[Problem]:
    """Every guard that holds this cycle, in the order of their codes; empty lets it go on."""
    return [
        *_hot(bindings, limits),
        *_not_ready(snapshot, limits),
        *_unreplaced(snapshot, eligibility, limits, history),
        *_skewed(snapshot),
        *schedulers.guards,
    ]


def _hot(bindings: tuple[Binding, ...], limits: Limits) -> Iterator[Problem]:
    """GRD001. A single hot node is never too many: small clusters need their first move too."""
    for binding in bindings:
        if binding.loaded is None or binding.term is None:
            continue
        hot, scope = len(binding.loaded.hot_nodes()), binding.term.scope()
        if hot > max(1.0, limits.maxHotShare * scope):
            yield Problem(
                code="GRD001",
                message=f"{binding.policy.name}: {hot} of {counted(scope, 'node')} "
                f"{agreed(hot, 'is', 'are')} hot, {hot / max(scope, 1):.0%}; "
                f"at most {limits.maxHotShare:.0%} may be (maxHotShare)",
            )


def _not_ready(snapshot: Snapshot, limits: Limits) -> Iterator[Problem]:
    """GRD002."""
    bad = [node.metadata.name for node in snapshot.nodes if not node.ready]
    total = len(snapshot.nodes)
    if len(bad) > max(_FEW_NODES, limits.maxNotReadyShare * total):
        shown = ", ".join(sorted(bad)[:5]) + (", ..." if len(bad) > 5 else "")
        yield Problem(
            code="GRD002",
            message=f"{len(bad)} of {counted(total, 'node')} are not Ready ({shown}); at most "
            f"{limits.maxNotReadyShare:.0%} and {_FEW_NODES} may be (maxNotReadyShare)",
        )


def _unreplaced(
    snapshot: Snapshot, eligibility: Eligibility, limits: Limits, history: History
) -> Iterator[Problem]:
    """GRD003: one code for every workload that still lacks what we took from it."""
    late: dict[str, PastMove] = {}
    for move in history.moves:
        due = move.at + limits.readyTimeout
        if move.no_worse:
            continue
        if move.state == "lost" or (move.in_flight and due < snapshot.taken):
            late.setdefault(move.workload, move)
    if not late:
        return
    survivors = {move.podUid for move in late.values()} & snapshot.pod_index.keys()
    for index, workload in enumerate(snapshot.workloads):
        found = late.get(workload.uid)
        if found is None or workload.replicas is None:
            continue
        if found.state == "intended" and found.podUid in survivors:
            continue
        ready = eligibility.ready(index)
        if ready < workload.replicas:
            yield Problem(
                code="GRD003",
                message=f"pod {found.namespace}/{found.pod} was evicted at {instant(found.at)}, "
                f"and {workload.kind} {workload.name} has {ready} Ready of {workload.replicas}",
            )


def _skewed(snapshot: Snapshot) -> Iterator[Problem]:
    """GRD007."""
    skew = snapshot.clock_skew
    if skew is not None and abs(skew) > MOST_CLOCK_SKEW.total_seconds():
        yield Problem(
            code="GRD007",
            message=f"this host's clock and the API server's differ by {skew:.0f} s; at most "
            f"{MOST_CLOCK_SKEW.total_seconds():.0f} s may be",
        )
