"""The durable state: what was moved, in a ConfigMap that only the holder of the lock can write.

Every write is a compare-and-swap. The fence is raised once after the lock is won; a writer that
finds another fence has lost the lock, however late it wakes. The state goes forward only: after
each write, and before anything is sent that depends on it, its sequence number and checksum are
noted on the Lease. A state that is behind the note was restored; one that is ahead of it, and
follows from it, was written by a process that ended in between.
"""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from rescheduler.actions.lease import Store
from rescheduler.actions.ledger_format import (
    FORGET,
    RESET,
    Note,
    StoredState,
    checksum,
    decode_state,
    drop_forget_request,
    encode_state,
    fill_config_map,
    note_in,
    note_of,
    packed_in,
    paused_in,
)
from rescheduler.actions.resets import drop_requests, obey_requests, requests_in
from rescheduler.actions.stored_object import config_map
from rescheduler.model.errors import (
    ActionError,
    ClocksDiffer,
    LedgerFull,
    LedgerUnreadable,
    LockLost,
)
from rescheduler.model.moves.history import LOOK_BACK, History
from rescheduler.model.moves.retention import INTENT_BYTES, STATE_BYTES, prune_history
from rescheduler.model.wording import instant
from rescheduler.planning.limits.guards import MOST_CLOCK_SKEW

COLD_AFTER = timedelta(hours=26)
"""A state this old knows nothing of today, so that we start slowly. A day, and two hours for a
daily run that starts late or on the day on which the clocks are put back."""

_NEVER = datetime.min.replace(tzinfo=UTC)

MOST_SET_BACK = 2 * MOST_CLOCK_SKEW
"""API servers that answer in turn may differ by so much; a clock further behind was set back."""


class Marker(Protocol):
    """Remembers elsewhere (on the Lease) what the state was."""

    @property
    def noted(self) -> str:
        """What was noted last, or ""."""
        ...

    def note(self, text: str) -> None:
        """Remember it."""
        ...


class Clock(Protocol):
    """The time by more than one clock; `ServerClock` is the real one."""

    def now(self) -> datetime:
        """The API server's time."""
        ...

    def sure(self) -> datetime:
        """A time that has come by every clock."""
        ...

    def difference(self) -> float:
        """Seconds between the clocks."""
        ...


