"""One process of the rescheduler: the real program, put together as `rescheduler run` does it."""

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from rescheduler.model.errors import ReschedulerError
from rescheduler.model.moves.plan import Mode, Plan, Report
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.cycle import carry_out, run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.live_actor import LockAndLedger
from rescheduler.runtime.parts import parts_of, policies_in, state_of
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from rescheduler.sources.kubernetes.client import Connection
from tests.fakes.stage import Killed
from tests.simulation.objects import LEASE, takes_pods
from tests.simulation.virtual_time import running
from tests.simulation.wire import APISERVER, PROMETHEUS, Session, SimApi

if TYPE_CHECKING:
    from tests.simulation.universe import Universe

DEADLINE = timedelta(minutes=10)


@dataclass
class Cycle:
    """One cycle as it ended. code: the exit code, None where the process was killed.

    error: what was raised, with its type, or "".
    """

    process: str
    began: float
    ended: float = 0.0
    code: int | None = None
    report: Report | None = None
    error: str = ""
    apart: float = 0.0
    """Seconds in which it stood still, or waited for another process."""
    struck: list[tuple[str, str]] = field(default_factory=list)
    """The faults that came true in it, each with its phase."""


class Process:
    """A CronJob's pod, or with `lasting` a Deployment's that keeps its memory between cycles.

    strike: what goes wrong at a request or a step, by the phase that it is in; see `faults.py`.
    """

    def __init__(
        self,
        universe: "Universe",
        name: str,
        *,
        mode: Mode = "Enforce",
        lasting: bool = False,
        offset: float = 0.0,
    ) -> None:
        self.universe = universe
        self.name = name
        self.mode = mode
        self.lasting = lasting
        self.offset = offset
        self.dead = False
        self.stalled = False
        self.busy = False
        """Whether it waits for something that runs apart; nothing more befalls it meanwhile."""
        self.identity = ""
        self.opened = False
        """Whether it has written the state in this cycle: the lock must not change hands now."""
        self.robbed = False
        """Whether another one has taken its lock."""
        self.probing = False
        """Whether it only asks whether there is a Prometheus."""
        self.section = ""
        self.weather: Callable[[Process, str, str], str | None] = lambda *_: None
        self.cycle: Cycle | None = None
        self.evicting = ""
        """Whose eviction is under way: from the first look at the pod to the next one's."""
        self.reviewed: Plan | None = None
        """The plan that it applies, instead of making one of its own."""
        self.stop = Stop()
        self._sent: set[str] = set()
        """UIDs of the pods whose evictions were sent."""
        self._parts: Any = None

    # --- time

    def monotonic(self) -> float:
        """The steady clock, which also runs in suspend."""
        return self.universe.timeline.seconds

    def wall(self) -> datetime:
        """The host's clock."""
        now = self.universe.timeline.now()
        return now + timedelta(seconds=self.offset) if self.offset else now

    def pass_time(self, seconds: float) -> None:
        """Let time pass; whatever else is due happens meanwhile."""
        self.universe.timeline.advance(seconds)
        self.alive()

    sleep = pass_time

    def stall(self, seconds: float, then: Callable[[], object] = lambda: None) -> None:
        """The whole process stands still, as after SIGSTOP, its threads too."""
        self.stalled = True
        try:
            self.apart(partial(self.universe.timeline.advance, seconds))
            self.apart(then)
        finally:
            self.stalled = False

    def alive(self) -> None:
        """Nothing goes out of a process that is dead."""
        if self.dead:
            raise Killed

    def kill(self) -> NoReturn:
        """SIGKILL."""
        self.dead = True
        raise Killed

    # --- phases

    def phase_of(self, method: str, path: str, body: bytes | None, *, metrics: bool) -> str:
        """Which phase of a cycle a request belongs to."""
        if metrics:
            self.probing = b'"vector(1)"' in (body or b"")
            if self.probing:
                self.universe.asks_metrics(self)
            return "metric"
        if "/leases" in path:
            spec = msgspec.json.decode(body or b"{}").get("spec") or {"holderIdentity": "?"}
            return "lock" if spec.get("holderIdentity") else "exit"
        if "/configmaps" in path:
            return self._state_phase(method, body)
        if "/events" in path:
            return "report"
        if takes_pods(path):
            self._sent |= self._going(path, body)
            return "evict"
        if method == "PATCH":  # a taint, which is written once the intent is
            return "wal"
        return self._read_phase(path) if self.section == "act" and method == "GET" else "snap"

    def _read_phase(self, path: str) -> str:
        if "/pods/" in path:
            before, self.evicting = self.evicting, path
            return "watch" if before == path else "evict"
        return "watch" if "/namespaces/" in path and path.endswith("/pods") else "snap"

    def _going(self, path: str, body: bytes | None) -> set[str]:
        """The UIDs of the pods that a request takes away."""
        if not path.endswith("/eviction"):
            return self.universe.intended(path.rsplit("/", 1)[-1])
        named = msgspec.json.decode(body or b"{}")["deleteOptions"]["preconditions"]
        return {named["uid"]}

    def _state_phase(self, method: str, body: bytes | None) -> str:
        if method != "PUT" or self.section != "act":
            return "state"
        intents = {
            move.podUid
            for move in self.universe.state_in(msgspec.json.decode(body or b"{}")).history.moves
            if move.state == "intended"
        }
        return "wal" if intents - self._sent else "watch"

    def strike(self, phase: str, path: str) -> str | None:
        """What goes wrong here, if anything."""
        return self.weather(self, phase, path)

    def note(self, phase: str, fault: str) -> None:
        """A fault comes true in this phase."""
        if self.cycle is not None:
            self.cycle.struck.append((phase, fault))
        self.universe.struck(self, phase, fault)

    def ask_to_stop(self, reason: str) -> None:
        """SIGTERM."""
        self.stop.request(reason)
        self.universe.stopped(self)

    def apart(self, run: Callable[[], object]) -> None:
        """Something else runs while this process waits for it."""
        self.busy = True
        began = self.monotonic()
        try:
            run()
        finally:
            self.busy = False
            if self.cycle is not None:
                self.cycle.apart += self.monotonic() - began

    def holds_the_lock(self) -> bool:
        """Whether the Lease names this process, whatever it believes itself."""
        stored = self.universe.cluster.objects.get(LEASE)
        return stored is not None and stored["spec"].get("holderIdentity") == self.identity

    def after(self, phase: str, method: str, path: str, body: bytes | None, status: int) -> None:
        """A request was answered."""
        if method != "GET" and "/configmaps" in path and status < 300:
            self.opened = True
        self.universe.seen_by(self, phase, method, path, status)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        before, self.section = self.section, name
        if name == "plan":
            self._step("plan")
        try:
            yield
        finally:
            self.section = before

    def _step(self, phase: str) -> None:
        """A phase in which no request is sent."""
        match self.strike(phase, ""):
            case "killed" | "killed after":
                self.kill()
            case "out of memory":
                raise MemoryError
            case "full":
                raise OSError(28, "No space left on device")

    # --- a cycle

    def run(self) -> Cycle:
        """One cycle from its beginning to its end, or to the death of the process."""
        timeline = self.universe.timeline
        self.cycle = Cycle(self.name, timeline.seconds)
        self.opened = self.robbed = False
        self.universe.began(self)
        with running(self):
            try:
                report, code = self._cycle()
                self.cycle.report = report
                self._step("report")
                self.cycle.code = code
            except Killed:
                self.dead = True
            except ReschedulerError as error:
                self.cycle.code = error.exit_code
                self.cycle.error = f"{type(error).__name__}: {error}"
            except (OSError, MemoryError) as error:
                self.cycle.code = 6 if isinstance(error, OSError) else 1
                self.cycle.error = f"{type(error).__name__}: {error}"
            except Exception as error:  # noqa: BLE001 - the edge of the process, as in cli/main.py
                self.cycle.code = 1
                self.cycle.error = "".join(traceback.format_exception(error))
                self.universe.crashed(self, error)
        self.cycle.ended = timeline.seconds
        if not self.lasting:
            self.dead = True
        self.universe.ended(self, self.cycle)
        return self.cycle

    def _cycle(self) -> tuple[Report, int]:
        if self._parts is None:
            self._parts = self._put_together()
        if self.reviewed is not None:
            policies = policies_in(self.reviewed)
            actor = self._parts.actor(policies)
            outcome = carry_out(self._parts, self.reviewed, policies, actor)
            return outcome, exit_code(outcome, applying=True)
        report = run_cycle(self._parts)
        return report, exit_code(report)

    def _put_together(self) -> Any:
        settings = Settings(mode=self.mode, prometheus_url=PROMETHEUS, cycle_deadline=DEADLINE)
        self.stop._event = Event(self)
        Session.current = self
        connection = self._connection()
        state = state_of(connection, self.stop) if self.mode == "Enforce" else None
        if state is not None:
            self.identity = state.lease.identity
        return parts_of(
            settings,
            connection,
            state=state,
            stop=self.stop,
            phase=self._phase,
            policies=self._policies,
            remembers=True,
        )

    def _connection(self) -> Connection:
        configuration = SimpleNamespace(host=APISERVER, process=self)
        return Connection(SimApi(configuration), "sim")  # type: ignore[arg-type]

    def open_state(self) -> LockAndLedger:
        """The lock and the ledger alone."""
        self.stop._event = Event(self)
        return state_of(self._connection(), self.stop)

    def _policies(self) -> PolicySet:
        fault = self.strike("cfg", "")
        policies = self.universe.policies(fault)
        for watcher in self.universe.watchers:
            watcher.on_policies(self, policies)
        return policies


