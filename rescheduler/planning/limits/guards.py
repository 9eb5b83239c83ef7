"""Guards: what holds a whole cycle, however good its moves are."""

from collections import Counter
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
    """GRD002, or GRD011 where no node at all can take a pod, however few they are."""
    bad = [node.metadata.name for node in snapshot.nodes if not node.ready]
    total = len(snapshot.nodes)
    shown = ", ".join(sorted(bad)[:5]) + (", ..." if len(bad) > 5 else "")
    if not total:
        yield Problem(code="GRD011", message="the API server lists no node")
    elif len(bad) == total:
        yield Problem(code="GRD011", message=f"none of {counted(total, 'node')} is Ready ({shown})")
    elif len(bad) > max(_FEW_NODES, limits.maxNotReadyShare * total):
        yield Problem(
            code="GRD002",
            message=f"{len(bad)} of {counted(total, 'node')} are not Ready ({shown}); at most "
            f"{limits.maxNotReadyShare:.0%} and {_FEW_NODES} may be (maxNotReadyShare)",
        )


def _unreplaced(
    snapshot: Snapshot, eligibility: Eligibility, limits: Limits, history: History
) -> Iterator[Problem]:
    """GRD003: one code for every workload that still lacks what we took from it.

    What its owner wants counts, whether there is a pod of it or none; of a Job that Kueue has
    suspended for our sake what it wants once it has its quota again.
    """
    late: dict[str, PastMove] = {}
    stopped: set[str] = set()
    for move in history.recent(snapshot.taken):
        overdue = move.in_flight and move.at + limits.readyTimeout < snapshot.taken
        stayed = move.state == "intended" and move.podUid in snapshot.pod_index
        if (move.state == "lost" or overdue) and not (move.no_worse or stayed):
            late.setdefault(move.workload, move)
            stopped |= {move.workload} if move.stops else set()
    if not late:
        return
    ready: Counter[str] = Counter()
    for index, workload in enumerate(snapshot.workloads):
        if workload.uid in late:
            ready[workload.uid] += eligibility.ready(index)
    for owner in snapshot.controllers:
        uid = owner.metadata.uid
        wanted = owner.resumed if uid in stopped else owner.wanted
        if uid in late and ready[uid] < wanted:
            yield Problem(
                code="GRD003",
                message=f"pod {late[uid].namespace}/{late[uid].pod} was evicted at "
                f"{instant(late[uid].at)}, and {owner.kind} {owner.metadata.name} has "
                f"{ready[uid]} Ready of {wanted}",
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
