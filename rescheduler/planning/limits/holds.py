"""Holds: who is left alone since replacements went wrong, whom it is for, and how it ends.

What goes wrong with a workload holds that workload and its namespace. Everybody is held only where
several tenants show it, by causes that are not their own doing.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import SLOW_FOR, History
from rescheduler.model.problem import Problem
from rescheduler.model.wording import instant
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.limits.landing_trust import Distrust, distrust
from rescheduler.planning.limits.missing_replacements import (
    Missing,
    missing_replacements,
    tenants_that_move,
)
from rescheduler.planning.limits.owner_causes import Causes
from rescheduler.planning.limits.tenants import Tenants
from rescheduler.policies.limits import Limits
from rescheduler.scheduler.model import SchedulerModel

SEVERAL = 3
"""Tenants that show the same before everybody is held; fewer where fewer can move."""
_LAST, _THIRD = 20, 7
"""Or so many of the last moves, of more than one tenant."""


@dataclass(frozen=True, slots=True)
class Holds:
    """Who is held, as one snapshot and the history show it.

    everybody: why all moves are held; empty where only some are. namespaces: by name, why the pods
    in it are left alone. distrust: the kinds of controllers whose landings are not as predicted.
    """

    everybody: tuple[Problem, ...]
    namespaces: dict[str, Problem]
    distrust: Distrust

    @property
    def some(self) -> bool:
        """Whether anybody is held alone."""
        return bool(self.namespaces or self.distrust.kinds or self.distrust.within)

    def refusal(self, namespace: str, kind: str) -> Problem | None:
        """ELG038-ELG040: why pods of this namespace and kind of controller stay, or None."""
        return self.namespaces.get(namespace) or self.distrust.refusal(kind, namespace)


def holds_of(
    snapshot: Snapshot,
    eligibility: Eligibility,
    limits: Limits,
    history: History,
    scheduler: SchedulerModel,
) -> Holds:
    """The holds that follow from this history, as this snapshot shows it."""
    distrusted = distrust(history, limits, snapshot.cluster.version, snapshot.taken)
    missing = missing_replacements(
        snapshot, eligibility, limits, history, Causes(snapshot, scheduler)
    )
    evidence = [missing_workload for missing_workload in missing if not missing_workload.own]
    if _of_several(evidence, snapshot, limits, history):
        problems = tuple(
            Problem("GRD003", _sentence(missing_workload, "nothing moves"))
            for missing_workload in evidence
        )
        return Holds(problems, {}, distrusted)
    namespaces = {
        name: Problem("ELG040", _slow(name, at + SLOW_FOR))
        for name, at in history.slow.items()
        if at + SLOW_FOR > snapshot.taken
    }
    for missing_workload in missing:
        name = missing_workload.move.namespace
        text = _sentence(missing_workload, f"nothing moves in namespace {name}")
        if name not in namespaces or namespaces[name].code != "ELG038":
            namespaces[name] = Problem("ELG038", text)
    for name, one in _of_tenants(evidence, snapshot, limits).items():
        if name not in namespaces or namespaces[name].code != "ELG038":
            tenant = Tenants(snapshot, limits).tenant_of(name)
            text = _sentence(
                one, f"nothing of {tenant} moves, as several of its namespaces show it"
            )
            namespaces[name] = Problem("ELG038", text)
    return Holds((), namespaces, distrusted)


def _of_tenants(missing: list[Missing], snapshot: Snapshot, limits: Limits) -> dict[str, Missing]:
    """All namespaces of tenants with several that show it, and what one of these lacks.

    Else what fails for all pods would cost such a tenant a pod in one namespace after the other.
    """
    tenants, shown = Tenants(snapshot, limits), defaultdict[str, dict[str, Missing]](dict)
    for missing_workload in missing:
        shown[tenants.tenant_of(missing_workload.move.namespace)].setdefault(
            missing_workload.move.namespace, missing_workload
        )
    held = {
        tenant: next(iter(by_namespace.values()))
        for tenant, by_namespace in shown.items()
        if len(by_namespace) >= SEVERAL
    }
    names = (space.metadata.name for space in snapshot.namespaces) if held else ()
    return {
        name: held[tenants.tenant_of(name)] for name in names if tenants.tenant_of(name) in held
    }


def _of_several(
    missing: list[Missing], snapshot: Snapshot, limits: Limits, history: History
) -> bool:
    """Whether so many show it that it is no tenant's own doing."""
    tenants = Tenants(snapshot, limits)
    affected = {tenants.tenant_of(missing_workload.move.namespace) for missing_workload in missing}
    if not affected:
        return False
    can_move = max(tenants_that_move(snapshot, limits, SEVERAL), 1)
    if len(affected) >= min(SEVERAL, can_move):
        return True
    late = {move.podUid for missing_workload in missing for move in missing_workload.moves}
    last = [move for move in history.moves if move.charged and not move.frees][-_LAST:]
    return len(affected) > 1 and sum(move.podUid in late for move in last) >= _THIRD


def _slow(namespace: str, until: datetime) -> str:
    return (
        f"what pods of namespace {namespace} depend on took too long to read; nothing moves in it "
        f"until {instant(until)}"
    )


def _sentence(missing: Missing, held: str) -> str:
    """What is missing, who is held for it, and how that ends."""
    latest = "" if missing.until is None else f", at the latest until {instant(missing.until)}"
    name = missing.move.namespace
    pending = next((move for move in missing.moves if move.replacement_pending), None)
    if pending is not None:
        name = f"{name}/{pending.pod}"
    forgive = f"or `rescheduler reset hold {name}` forgives it"
    return f"{missing.sentence}; {held} until {missing.cause}{latest}, {forgive}"