class Event(threading.Event):
    """Stands for `threading.Event`: waiting lets virtual time pass."""

    def __init__(self, process: Process | None = None) -> None:
        super().__init__()
        self.process = process
        self._set = False

    def set(self) -> None:
        """Wake who waits."""
        self._set = True

    def clear(self) -> None:
        """Let them wait again."""
        self._set = False

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        """Wait in steps, so that what happens meanwhile can set it."""
        left = timeout or 0.0
        while left > 0 and not self._set and self.process is not None:
            step = min(left, 1.0)
            self.process.pass_time(step)
            left -= step
        return self._set


class Heart:
    """Stands for the thread that renews the lock: it beats as an event of the timeline."""

    def __init__(self, *, target: Callable[[], None], daemon: bool = True, **_: Any) -> None:
        self._lease: Any = target.__self__  # type: ignore[attr-defined]
        store = self._lease._store
        self._process: Process = store.api.configuration.process
        self._ended = False

    def start(self) -> None:
        """Beat from now on."""
        self._next()

    def _next(self) -> None:
        self._process.universe.timeline.after(self._lease.durations.retry, self._beat)

    def _beat(self) -> None:
        process, lease = self._process, self._lease
        if self._ended or process.dead or lease._stopped.is_set() or lease._renewed_at is None:
            self._ended = True
            return
        if not process.stalled:
            with running(process):
                try:
                    lease.renew()
                except Killed:
                    return
        self._next()

    def join(self, timeout: float | None = None) -> None:
        """It beats no more: the lease is stopped."""
        self._ended = True

    def is_alive(self) -> bool:
        """Whether it beats."""
        return not self._ended


def stand_ins() -> list[tuple[str, str, Any]]:
    """What takes the place of what: module, attribute, and the stand-in."""
    threads = SimpleNamespace(
        Event=Event,
        RLock=threading.RLock,
        Lock=threading.Lock,
        Thread=Heart,
        current_thread=threading.current_thread,
    )
    return [
        ("rescheduler.actions.lease", "threading", threads),
        ("rescheduler.runtime.live_actor", "Api", SimApi),
        ("rescheduler.sources.prometheus.http.http_api", "_Session", Session),
    ]
