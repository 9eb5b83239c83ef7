"""Guards: what holds a whole cycle, however good its moves are."""

from collections.abc import Iterator
from datetime import timedelta

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text, verb_for
from rescheduler.planning.binding import Binding
from rescheduler.planning.limits.holds import Holds
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.config.schedulers import Schedulers

MOST_CLOCK_SKEW = timedelta(seconds=30)
"""Cool-downs and ages are compared with the API server's clock; evictions expire after 2 min."""
_FEW_NODES = 3


def active_guards(
    snapshot: Snapshot,
    bindings: tuple[Binding, ...],
    limits: Limits,
    holds: Holds,
    schedulers: Schedulers,
) -> list[Problem]:
    """Every guard that holds this cycle, in the order of their codes; empty lets it go on."""
    return [
        *_hot(bindings, limits),
        *_not_ready(snapshot, limits),
        *holds.everybody,
        *_clock_skew(snapshot),
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
                message=f"{binding.policy.name}: {hot} of {count_text(scope, 'node')} "
                f"{verb_for(hot, 'is', 'are')} hot, {hot / max(scope, 1):.0%}; "
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
        yield Problem(
            code="GRD011", message=f"none of {count_text(total, 'node')} is Ready ({shown})"
        )
    elif len(bad) > max(_FEW_NODES, limits.maxNotReadyShare * total):
        yield Problem(
            code="GRD002",
            message=f"{len(bad)} of {count_text(total, 'node')} are not Ready ({shown}); at most "
            f"{limits.maxNotReadyShare:.0%} and {_FEW_NODES} may be (maxNotReadyShare)",
        )


def _clock_skew(snapshot: Snapshot) -> Iterator[Problem]:
    """GRD007."""
    skew = snapshot.clock_skew
    if skew is not None and abs(skew) > MOST_CLOCK_SKEW.total_seconds():
        yield Problem(
            code="GRD007",
            message=f"this host's clock and the API server's differ by {skew:.0f} s; at most "
            f"{MOST_CLOCK_SKEW.total_seconds():.0f} s may be",
        )
