"""Reads of a cluster what its status is concluded from; needs rights to read and no others."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.lease import NOTE
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.ledger_format import paused_in
from rescheduler.actions.stored_object import StoredObject
from rescheduler.kube.nesting import decode_json
from rescheduler.model.errors import (
    ActionError,
    ClusterUnavailable,
    LedgerUnreadable,
    PolicyError,
)
from rescheduler.model.kept_cycles import KeptCycles
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import plan_in
from rescheduler.model.problem import Problem
from rescheduler.model.run_status import LockView
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.reporting.status.status_facts import CronFacts, StatusFacts
from rescheduler.runtime.live_actor import LEASE, NAMESPACE, STATE
from rescheduler.runtime.parts import policies_in
from rescheduler.runtime.report_keeping import report_store
from rescheduler.runtime.steering_seen import choose_seen_steering, not_set_up
from rescheduler.sources.kubernetes.client import Connection

_WHERE = f"{NAMESPACE}/{STATE}"
_CRON_JOB = f"/apis/batch/v1/namespaces/{NAMESPACE}/cronjobs/rescheduler"

NextFiring = Callable[[str, str, datetime], datetime | None]
"""When a schedule in a time zone fires next after that time; None: never, or it cannot be read."""


class _ReadOnce:
    """An object as it was read, for what reads it again."""

    def __init__(self, value: dict[str, Any] | None) -> None:
        self._value = value

    def read(self) -> dict[str, Any] | None:
        """The object."""
        return self._value

    def create(self, _body: dict[str, Any]) -> dict[str, Any] | None:
        """Nothing is ever written by those who only read."""
        return None

    replace = create


class _LeaseNotes:
    """What the Lease remembers of the state."""

    def __init__(self, lease: dict[str, Any] | None) -> None:
        self.noted = str(
            (((lease or {}).get("metadata") or {}).get("annotations") or {}).get(NOTE, "")
        )

    def note(self, text: str) -> None:
        """Nothing is ever written by those who only read."""


class StatusReader:
    """Reads the lock, the state, the kept cycles and the CronJob of a cluster."""

    def __init__(self, connection: Connection, next_firing: NextFiring) -> None:
        """Nothing is sent yet."""
        self._connection = connection
        self._next_firing = next_firing
        self._clock = ServerClock()
        self._notes: list[str] = []

    def read(self, policies: PolicySet | None = None) -> StatusFacts:
        """What there is now. policies: as people give them; else those of the last report.

        Raises:
            ActionError: the state may not be read, or nobody answers.
        """
        self._notes = []
        state = self._object(f"/api/v1/namespaces/{NAMESPACE}/configmaps", STATE).read()
        lease, lease_is_known = self._lease()
        kept = self._read_kept()
        history, doubt = self._history(state, lease, lease_is_known=lease_is_known)
        used = policies or self._kept_policies(kept)
        wanted, unsteered = (None, ()) if used is None else self._steering(used)
        return StatusFacts(
            now=self._clock.now(),
            cluster=self._connection.name,
            paused=paused_in(state or {}),
            installed=state is not None,
            lock=_lock(lease, self._clock.now()) if lease_is_known else None,
            history=history,
            doubt=doubt,
            kept=kept,
            cron=self._cron(kept),
            limits=None if used is None else used.limits,
            wanted=wanted,
            unsteered=unsteered,
            notes=tuple(self._notes),
        )

    def _object(self, collection: str, name: str) -> StoredObject:
        return StoredObject(
            self._connection.api, collection, name, clock=self._clock, makes_namespace=False
        )

    def _steering(self, policies: PolicySet) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
        """The means that the policies want, and what is seen to be missing of them."""
        chosen, notes = choose_seen_steering(self._connection, policies)
        missing = not_set_up(self._connection, chosen)
        wanted = chosen.wanted_steering() or policies.wanted_steering()
        return tuple(wanted), (*notes, *missing)

    def _lease(self) -> tuple[dict[str, Any] | None, bool]:
        """The Lease, and whether it could be read."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
        try:
            return self._object(path, LEASE).read(), True
        except ActionError as error:
            self._notes.append(f"Who holds the lock is not known: {error.message}")
            return None, False

    def _read_kept(self) -> KeptCycles | None:
        try:
            return report_store(self._connection).read()
        except ActionError as error:
            self._notes.append(f"The last cycles are not known: {error.message}")
            return None

    def _history(
        self, state: dict[str, Any] | None, lease: dict[str, Any] | None, *, lease_is_known: bool
    ) -> tuple[History, str]:
        """The recent moves, and why the state cannot be believed."""
        ledger = Ledger(
            _ReadOnce(state), where=_WHERE, marker=_LeaseNotes(lease), clock=self._clock
        )
        try:
            history = ledger.peek()
        except LedgerUnreadable as error:
            return History(), error.message
        # Without the Lease nobody can tell whether the state is the newest one.
        return history, ledger.doubt() if lease_is_known else ""

    def _kept_policies(self, kept: KeptCycles | None) -> PolicySet | None:
        if kept is None or kept.report is None:
            return None
        try:
            return policies_in(plan_in(kept.report))
        except PolicyError as error:
            text = "The policies of the last report are not known to this version"
            self._notes.append(f"{text}: {error.message}")
            return None

    def _cron(self, kept: KeptCycles | None) -> CronFacts | None:
        try:
            answer = self._connection.fetch(_CRON_JOB)
            cron_job = decode_json(answer.body, dict[str, Any]) if answer.status == 200 else {}
        except (ClusterUnavailable, msgspec.MsgspecError) as error:
            self._notes.append(f"CronJob rescheduler could not be read: {error}")
            return None
        if answer.status not in (200, 404):
            self._notes.append(f"CronJob rescheduler could not be read: {answer.message}")
        spec = cron_job.get("spec") or {}
        schedule, zone = str(spec.get("schedule") or ""), str(spec.get("timeZone") or "UTC")
        if not schedule:
            return None
        now = self._clock.now()
        records = [] if kept is None else kept.log.records
        due = self._next_firing(schedule, zone, records[0].cycle.started) if records else None
        return CronFacts(
            schedule=schedule,
            suspended=bool(spec.get("suspend")),
            due=due,
            next=self._next_firing(schedule, zone, now),
        )


def _lock(lease: dict[str, Any] | None, now: datetime) -> LockView:
    spec = (lease or {}).get("spec") or {}
    holder = str(spec.get("holderIdentity") or "")
    try:
        renewed = datetime.fromisoformat(str(spec.get("renewTime")))
        expires = renewed + timedelta(seconds=float(spec.get("leaseDurationSeconds") or 0))
    except (TypeError, ValueError):
        return LockView(holder=holder, renewed=None, expires=None, live=False)
    live = bool(holder) and now < expires
    return LockView(holder=holder, renewed=renewed, expires=expires, live=live)