class Ledger:
    """The history of moves, loaded and written under the lock."""

    def __init__(self, store: Store, *, where: str, marker: Marker, clock: Clock) -> None:
        """where: `namespace/name` of the ConfigMap."""
        self.fence = 0
        """The number of our lease transition; grows whenever anybody acquires the lock."""
        self.paused = False
        """Whether people paused all acting, as of the last read or write."""
        self.keep = LOOK_BACK
        """How long the limits need a closed move."""
        self._store = store
        self._where = where
        self._blank = {**config_map(where), "data": {"paused": "false"}}
        self._marker = marker
        self._clock = clock
        self._object: dict[str, Any] | None = None
        self._sequence = 0
        self._tried: set[str] = set()
        """Checksums of what we tried to store since the last answer: it may be there."""
        self._heeded: list[tuple[str, str]] = []  # resets that the next write takes out
        self._follows: list[str] = []
        """Checksums, one of them in the Lease: more than one after a failed note."""

    def open(self) -> History:
        """Load the state and raise the fence; to be called each time the lock was won.

        Raises:
            LedgerUnreadable: it is lost, damaged, older than it was, or newer than we are.
            ClocksDiffer: the time is not known, or was set back, and with it no budget.
            LockLost: somebody else wrote meanwhile.
            ActionError: the API server does not answer, or refuses.
        """
        self._object = None
        try:
            return self._open()
        except BaseException:
            self._object = None
            raise

    def _open(self) -> History:
        current = self._store.read()
        self._same_time()
        noted = self._lease_note()
        if current is None:
            self._never_written(noted)
            current = self._store.create(self._blank) or self._store.read()
        if current is None:
            raise LockLost(f"ConfigMap {self._where} came and went while it was opened")
        if noted is None or noted.checksum not in self._follows:
            # Else it is one of ours, and the Lease may have a later one that got no answer.
            self._follows = [] if noted is None else [noted.checksum]
        current, forget_requested = drop_forget_request(current, "budgets")
        try:
            state = self._trusted_state(current, noted)
            self._not_set_back(state)
        except (LedgerUnreadable, ClocksDiffer):
            if not forget_requested:
                raise
            last = noted or Note(fence=0, sequence=0)
            state = self._empty_state(last.fence, last.sequence)
        if noted is None and not packed_in(current):
            # From here on a state that is missing again was lost; until it is written, it was not.
            self._note(Note(fence=0, sequence=0))
        self._take(current, state)
        self.fence = state.fence + 1
        now = self._clock.now()
        if now - state.written > COLD_AFTER:
            state.history.rampSince, state.history.rampMade = now, 0
        return self.write(state.history)

    def load(self) -> History:
        """Read it again in the same lease transition, to see what people changed.

        Where it could not be opened in this transition, that is tried again.

        Raises:
            LedgerUnreadable, ClocksDiffer, LockLost, ActionError: as `open`.
        """
        if self._object is None:
            return self.open()
        current = self._store.read()
        self._same_time()
        if current is None:
            raise LedgerUnreadable(f"ConfigMap {self._where} is gone", RESET)
        current, forget_requested = drop_forget_request(current, "budgets")
        try:
            state = self._own_state(current)
        except (LedgerUnreadable, ClocksDiffer):
            if forget_requested:
                self._object = None  # opening it again heeds what people ask for
            raise
        noted = self._lease_note()
        if noted is None or noted.sequence < state.sequence:
            self._note(note_of(state, packed_in(current)))
        self._take(current, state)
        # A state that can be believed needs no new start; the request must not wait for a need.
        return self.write(state.history) if forget_requested else state.history

    def _own_state(self, current: dict[str, Any]) -> StoredState:
        if not self._is_own_write(current):
            raise self._foreign(current)
        state = self._decode(current)
        if state is None:
            raise LedgerUnreadable(f"ConfigMap {self._where} holds no state", RESET)
        self._not_set_back(state)
        return state

    def peek(self) -> History:
        """What is stored, for planning without the lock; nothing is created.

        Raises:
            LedgerUnreadable, ActionError: as `open`.
        """
        current = self._store.read()
        state = None if current is None else self._decode(current)
        self.paused = current is not None and paused_in(current)
        if current is None or state is None:
            return History()
        obey_requests(current, state.history, self._clock.now())
        return state.history

    def doubt(self) -> str:
        """Why what is stored cannot be believed, or ""; nothing is written. Raises: ActionError."""
        current = self._store.read()
        try:
            noted = self._lease_note()
            self._not_set_back(self._trusted_state(current or self._blank, noted))
        except (LedgerUnreadable, ClocksDiffer) as error:
            return error.message
        return ""

    def write(self, history: History) -> History:
        """Store this history, without what can decide nothing; answers what was stored.

        A person's change to `paused` meanwhile is kept and does not fail the write.

        Raises:
            LockLost: somebody with another fence wrote.
            LedgerUnreadable: what is stored now was not written by us.
            LedgerFull: there is no room; nothing was stored.
            ActionError: it could not be stored and noted, or it is not known whether it was.
        """
        return self._write(history, STATE_BYTES)

    def intend(self, history: History) -> History:
        """Store this history with new intents, as `write`; room is left for what becomes of them.

        Raises:
            LockLost, LedgerUnreadable, LedgerFull, ActionError: as `write`.
        """
        return self._write(history, INTENT_BYTES)

    def _write(self, history: History, most: int) -> History:
        self._sequence += 1
        state = StoredState(
            fence=self.fence,
            sequence=self._sequence,
            written=self._clock.now(),
            follows=self._follows,
            history=prune_history(history, self._clock.sure(), self.keep),
        )
        packed = encode_state(state)
        if len(packed) > most:
            raise LedgerFull(
                f"the history of {len(state.history.moves)} moves takes {len(packed)} bytes, "
                f"more than the {most} that fit in ConfigMap {self._where}",
                "lower movesPerDay or coolDownCap; until older moves have lost their meaning, "
                "nothing more is evicted.",
            )
        self._note(note_of(state, self._put(packed)))
        return state.history

    def _put(self, packed: bytes) -> str:
        tried = base64.b64encode(packed).decode()
        self._tried.add(checksum(tried))
        problem: ActionError | None = None
        for _ in range(3):
            body = fill_config_map(self._object or self._blank, packed)
            try:
                stored = self._store.replace(body)
            except ActionError as error:
                problem, stored = error, None
            if stored is None:
                # A conflict, or a lost reply: what is there now decides.
                stored = self._stored_meanwhile(tried)
            if stored is not None:
                self._tried, self._heeded = {checksum(tried)}, []
                self._see(stored)
                return tried
        raise problem or ActionError(
            f"ConfigMap {self._where} changed three times while it was written",
            "check who else writes it.",
        )

    def _stored_meanwhile(self, tried: str) -> dict[str, Any] | None:
        """Read again: the object, if our write is there after all. A foreign one raises."""
        current = self._store.read()
        if current is None:
            raise LedgerUnreadable(f"ConfigMap {self._where} is gone", RESET)
        if packed_in(current) == tried:
            return current
        if not self._is_own_write(current):
            raise self._foreign(current)
        self._see(drop_requests(current, self._heeded))
        return None

    def _is_own_write(self, current: dict[str, Any]) -> bool:
        packed = packed_in(current)
        if packed == packed_in(self._object or {}):
            return True
        try:
            return checksum(packed) in self._tried
        except ValueError:
            return False

    def _foreign(self, current: dict[str, Any]) -> ActionError:
        """Why what is stored now, which we did not write, ends this lease transition."""
        try:
            state = self._decode(current)
        except LedgerUnreadable as error:
            return error
        if state is not None and state.fence > self.fence:
            return LockLost(
                f"ConfigMap {self._where} has fence {state.fence}, ours is {self.fence}",
                "check for a second instance; this one stops.",
            )
        return LedgerUnreadable(
            f"ConfigMap {self._where} was changed while we held the lock, and not by us", RESET
        )

    def _same_time(self) -> None:
        difference = self._clock.difference()
        most = MOST_CLOCK_SKEW.total_seconds()
        if difference > most:
            raise ClocksDiffer(
                f"the API server's clock steps, or differs from this host's, by {difference:.0f} s;"
                f" at most {most:.0f} s may be",
                "synchronize the clocks.",
            )

    def _not_set_back(self, state: StoredState) -> None:
        """Moves of a clock that is behind would be out of every budget too early."""
        now, written = self._clock.now(), state.written
        if written - now > MOST_SET_BACK:
            raise ClocksDiffer(
                f"the API server's clock shows {instant(now)}, and the state was written at "
                f"{instant(written)}, so it has been set back",
                f"synchronize the clocks; if it was ahead before, wait until then, or, {FORGET}.",
            )

    def _take(self, current: dict[str, Any], state: StoredState) -> None:
        self._sequence = max(self._sequence, state.sequence)
        self._heeded = requests_in(current)
        self._see(obey_requests(current, state.history, self._clock.now()))

    def _see(self, current: dict[str, Any]) -> None:
        self._object, self.paused = current, paused_in(current)

    def _note(self, note: Note) -> None:
        self._follows = [*self._follows, note.checksum]
        self._marker.note(msgspec.json.encode(note).decode())
        self._follows = [note.checksum]

    def _lease_note(self) -> Note | None:
        return note_in(self._marker.noted, self._where)

    def _decode(self, current: dict[str, Any]) -> StoredState | None:
        return decode_state(current, self._where)

    def _never_written(self, noted: Note | None) -> None:
        if noted is not None and noted.fence:
            raise LedgerUnreadable(
                f"ConfigMap {self._where} holds no state, but the Lease records that there was one",
                RESET,
            )

    def _trusted_state(self, current: dict[str, Any], noted: Note | None) -> StoredState:
        """What is stored, if it is no older than what the Lease records."""
        state = self._decode(current)
        if state is None:
            self._never_written(noted)
            return self._empty_state()
        if noted is None:
            raise LedgerUnreadable(
                f"ConfigMap {self._where} has fence {state.fence}, but no Lease records it: the "
                "Lease was deleted, or the state comes from elsewhere",
                RESET,
            )
        if state.fence < noted.fence or state.sequence < noted.sequence:
            raise LedgerUnreadable(
                f"ConfigMap {self._where} is older than it was: it has fence {state.fence} and "
                f"write {state.sequence}, and the Lease records fence {noted.fence} and write "
                f"{noted.sequence}, so that moves would be forgotten",
                RESET,
            )
        stored_checksum = checksum(packed_in(current))
        if state.sequence == noted.sequence and noted.checksum not in ("", stored_checksum):
            raise LedgerUnreadable(
                f"ConfigMap {self._where} has checksum {stored_checksum}, and the Lease records "
                f"{noted.checksum} for the same write",
                RESET,
            )
        ahead = state.sequence > noted.sequence and bool(noted.checksum)
        if ahead and noted.checksum not in state.follows:
            raise LedgerUnreadable(
                f"ConfigMap {self._where} holds write {state.sequence}, which does not follow from "
                f"write {noted.sequence} that the Lease records: another state was restored in "
                "between, and what was moved since would be forgotten",
                RESET,
            )
        return state

    @staticmethod
    def _empty_state(fence: int = 0, sequence: int = 0) -> StoredState:
        """A state of nothing that was ever written: acting begins slowly."""
        return StoredState(fence=fence, sequence=sequence, written=_NEVER, history=History())
