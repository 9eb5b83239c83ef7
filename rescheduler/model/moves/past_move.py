"""The record of one move: the state that it is in, and which event leads to which.

Nothing else assigns its fields: an event that its state does not allow ends the run.
"""

import hashlib
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from rescheduler.model.errors import ImpossibleEvent
from rescheduler.model.moves.gains import Gain
from rescheduler.model.moves.past_steering import PastSteering

RELEASED = "ACT020"
"""The code of a move whose replacement stayed Pending where it had to go, and was made again."""
STAYS = "ACT019"
"""The code of a move whose evicted pod does not go."""

UNREADABLE = "ACT023"
"""The code of a move that is counted as lost because its pods cannot be read."""
UNANSWERED = "ACT009"
"""The code of a move whose eviction was not answered, and shows no effect."""

WATCHED = timedelta(hours=1)
"""So long after an unanswered eviction was given back a process that stood still may yet send it.

Its gates were passed before, and the API server does not know of fences. A look at the pod
then, however late, shows whether it has.
"""

State = Literal[
    "intended",  # written before the request was sent; the outcome is not known
    "refused",  # the API server said no; nothing was evicted
    "evicted",  # the API server said yes; its slot is taken
    "ready",  # it is gone, and the replacement stays Ready
    "lost",  # evicted, and no replacement was seen that stayed Ready in time
]

Event = Literal[
    "refuse",  # the API server said no, or nothing was sent
    "give up waiting",  # no answer came, and the pod shows no effect
    "evict",  # the API server said yes
    "see effect",  # no answer came, and the pod is gone after all
    "see gone",  # the evicted pod is gone from the API server
    "see stay",  # the evicted pod does not go
    "see replacement",  # what became of the replacement, as it is seen now
    "settle",  # the replacement stayed Ready
    "lose",  # the replacement was not Ready in time
    "lose sight",  # its pods cannot be read
    "see no effect",  # they can be read again, and the pod is there as before
    "complete",  # the eviction of a Pending replacement: the move that it releases goes on
]

TRANSITIONS: dict[Event, dict[State, State]] = {
    "refuse": {"intended": "refused"},
    "give up waiting": {"intended": "refused"},
    "evict": {"intended": "evicted"},
    "see effect": {"intended": "evicted", "refused": "evicted"},
    "see gone": {"evicted": "evicted", "lost": "lost"},
    "see stay": {"evicted": "evicted", "lost": "lost"},
    "see replacement": {"evicted": "evicted", "lost": "lost"},
    "settle": {"evicted": "ready", "lost": "ready"},
    "lose": {"evicted": "lost"},
    "lose sight": {"evicted": "lost", "lost": "lost"},
    "see no effect": {"lost": "lost"},
    "complete": {"intended": "ready", "evicted": "ready"},
}
"""Of each event, from which state it leads to which. What is not here ends the run: a process that
starts again, a second one, and a state that was read from the server go through this table too."""


