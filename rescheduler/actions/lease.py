"""The lock: a Lease, taken and renewed as client-go's leader election does it.

A holder is expired when its record has not changed for its own duration by *our* steady clock.
One run of a CronJob must not wait that long for a holder that died in an earlier run, so a record
that has also been unchanged for two renewal periods, and is out of date by the API server's clock
(in which we write it), is expired too. The price: a holder that was paused for longer than its
duration, and wakes, finds the lock gone. It finds that in any case, before it sends anything.

Source: client-go tools/leaderelection and resourcelock/leaselock.go.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from rescheduler.actions.api_call import steady
from rescheduler.model.errors import ActionError, LockHeld, LockLost

NOTE = "rescheduler.io/ledger"
"""Annotation with what the durable state was when it was last written. No manifest of ours has
the Lease, so that a state that was lost, replaced or restored is noticed."""


LONGEST_RELEASE = 2.0
"""Seconds that a renewal which hangs may hold up the end of the process."""


MOST_CONFLICTS = 4
"""Writes of a lock that nobody holds which may conflict in a row: another who takes it is its
holder by the next read, so that more are no other instance's doing."""


class Store(Protocol):
    """Where the record is kept; `StoredObject` is the real one."""

    def read(self) -> dict[str, Any] | None:
        """The object, or None."""
        ...

    def create(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The object as created, or None if there was one already."""
        ...

    def replace(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The object as replaced, or None if it had changed."""
        ...


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds.

    hold: how long a record is good for. renew: after so long without a renewal we stop.
    retry: between two renewals. margin: for the granularity of the server's clock.
    """

    hold: float = 60.0
    renew: float = 40.0
    retry: float = 5.0
    margin: float = 5.0

    def __post_init__(self) -> None:
        if not self.hold > self.renew > 1.2 * self.retry > 0:
            raise ValueError("a lease needs hold > renew > 1.2 * retry > 0")


class Lease:
    """The right to act, for one process at a time.

    The caller renews it by `start()` (a thread) or by calling `renew()`; every request that
    changes the cluster is preceded by `valid_for(its timeout)`.
    """

    def __init__(
        self,
        store: Store,
        *,
        where: str,
        identity: str,
        now: Callable[[], datetime],
        durations: Durations = Durations(),
        steady: Callable[[], float] = steady,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """where: `namespace/name` of the Lease. identity: unique to this process.

        now: the API server's time.
        wait: sleeps for so many seconds, or answers True as soon as we are stopped.
        """
        self.identity = identity
        self.durations = durations
        self.problem = ""
        """Why the last attempt failed, in words."""
        self.fault = ""
        """Why the Lease could not be read or written when we asked for the lock last; or ""."""
        self._store = store
        self._where = where
        self._now = now
        self._steady = steady
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._guard = threading.RLock()
        self._object: dict[str, Any] | None = None
        self._seen: dict[str, Any] | None = None
        self._seen_at = 0.0
        self._renewed_at: float | None = None
        self._conflicts = 0
        self._thread: threading.Thread | None = None

    @property
    def held(self) -> bool:
        """Whether we hold it, by our own clock."""
        return self.valid_for(0.0)

    def valid_for(self, seconds: float) -> bool:
        """Whether nobody else can take the lock within so many seconds from now."""
        renewed = self._renewed_at
        return renewed is not None and self._steady() + seconds < renewed + self.durations.hold

    def holder(self) -> str:
        """Who held it when we last read it."""
        return str((self._seen or {}).get("holderIdentity") or "")

    def acquire(self, *, forever: bool = False) -> None:
        """Take the lock.

        forever: wait until it is ours (Deployment). Otherwise wait only for a holder that gives
        no sign of life, at most until its record expires (CronJob, command line).

        Raises:
            LockHeld: somebody else holds it and is alive, or we were stopped. ActionError: the
            Lease cannot be read or written.
        """
        self._conflicts = 0
        if self._ask():
            return
        first = self._seen
        began = self._steady()
        while not self._wait(self.durations.retry):
            try:
                if self._ask():
                    return
            except ActionError as error:
                self.problem = error.message
            if not forever and self._conflicts >= MOST_CONFLICTS:
                raise ActionError(
                    f"{self.problem}, {self._conflicts} times in a row",
                    "look for what else writes it, and whether etcd is healthy.",
                )
            renewed = self._seen != first
            overdue = self._steady() - began > 2 * self.durations.hold
            if not forever and (renewed or overdue):
                break
        raise LockHeld(
            f"the lock {self._where} is held by {self.holder() or 'nobody we could make out'}",
            "let it finish: one instance acts at a time.",
        )

    def _ask(self) -> bool:
        """Whether the lock is ours now. Raises: ActionError, which is noted."""
        try:
            taken = self._attempt()
        except ActionError as error:
            self.fault = error.message
            raise
        self.fault = ""
        return taken

    def start(self) -> None:
        """Renew in a thread until `release`."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._renew_until_stopped, daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Stop renewing and give the lock back, so that the next one need not wait."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LONGEST_RELEASE)
            if self._thread.is_alive():  # it waits for an answer, and the lock expires by itself
                self._renewed_at = None
                return
            self._thread = None
        with self._guard:
            if not self.held or self._object is None:
                self._renewed_at = None
                return
            self._renewed_at = None
            spec = dict(self._object["spec"])
            # Written as client-go does: without a holder, and expired after a second.
            spec.pop("holderIdentity", None)
            spec.update(leaseDurationSeconds=1, renewTime=micro_time(self._now()))
            try:
                self._store.replace({**self._object, "spec": spec})
            except ActionError as error:
                self.problem = error.message  # it expires by itself

    def renew(self) -> bool:
        """Renew once; past the renewal deadline the lock counts as lost, whatever comes.

        One that has expired is not taken again, even if it is free: another may have had it.
        """
        with self._guard:
            if not self.held:
                self._renewed_at = None
                return False
            try:
                renewed = self._attempt()
            except ActionError as error:
                self.problem = error.message
                renewed = False
            silent = self._steady() - (self._renewed_at or 0.0)
            if not renewed and silent >= self.durations.renew:
                self._renewed_at = None
            return renewed

    @property
    def noted(self) -> str:
        """What the Lease remembers of the durable state, as of our last read or write; or ""."""
        return _annotations(self._object).get(NOTE, "")

    def note(self, text: str) -> None:
        """Remember this of the durable state from now on; the lock must be ours, and is renewed.

        Raises:
            LockLost: it is not ours any more.
            ActionError: the Lease cannot be written, or it is not known whether it was.
        """
        with self._guard:
            for _ in range(3):
                if not self.held:
                    break
                if self._attempt(text):
                    return
        raise LockLost(
            f"the lock {self._where} was lost before the state could be noted on it",
            "check for a second instance; this one stops.",
        )

    def _renew_until_stopped(self) -> None:
        while not self._stopped.wait(self.durations.retry) and self._renewed_at is not None:
            self.renew()

    def _attempt(self, note: str = "") -> bool:
        """client-go's tryAcquireOrRenew; True when the lock is ours now, with the note on it."""
        with self._guard:
            began, ours = self._steady(), self.held
            if self._object is not None and ours:
                stored = self._store.replace(self._object_with_record(self._object, note))
                if stored is not None:
                    return self._record_renewal(stored, began)
            current = self._store.read()
            if ours and not self._still_ours(current):
                self._renewed_at = None
                self.problem = f"the lock {self._where} has expired, or another one has had it"
                return False
            if current is None:
                stored = self._store.create(self._object_with_record(self._blank(), note))
                return self._conflict() if stored is None else self._record_renewal(stored, began)
            self._observe(current)
            holder = self.holder()
            if holder not in ("", self.identity) and not self._is_expired():
                self.problem = f"held by {holder}"
                self._conflicts = 0
                return False
            stored = self._store.replace(self._object_with_record(current, note))
            return self._conflict() if stored is None else self._record_renewal(stored, began)

    def _still_ours(self, current: dict[str, Any] | None) -> bool:
        """Whether nobody else can have had it since our last write; a deleted one is as it was."""
        if not self.held:
            return False
        spec, last = (current or {}).get("spec") or {}, self._seen or {}
        same = ("holderIdentity", "acquireTime", "leaseTransitions")
        return current is None or all(spec.get(field) == last.get(field) for field in same)

    def _conflict(self) -> bool:
        self._conflicts += 1
        said = "the API server says that it has changed since it was read"
        self.problem = f"the lock {self._where} could not be written: {said}"
        return False

    def _record_renewal(self, stored: dict[str, Any], began: float) -> bool:
        # Counted from before the request, since the server stamped it some time after that.
        self._observe(stored)
        self._renewed_at = began
        self._conflicts = 0
        self.problem = ""
        return True

    def _observe(self, current: dict[str, Any]) -> None:
        self._object = current
        record = current.get("spec") or {}
        if record != self._seen:
            self._seen, self._seen_at = record, self._steady()

    def _is_expired(self) -> bool:
        record = self._seen or {}
        hold = float(record.get("leaseDurationSeconds") or self.durations.hold)
        unchanged = self._steady() - self._seen_at
        if unchanged >= hold:
            return True
        try:
            renewed = datetime.fromisoformat(str(record.get("renewTime")))
            age = self._now() - renewed
        except (ValueError, TypeError):
            return False
        stale = age > timedelta(seconds=hold + self.durations.margin)
        return stale and unchanged >= 2 * self.durations.retry

    def _blank(self) -> dict[str, Any]:
        """A Lease to create. One that was deleted while it is ours keeps what was noted on it."""
        namespace, name = self._where.split("/")
        metadata: dict[str, Any] = {"name": name, "namespace": namespace}
        if self.held and self.noted:
            metadata["annotations"] = {NOTE: self.noted}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}

    def _object_with_record(self, current: dict[str, Any], note: str) -> dict[str, Any]:
        """The object with our record in it; a change of holder counts as a transition."""
        spec = dict(current.get("spec") or {})
        now = micro_time(self._now())
        if spec.get("holderIdentity") != self.identity:
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + bool(spec)
            spec["acquireTime"] = now
        spec["holderIdentity"] = self.identity
        spec["leaseDurationSeconds"] = int(self.durations.hold)
        spec["renewTime"] = now
        if not note:
            return {**current, "spec": spec}
        annotations = {**_annotations(current), NOTE: note}
        metadata = {**(current.get("metadata") or {}), "annotations": annotations}
        return {**current, "metadata": metadata, "spec": spec}


def _annotations(current: dict[str, Any] | None) -> dict[str, str]:
    return ((current or {}).get("metadata") or {}).get("annotations") or {}


def micro_time(moment: datetime) -> str:
    """A Kubernetes MicroTime: UTC with exactly six digits, even where they are all zero."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
