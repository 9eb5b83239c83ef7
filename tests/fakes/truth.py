"""What must hold of every eviction that the API server accepts, judged by the cluster's truth."""

import base64
import gzip
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import msgspec

from rescheduler.actions.ledger import State
from rescheduler.policies.limits import Limits
from tests.fakes.world import World

STATE = ("configmaps", "rescheduler", "rescheduler-state")


def stored_state(world: World) -> State:
    """What the ledger holds, read past the program."""
    encoded = world.objects[STATE]["binaryData"]["state"]
    return msgspec.json.decode(gzip.decompress(base64.b64decode(encoded)), type=State)


class Truth:
    """Watches a world; `broken` says which promise an accepted eviction broke."""

    def __init__(self, world: World, limits: Limits) -> None:
        self.world = world
        self.limits = limits
        self.broken: list[str] = []
        self.accepted: list[tuple[datetime, str, str]] = []
        self.wanted: Counter[str] = Counter()
        """How many pods each owner (by UID) is to have."""
        self.there: dict[str, set[str]] = {}
        """The pods that were there when a pod (by UID) was evicted: none came for it."""
        self.cordoned: dict[str, datetime] = {}
        """Since when a node has been cordoned."""
        world.on_accept = self._on_accept

    def _on_accept(self, pod: dict[str, Any], body: dict[str, Any]) -> None:
        uid = pod["metadata"]["uid"]
        owner = pod["metadata"]["ownerReferences"][0]["uid"]
        now = self.world.now()
        if set(body["deleteOptions"]) != {"preconditions"}:
            self.broken.append(f"I04 options {body['deleteOptions']}")
        if any(before == uid for _, before, _ in self.accepted):
            self.broken.append(f"I03 {uid} was evicted twice")
        self._intent_came_first(uid, int(body["metadata"]["annotations"]["rescheduler.io/fence"]))
        if self._ready(owner) < self.wanted[owner] - self.limits.inFlightPerWorkload + 1:
            self.broken.append(f"I06 {owner} lacks a pod already")
        cordoned = self.cordoned.get(pod["spec"]["nodeName"], now)
        if now - cordoned > timedelta(seconds=6):
            self.broken.append(f"I18 {uid} left a node that was cordoned at {cordoned}")
        hour = [at for at, _, _ in self.accepted if now - at < timedelta(hours=1)]
        if len(hour) >= self.limits.movesPerHour:
            self.broken.append(f"I07 {len(hour) + 1} moves in one hour")
        last = max((at for at, _, other in self.accepted if other == owner), default=None)
        # The intent, from which a cool-down counts, is a little older than the eviction.
        if last is not None and now - last < self.limits.coolDown - timedelta(seconds=10):
            self.broken.append(f"I08 {owner} was moved {now - last} ago")
        self.accepted.append((now, uid, owner))
        pods = [value for (kind, _, _), value in self.world.objects.items() if kind == "pods"]
        self.there[uid] = {value["metadata"]["uid"] for value in pods}

    def _intent_came_first(self, uid: str, fence: int) -> None:
        state = stored_state(self.world)
        if not any(m.podUid == uid and m.fence == fence and m.charged for m in state.history.moves):
            self.broken.append(f"I02 {uid} has no intent of turn {fence}")
        if state.fence != fence:
            self.broken.append(f"I09 evicted by turn {fence} in turn {state.fence}")

    def _ready(self, owner: str) -> int:
        return sum(
            value["metadata"]["ownerReferences"][0]["uid"] == owner
            and "deletionTimestamp" not in value["metadata"]
            and "readyAt" not in value
            and value["status"]["phase"] == "Running"
            for (kind, _, _), value in self.world.objects.items()
            if kind == "pods"
        )

    def in_the_end(self) -> None:
        """After a clean last run: every accepted eviction is charged, and nothing else is open."""
        moves = stored_state(self.world).history.moves
        charged = {move.podUid for move in moves if move.charged}
        missing = {uid for _, uid, _ in self.accepted} - charged
        if missing:
            self.broken.append(f"I21 {sorted(missing)} were evicted and are not charged")
        for move in moves:
            # A pod that others made in the second of the eviction looks like its replacement.
            if move.replacement in self.there.get(move.podUid, set()) - self.world.swapped:
                self.broken.append(f"I26 {move.replacement} did not replace {move.podUid}")
        counted = sum(record.compared for record in stored_state(self.world).history.landings)
        if counted != sum(move.compared for move in moves):
            self.broken.append(f"{counted} landings were counted, not each once")
        uncounted = [move.podUid for move in moves if move.landedOn and not move.compared]
        if uncounted:
            self.broken.append(f"the landings of {uncounted} were not counted")
        unknown = [move.podUid for move in moves if move.state == "intended"]
        if unknown:
            self.broken.append(f"I31 {unknown} are still not resolved")