class PastMove(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One move that was at least intended.

    usage: what the pod used when the move was planned, by reading name, in the pods' unit.
    landing: the predicted probability of each node. unschedulable: that of staying Pending.
    scheduler: its version, such as `1.36`. compared: whether its landing was counted.
    at: when the intent was written, or when a later look found that it was carried out.
    settled: when the state became ready, refused or lost.
    """

    plan: str
    podUid: str
    namespace: str
    pod: str
    workload: str
    """UID of the workload."""
    controller: str = ""
    """UID of the controller that makes the replacement."""
    controllerKind: str = ""
    source: str
    counted: dict[str, str] = {}
    """By scope such as `node label rack`: the value at the intent, "" without the label."""
    at: datetime
    state: State = "intended"
    fence: int = 0
    code: str = ""
    policies: list[str] = []
    landing: dict[str, float] = {}
    unschedulable: float = 0.0
    scheduler: str = ""
    compared: bool = False
    usage: dict[str, float] = {}
    selector: str = ""
    """The label selector of the controller; empty: all pods of the namespace have to be read."""
    earlierPods: list[str] = []
    """Marks of the UIDs of all pods that the controller had at the intent: none of them is the
    replacement."""
    replacement: str = ""
    """UID of the replacement, once it is known."""
    landedOn: str = ""
    gone: datetime | None = None
    """When the evicted pod was first seen to be gone from the API server."""
    readySince: datetime | None = None
    """Since when the replacement has been seen Ready without a break."""
    restarts: int = 0
    """Restarts of its containers when it was first seen Ready."""
    crashLooping: bool = False
    """Whether the pod crash-looped, so that nothing that was Ready was taken."""
    readySeconds: float | None = None
    """From the intent until the replacement was first Ready."""
    steered: PastSteering | None = None
    """How its replacement was steered through the table of replacements, if it was."""
    frees: str = ""
    """Set on the eviction of a Pending replacement: the UID of the pod whose move it frees. It
    takes no slot of its own."""
    stops: str = ""
    """The name of the Workload of Kueue that was deleted instead of evicting the pod, if one was,
    in its namespace; `stopsUid` is its UID."""
    stopsUid: str = ""
    unpredicted: bool = False
    """Whether its replacement landed where that was not predicted, as it was compared."""
    settled: datetime | None = None
    unwatched: bool = False
    """Whether it was given back, and looked at when it could not take effect any more."""
    brokeOff: bool = False
    """Whether it got no clear answer, which broke off its run: where nothing was evicted, its
    workload rests from `settled` on, which is when a later run begins."""
    intentAt: datetime | None = None
    """When the intent was written, where `at` is not that: its pod may have gone ever since."""
    kept: float = 0.0
    """Seconds that the limits of its time need it for; the ledger fills it in."""

    forgiven: bool = False
    """Whether a person has said that its missing replacement shall hold nobody any more."""

    batch: int = 0
    """Its batch in the plan, whose `Baseline` it is measured against."""
    gains: dict[str, float] = {}
    """The gain that was predicted, unweighted, for each policy that has one."""
    hot: dict[str, list[str]] = {}
    """By policy, what was hot on the node that it left, and still needs relief."""
    gain: Gain | None = None
    """What it has brought, once that was measured or cannot be any more."""

    def _go(self, event: Event) -> None:
        """Enter the state that the table says. Raises: ImpossibleEvent."""
        following = TRANSITIONS[event].get(self.state)
        if following is None:
            raise ImpossibleEvent(
                f"the record of pod {self.namespace}/{self.pod} is {self.state}: {event} cannot be",
                "report it with the state and the log; nothing was changed.",
            )
        self.state = following

    def refuse(self, code: str, now: datetime) -> None:
        """Nothing was evicted: it is charged no more, and nothing of it has to be followed."""
        self._go("refuse")
        self.code, self.settled = code, now
        self.earlierPods, self.selector = [], ""

    def break_off(self, code: str, now: datetime) -> None:
        """Nothing was evicted, and the server wants all requests later: as `refuse`, and it rests.

        However long it takes until the next run, that one shall reach the moves behind it.
        """
        self.refuse(code, now)
        self.brokeOff, self.settled = True, None

    def stay_unanswered(self) -> None:
        """No clear answer came: it stays charged, and its workload rests if the pod stays."""
        self.brokeOff = True

    def evict(self, code: str) -> None:
        """The API server has evicted the pod."""
        self._go("evict")
        self.code = code

    def begin_rest(self, now: datetime) -> bool:
        """Let its workload rest from now on, where that has not begun; whether it had not."""
        if not self.brokeOff or self.state != "refused" or self.settled is not None:
            return False
        self.settled = now
        return True

    def give_back(self, now: datetime) -> None:
        """An unanswered eviction shows no effect: it is charged no more, but watched for a while.

        What its replacement is recognized by is kept meanwhile.
        """
        self._go("give up waiting")
        self.code, self.settled = UNANSWERED, now

    @property
    def watched(self) -> bool:
        """Whether what was given back may have taken effect since it was last looked at."""
        given_back = (self.state, self.code) == ("refused", UNANSWERED) and self.settled is not None
        return given_back and not self.unwatched

    def let_go(self, now: datetime) -> bool:
        """It was looked at, and shows no effect: whether none can follow any more.

        A look ends the watch and no time does: in between nobody may have looked.
        """
        if self.settled is None or now - self.settled < WATCHED:
            return False
        self.unwatched, self.earlierPods, self.selector = True, [], ""
        return True

    def charge_late(self, now: datetime) -> None:
        """It has taken effect after the intent, at a time that was not seen.

        It counts from now on, so that no window and no cool-down ends too early.
        """
        self._go("see effect")
        self.code, self.settled, self.brokeOff = "ACT001", None, False
        self.intentAt, self.at = self.intentAt or self.at, now

    def charge_unread(self, now: datetime) -> None:
        """Nobody can read whether it has taken effect: it counts as carried out, from now on.

        It holds no slot, as nobody could see when that is free, and cools down as a lost one. The
        eviction of a Pending replacement takes none in any case, and is followed by nothing.
        """
        self.charge_late(now)
        if not self.frees:
            self.lose_sight(now)

    def lose_sight(self, now: datetime) -> None:
        """Its pods cannot be read: it counts as lost until they can."""
        lost = self.state == "lost"
        self._go("lose sight")
        self.settled = self.settled if lost else now
        self.code = UNREADABLE

    def see_no_effect(self) -> None:
        """Its pods could not be read, and its pod is there as before now that it can be.

        It stays charged, as it was for as long as nobody could see that.
        """
        self._go("see no effect")
        self.code = UNANSWERED

    def see_gone(self, now: datetime) -> None:
        """The evicted pod is gone; what could not be read before is as any other now."""
        self._go("see gone")
        self.gone = self.gone or now
        if self.code in (STAYS, UNREADABLE, UNANSWERED):
            self.code = "ACT011" if self.state == "lost" else "ACT001"

    def see_stay(self) -> None:
        """The evicted pod does not go, long after its grace period."""
        self._go("see stay")
        self.code = STAYS

    def see_replacement(self, uid: str, node: str) -> None:
        """Its replacement is this pod, on this node ("": on none yet)."""
        self._go("see replacement")
        if uid != self.replacement:
            self.replacement, self.readySince, self.readySeconds = uid, None, None
        self.landedOn = node

    def see_not_ready(self) -> None:
        """The replacement is not Ready, or is gone, so that another one has to come."""
        self._go("see replacement")
        self.readySince = None

    def see_ready(self, now: datetime, seconds: float, restarts: int) -> None:
        """The replacement is Ready; seconds, restarts: when it was so first, and how often then."""
        self._go("see replacement")
        if self.readySeconds is None:
            self.readySeconds, self.restarts = seconds, restarts
        if self.readySince is None:
            self.readySince = now

    def see_restart(self, restarts: int, ready_since: datetime | None) -> None:
        """The replacement has restarted since it was first Ready, and may still settle."""
        self._go("see replacement")
        self.restarts, self.readySince = restarts, ready_since

    def settle(self, now: datetime) -> None:
        """Its replacement has stayed Ready: its slot is free, and it is followed no more."""
        self._go("settle")
        self.settled = now
        self.code = RELEASED if self.freed else "ACT012" if self.boomerang else "ACT001"
        self.earlierPods, self.selector = [], ""

    def lose(self, now: datetime, *, looping: bool) -> None:
        """Its replacement was not Ready in time, or restarts again and again (looping)."""
        self._go("lose")
        self.settled = now
        self.code = "ACT017" if self.no_worse else "ACT018" if looping else "ACT011"

    def complete(self, now: datetime) -> None:
        """The eviction of a Pending replacement was carried out; the move it releases goes on."""
        self._go("complete")
        self.code, self.settled = "ACT001", now
        self.earlierPods, self.selector = [], ""

    def forgive(self) -> None:
        """Let it hold nobody; it stays charged, and its workload cools down as before."""
        self.forgiven = True

    def measure(self, gain: Gain) -> None:
        """Keep what it has brought, once: after that its baseline is needed no more."""
        self.gain = gain

    def end_steering(self, *, was_steered: bool) -> None:
        """Its entry was taken out. was_steered: whether its replacement was steered before.

        Otherwise what comes now is not steered, so that what was predicted says nothing of it.
        """
        if self.steered is not None:
            self.steered.close_entry(again=self.state == "refused")
            self.compared = self.compared or not was_steered

    def arrive_unsteered(self, template: str) -> None:
        """Its replacement, of that template, came without the affinity that it was to get.

        The table asks for nothing of a pod of another template, so such a one was not missed.
        """
        if self.steered is not None:
            self.compared = True
            self.steered.missed = template == self.steered.template

    @property
    def charged(self) -> bool:
        """Whether it counts against budgets: all but what the API server refused."""
        return self.state != "refused"

    @property
    def in_flight(self) -> bool:
        """Whether its slot is taken: by its unknown outcome, its old pod or its replacement."""
        return self.state in ("intended", "evicted")

    @property
    def replacement_pending(self) -> bool:
        """Whether its slot is taken, and may still become free by itself soon."""
        return self.in_flight and self.code != STAYS

    @property
    def unread(self) -> bool:
        """Whether it counts as lost only because its pods cannot be read, or could not be."""
        return self.code == UNREADABLE or self.no_effect

    @property
    def no_effect(self) -> bool:
        """Whether it counts as lost though its pod is there as before: see `see_no_effect`."""
        return self.state == "lost" and self.code == UNANSWERED

    @property
    def settling(self) -> bool:
        """Whether it was lost, and its replacement is Ready now: perhaps for a moment only."""
        return self.state == "lost" and self.readySince is not None

    @property
    def last(self) -> datetime:
        """When it was last known to matter: when it was made, or closed."""
        return max(self.at, self.settled or self.at)

    @property
    def unmeasured(self) -> bool:
        """Whether it is still to be measured what it has brought."""
        return self.charged and bool(self.gains) and self.gain is None

    @property
    def no_worse(self) -> bool:
        """Whether nothing is missing without a Ready replacement: the pod crash-looped.

        A replacement that was not even placed is missing all the same.
        """
        return self.crashLooping and bool(self.landedOn)

    @property
    def freed(self) -> bool:
        """Whether its replacement stayed Pending where it had to go, and was created again."""
        return self.code == RELEASED or (self.steered is not None and self.steered.freed)

    @property
    def boomerang(self) -> bool:
        """Whether the replacement came back to the node that the pod had left."""
        return bool(self.landedOn) and self.landedOn == self.source


def mark(uid: str) -> str:
    """Eight digits that stand for a UID: 4,000 millions, so that a list of them stays small."""
    return hashlib.blake2s(uid.encode(), digest_size=4).hexdigest()
