"""Finding history: since when each policy has had each finding, from cycle to cycle.

What a cycle finds is kept for the next one, for policies that wait (`stableFor`). A finding that
one cycle does not find is forgotten at once, so what is remembered was found every time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

MOST_FINDINGS = 50_000
"""Findings that are remembered, of all policies together: what fits in a ConfigMap."""
LONGEST_GAP = timedelta(hours=3)
"""What was found before and after so long without a cycle still counts as found throughout, so that
a CronJob may run every hour or two."""
KEEP = timedelta(days=2)
"""A policy that was not evaluated for so long is forgotten."""
KEY_BYTES = 8

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its zone: one without it cannot be compared with now."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one cycle finds for one policy that waits.

    meaning: digest of what the policy finds; with another meaning all starts again.
    patience: for how long a finding must hold. findings: a key of each, the worst first.
    """

    policy: str
    meaning: str
    patience: timedelta
    findings: tuple[bytes, ...]


class First(msgspec.Struct, array_like=True, frozen=True):
    """The findings that were made first at this time, their keys one after the other, sorted."""

    at: Instant
    keys: bytes


class Watch(msgspec.Struct, kw_only=True, frozen=True):
    """What is remembered for one policy. evaluated: when it was last."""

    policy: str
    meaning: str
    evaluated: Instant = msgspec.field(name="looked")
    firsts: tuple[First, ...] = ()

    def first_times(self) -> dict[bytes, datetime]:
        """Each finding, and when it was made first."""
        return {
            first.keys[begin : begin + KEY_BYTES]: first.at
            for first in self.firsts
            for begin in range(0, len(first.keys), KEY_BYTES)
        }


class FindingHistory(msgspec.Struct, frozen=True):
    """All that is remembered, by the policies' names."""

    watches: tuple[Watch, ...] = ()

    def watch_of(self, policy: str) -> Watch | None:
        """What is remembered for that policy."""
        return next((watch for watch in self.watches if watch.policy == policy), None)

    def remember(self, observations: Iterable[Observation], now: datetime) -> "FindingHistory":
        """What is remembered after these observations at that time.

        A finding keeps its time where it was remembered, and is new otherwise. It is new too where
        its policy has another meaning now, or was not evaluated for longer than its patience and
        longer than `LONGEST_GAP`. Where more is found than can be remembered, the least bad of the
        new ones are not.
        """
        made = {observation.policy: observation for observation in observations}
        others = [w for w in self.watches if w.policy not in made and now - w.evaluated <= KEEP]
        kept = {name: self._kept_findings(observation, now) for name, observation in made.items()}
        room = MOST_FINDINGS - sum(len(watch.first_times()) for watch in others)
        room -= sum(len(findings) for findings in kept.values())
        for name, observation in made.items():
            new = [key for key in dict.fromkeys(observation.findings) if key not in kept[name]]
            kept[name].update(dict.fromkeys(new[: max(room, 0)], now))
            room -= len(new)
        watches = [_watch(observation, kept[name], now) for name, observation in made.items()]
        return FindingHistory(tuple(sorted([*others, *watches], key=lambda watch: watch.policy)))

    def _kept_findings(self, observation: Observation, now: datetime) -> dict[bytes, datetime]:
        """The observed findings that were made before without a break, and since when."""
        watch = self.watch_of(observation.policy)
        if watch is None or watch.meaning != observation.meaning:
            return {}
        if now - watch.evaluated > max(observation.patience, LONGEST_GAP):
            return {}
        since = watch.first_times()
        # A clock that was ahead must not make a finding seem older than it is.
        return {key: min(since[key], now) for key in observation.findings if key in since}


def _watch(observation: Observation, since: dict[bytes, datetime], now: datetime) -> Watch:
    keys_by_time: dict[datetime, list[bytes]] = {}
    for key, at in since.items():
        keys_by_time.setdefault(at, []).append(key)
    firsts = tuple(First(at, b"".join(sorted(keys))) for at, keys in sorted(keys_by_time.items()))
    return Watch(
        policy=observation.policy, meaning=observation.meaning, evaluated=now, firsts=firsts
    )
