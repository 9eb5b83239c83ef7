"""The table of replacements: where replacements shall go, in a ConfigMap.

An entry is in it from right before its eviction until its replacement is seen, or its deadline: the
means of steering cannot count, so an entry left too long steers further pods of the same
controller. A run that begins sweeps what one that ended has left. Every write is a compare-and-swap
with the fence of the writer, and leaves nothing there but entries.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from rescheduler.actions.steering.steering_format import (
    FENCE,
    MOST_BYTES,
    SEEN,
    SEEN_BY,
    WRITES,
    encode_entries,
    read,
    size,
)
from rescheduler.actions.stored_object import StoredObject, config_map
from rescheduler.model.errors import ActionError, LockLost
from rescheduler.model.moves.steering_entry import MOST_NODES, SteeringEntry
from rescheduler.model.problem import Problem

TABLE = "rescheduler-steering"
"""The name of the ConfigMap, which the policies of deploy/ name too."""
_ATTEMPTS = 3
_Change = Callable[[list[SteeringEntry], dict[str, str]], Iterable[SteeringEntry]]
"""From the entries, and the keys that cannot be read, to those to store."""


class SteeringTable:
    """The table, read and written under the lock."""

    def __init__(self, store: StoredObject, *, where: str) -> None:
        """where: `namespace/name` of the ConfigMap."""
        self._store = store
        self._where = where
        self._blank = config_map(where)
        self._unanswered = False
        """Whether a write of ours may be under way yet: it must meet another version."""

    def exists(self) -> bool:
        """Whether there is a table.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        return self._store.read() is not None

    def version(self) -> str:
        """The resourceVersion of the table as it is stored now; "" without one.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        return str(((self._store.read() or {}).get("metadata") or {}).get("resourceVersion", ""))

    def is_read(self, means: str = "") -> bool | None:
        """Whether the API server shows that it reads the table as it is stored now.

        A policy that reads it answers in a dry run of an update; see deploy/kustomize. None: it
        shows none at all, so that nothing reads it. means: which one must read it; "": all that do.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        current = self._store.read()
        updated = None if current is None else self._store.dry_run(current)
        if current is None:
            return None
        version = (current.get("metadata") or {}).get("resourceVersion")
        # One that has changed meanwhile shows nothing yet.
        shown = [""] if updated is None else _versions_shown(_notes(updated), means)
        return None if shown is None else bool(version) and bool(shown) and {*shown} == {version}

    def add(self, entries: Collection[SteeringEntry], fence: int) -> Problem | None:
        """Put these in, all or none: None once they are stored, or why they do not fit (STR003).

        Raises:
            LockLost: somebody with a later fence wrote.
            ActionError: they could not be stored, or it is not known whether they were.
        """
        problem = _unwritable(entries)
        if problem is not None:
            return problem
        mine = {entry.pod for entry in entries}

        def add_entries(stored: list[SteeringEntry], _broken: object) -> list[SteeringEntry]:
            return [*(entry for entry in stored if entry.pod not in mine), *entries]

        return self._change(add_entries, fence)

    def remove(self, pods: Collection[str], fence: int) -> None:
        """Take out the entries of these pods that left, by UID.

        Raises:
            LockLost, ActionError: as `add`.
        """

        def keep_others(stored: list[SteeringEntry], _broken: object) -> list[SteeringEntry]:
            return [entry for entry in stored if entry.pod not in pods]

        self._change(keep_others, fence)

    def sweep(self, fence: int, *, surely: bool) -> list[str]:
        """Take out everything, once the lock is won; answers what was there, for a warning.

        surely: whether a write of a process that ended may be under way, so that it is written also
        where nothing is in there.
        From here on nobody with another fence can write; one that is higher is of a state that was
        lost.

        Raises:
            ActionError: as `add`.
        """
        removals: list[str] = []

        def remove_all(stored: list[SteeringEntry], broken: dict[str, str]) -> list[SteeringEntry]:
            removals[:] = [f"{e.strength} for pod {e.pod} in {e.namespace}" for e in stored]
            removals.extend(
                f"key {key}, which cannot be read: {why}" for key, why in broken.items()
            )
            return []

        self._unanswered |= surely
        self._change(remove_all, fence, begins=True)
        return removals

    def _change(self, change: _Change, fence: int, *, begins: bool = False) -> Problem | None:
        for _ in range(_ATTEMPTS):
            current = self._store.read()
            before = _data(current or self._blank)
            try:
                data = encode_entries(change(*read(before)))
            except ValueError as error:
                return Problem(code="STR003", message=str(error))
            if size(data) > MOST_BYTES:
                return Problem(
                    code="STR003",
                    message=f"ConfigMap {self._where} would hold {size(data)} bytes of entries, "
                    f"more than {MOST_BYTES}",
                )
            if current is None:
                if not data:
                    return None
                current = self._store.create(self._blank)
                if current is None:
                    continue  # somebody else has created it meanwhile
            other = _number(current, FENCE)
            if other > fence and not begins:
                raise LockLost(
                    f"ConfigMap {self._where} has fence {other}, ours is {fence}",
                    "check for a second instance; this one stops.",
                )
            if data == before and other == fence and not self._unanswered:
                return None
            self._unanswered = True
            stored = self._store.replace(_fill_config_map(current, data, fence))
            self._unanswered = False
            if stored is not None:
                return None
        raise ActionError(
            f"ConfigMap {self._where} changed {_ATTEMPTS} times while it was written",
            "check who else writes it.",
        )


def _fill_config_map(current: dict[str, Any], data: dict[str, str], fence: int) -> dict[str, Any]:
    """The ConfigMap with nothing but this data: what others wrote there takes the room."""
    metadata = current.get("metadata") or {}
    notes = {**_notes(current), FENCE: str(fence), WRITES: str(_number(current, WRITES) + 1)}
    kept = {key: value for key, value in current.items() if key in ("apiVersion", "kind")}
    return {**kept, "metadata": {**metadata, "annotations": notes}, "data": data}


def _notes(current: dict[str, Any]) -> dict[str, Any]:
    return (current.get("metadata") or {}).get("annotations") or {}


def _versions_shown(notes: dict[str, Any], means: str) -> list[Any] | None:
    """The versions of the table that this means shows, or that all do; None: nothing shows any."""
    by_means = {key: value for key, value in notes.items() if key.startswith(SEEN_BY)}
    if not by_means:
        return [notes[SEEN]] if SEEN in notes else None
    return [value for key, value in by_means.items() if not means or key == SEEN_BY + means]


def _number(current: dict[str, Any], note: str) -> int:
    text = str(_notes(current).get(note, ""))
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _data(current: dict[str, Any]) -> dict[str, Any]:
    data = current.get("data")
    return data if isinstance(data, dict) else {}


def _unwritable(entries: Iterable[SteeringEntry]) -> Problem | None:
    for entry in entries:
        if len(entry.hostnames) > MOST_NODES:
            return Problem(
                code="STR003",
                message=f"it names {len(entry.hostnames)} nodes; at most {MOST_NODES} can be named",
            )
    return None
