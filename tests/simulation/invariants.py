"""I01-I37: what must hold, checked on the server's log and the truth of the cluster.

Each function is one promise; its docstring is the promise. Those about an accepted eviction are in
`invariants_of_evictions.py`; those that no log of a simulated server can show are in `ELSEWHERE`,
with where they are tested.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import takewhile

from rescheduler.actions.steering.soft_taints import NODES, REVIEWS
from rescheduler.model.moves.plan import Outcome, plan_in
from rescheduler.model.reasons import CATALOG
from tests.simulation.ground import RE_READ, Ground
from tests.simulation.invariants_of_evictions import overdue
from tests.simulation.objects import MAINTENANCE, is_ours, leaving, taints_of, takes_pods
from tests.simulation.process import DEADLINE, Cycle, Process
from tests.simulation.universe import Request

Found = Iterator[str]

OUR_KINDS = ("leases", "configmaps", "events")


def i04_evict_only(ground: Ground, process: Process, request: Request) -> Found:
    """No DELETE on pods, no grace period, no write to pods, nodes or workloads from us."""
    parts = request.path.split("/")
    if request.path.endswith(("/eviction", "/eviction?dryRun=All")):
        options = (request.body or {}).get("deleteOptions") or {}
        dry = {"dryRun"} if request.path.endswith("?dryRun=All") else set()
        if set(options) != {"preconditions"} | dry:
            yield f"an eviction with the options {options}"
    elif request.method == "DELETE" and ground.limits.kueue == "Restart":
        exact = (request.body or {}).get("preconditions") or {}
        if "/workloads/" not in request.path or set(exact) != {"uid", "resourceVersion"}:
            yield f"DELETE {request.path}, where it is {exact}"
    elif request.method == "PATCH":
        yield from _only_our_taint(ground, request)
    elif request.path == REVIEWS:
        return  # only a question
    elif request.method not in ("POST", "PUT") or not set(OUR_KINDS) & set(parts):
        yield f"{request.method} {request.path}"


def _only_our_taint(ground: Ground, request: Request) -> Found:
    """A patch of a node sets or removes a taint of ours, holds for one version, and no more."""
    body, name = request.body or {}, request.path.removeprefix(f"{NODES}/")
    node = ground.universe.cluster.objects.get(("nodes", "", name))
    pinned = set(body.get("metadata") or {}) == {"uid", "resourceVersion"}
    if not pinned or set(body.get("spec") or {}) != {"taints"} or set(body) != {"metadata", "spec"}:
        yield f"PATCH {request.path} with {body}"
    if request.status >= 300 or node is None:
        return
    ours = [taint for taint in taints_of(node) if is_ours(taint)]
    ground.reached["tainted"] += bool(ours)
    ground.reached["untainted"] += not ours
    if name in ground.maintained and MAINTENANCE not in taints_of(node):
        yield f"the taint of somebody else is gone from {name}"


def i09_fences(ground: Ground, process: Process, request: Request) -> Found:
    """Fences never decrease."""
    if any(later < before for before, later in zip(ground.fences, ground.fences[1:], strict=False)):
        yield f"the fence went from {ground.fences[-2]} to {ground.fences[-1]}"


def i12_told(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """A gang that was stopped and has not come back in time holds the cycle, which says so.

    One whose namespace has opted out since holds nobody.
    """
    if ground.universe.kueue is None or not isinstance(cycle.report, Outcome):
        return
    # Once it cannot trust the lock, the state or a clock, or is to stop, it says that instead.
    if cycle.report.verdict.code in ("GRD004", "GRD005", "GRD007", "ACT014", "ACT015", "ACT016"):
        return
    late = [e for e in overdue(ground, cycle.began) if e.stop and e.at < cycle.began]
    spaces = {e.pod["metadata"]["namespace"] for e in late}
    out = {space for space in spaces if ground.lasting(f"namespace/{space}") is not None}
    waiting = [e for e in late if e.pod["metadata"]["namespace"] not in out]
    ground.reached["stopped gang waits"] += bool(waiting)
    said = {cycle.report.verdict.code, *(guard.code for guard in cycle.report.plan.guards)}
    if waiting and ("GRD003" not in said or cycle.code == 0):
        yield f"exit {cycle.code} with {sorted(said)}, and {waiting[0]} has not come back"


def i16_no_undoing(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """No item of a plan undoes another of the same plan."""
    if cycle.report is None:
        return
    moves = plan_in(cycle.report).moves
    for one in moves:
        for other in moves:
            to, back = _likeliest(one), _likeliest(other)
            same = one.owner.uid == other.owner.uid
            # Both may come back, as far as the moves before them leave it open: nobody changes.
            swapped = one.source != to and (one.source, to) == (back, other.source)
            if one is not other and same and swapped:
                yield f"{one.pod.name} and {other.pod.name} change places"


def _likeliest(move: object) -> str:
    landing = getattr(move, "landing", ())
    return max(landing, key=lambda share: share.probability).node if landing else ""


def i19_stop(ground: Ground, process: Process, request: Request) -> Found:
    """At most one request after kill switch, pause, SIGTERM, deadline or lost lock."""
    if not takes_pods(request.path):
        return
    known = ground.known[process.name]
    paused = ground.paused is not None and ground.paused < request.at
    if known.stop is not None or paused:
        known.after_stop += 1
        if known.after_stop > 1:
            yield f"{known.after_stop} evictions after it was to stop"


def i19_lost(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """A lock that is lost at any time ends the cycle with an exit code that is not 0."""
    # Whom people have paused before it asked for any eviction has done all that it was to do, and
    # does not look for its lock again: nothing can follow that the lock would guard.
    paused = getattr(getattr(cycle.report, "verdict", None), "code", "") == "GRD006"
    idle = paused and not ground.known[process.name].asked
    if process.robbed and cycle.code == 0 and not idle:
        yield "exit 0 although another one has taken its lock"


def i19_at_once(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """It ends within 5 s of SIGTERM, from anywhere; a request that hangs may end first."""
    stop = ground.known[process.name].stop
    if stop is None or {fault for _, fault in cycle.struck} & {"hang", "slow drip", "reply lost"}:
        return
    took = cycle.ended - max(stop, cycle.began) - cycle.apart
    if took > 6.0:
        yield f"it went on for {took:.0f} s after SIGTERM"


def i20_back_pressure(ground: Ground, process: Process, request: Request) -> Found:
    """The rate is at most one a second, and Retry-After is obeyed."""
    asked = ground.known[process.name].asked
    if takes_pods(request.path) and asked:
        at, _, status = asked[-1]
        least = 0.95 if status != 429 else 0.99
        if status > 0 and request.at - at < least:
            yield f"an eviction {request.at - at:.2f} s after one that was answered {status}"


def i03_attempts(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """At most one attempt per UID per cycle, and one more where the server asked for it.

    A Workload of Kueue is deleted by one request or none.
    """
    for name, times in Counter(name for _, name, _ in ground.known[process.name].asked).items():
        if times > (1 if name.startswith("job-") else 2):
            yield f"pod {name} was asked for {times} times in one cycle"


def i21_charged(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """After any crash and reconcile, the charged set contains every accepted eviction.

    One that was sent by a process that had stood still for minutes since its last gate is charged
    by the next cycle that begins after it, as its intent may be settled by then.
    """
    state = ground.universe.state()
    if state is None or not isinstance(cycle.report, Outcome):
        return
    if cycle.report.verdict.code in ("GRD004", "GRD005", "GRD007", "ACT015", "ACT016"):
        return
    charged = {move.podUid for move in state.history.moves if move.charged}
    recent = {
        e.uid
        for e in ground.evicted
        if ground.seconds - e.at < 24 * 3600 and not (e.late and e.at >= cycle.began)
    }
    if missing := recent - charged:
        yield f"{sorted(missing)} were evicted and are not charged"


def i23_strict(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """An invalid, unknown or empty policy: exit 2, and no request."""
    if any(phase == "cfg" for phase, _ in cycle.struck):
        sent = [r for r in ground.universe.log if r.process == process.name and r.at >= cycle.began]
        if cycle.code != 2 or sent:
            yield f"exit {cycle.code} and {len(sent)} requests without policies"


def i24_dry_run(ground: Ground, process: Process, request: Request) -> Found:
    """In Audit mode there is only get and list; it may ask what it were allowed to do."""
    if process.mode == "Audit" and request.path != REVIEWS:
        yield f"{request.method} {request.path} in Audit"


def i26_audit(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """Each accepted eviction is reported as one, nothing else is, and an Event says so."""
    if not isinstance(cycle.report, Outcome):
        return
    done = {eviction.uid for eviction in ground.evicted if eviction.cycle is cycle}
    for move in cycle.report.moves:
        uid = move.pod.uid
        there = ground.universe.cluster.by_uid(uid)
        stays = there is not None and not leaving(there)
        kueue = ground.universe.kueue
        stays = stays and not (kueue is not None and uid in kueue.stopping)
        if move.result == "evicted" and uid not in done and stays:
            yield f"{move.pod.name} is said to be evicted"
        if move.result in ("refused", "skipped") and uid in done:
            yield f"{move.pod.name} is said to be {move.result} ({move.code})"
    if not any(phase == "report" for phase, _ in cycle.struck):
        of_it = takewhile(lambda request: request.at >= cycle.began, reversed(ground.universe.log))
        told = {
            (request.body or {}).get("regarding", {}).get("name")
            for request in of_it
            if "/events" in request.path
        }
        for eviction in ground.evicted:
            if eviction.cycle is cycle and eviction.pod["metadata"]["name"] not in told:
                yield f"no Event about {eviction}"


def i26_replacements(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """A replacement came after the eviction, stands for one move, and its landing is counted."""
    state = ground.universe.state()
    if state is None or not isinstance(cycle.report, Outcome):
        return
    evicted = {eviction.uid: eviction.at for eviction in ground.evicted if not eviction.late}
    replacements = [move.replacement for move in state.history.moves if move.replacement]
    if len(set(replacements)) < len(replacements):
        yield f"one of {replacements} stands for two moves"
    for move in state.history.moves:
        if move.landedOn and move.scheduler and not move.compared:
            yield f"the landing of {move.pod} is not counted"
        there = ground.universe.cluster.by_uid(move.replacement)
        before = evicted.get(move.podUid, 0.0) - RE_READ - ground.slack()
        if there is not None and ground.seconds - ground.age(there) < before:
            yield f"{move.replacement} was there before {move.pod} was evicted"


def i29_explained(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """Each planned item and each rejected candidate has a reason code; each plan a verdict."""
    if cycle.report is None:
        return
    plan = plan_in(cycle.report)
    codes = {refusal.code for refusal in plan.refused} | {guard.code for guard in plan.guards}
    for move in plan.moves:
        codes |= {reason.code for reason in move.reasons}
        if not move.reasons:
            yield f"{move.pod.name} is moved for no reason"
    if isinstance(cycle.report, Outcome):
        done = [cycle.report.verdict.code, *(move.code for move in cycle.report.moves)]
        codes.update(done)
        ground.reached.update(done)
    ground.reached.update(guard.code for guard in plan.guards)
    if unknown := codes - CATALOG.keys():
        yield f"codes without a meaning: {sorted(unknown)}"


def i30_bounded(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """A cycle ends within its deadline under every fault, with the right exit code."""
    took = cycle.ended - cycle.began - cycle.apart
    # A wait for a dead holder, the deadline itself, and the last wait for replacements.
    most = 120 + DEADLINE.total_seconds() + 5
    if took > most:
        yield f"it took {took:.0f} s"
    if not isinstance(cycle.report, Outcome):
        return
    code = cycle.report.verdict.code
    faulty = code in ("ACT014", "ACT015", "ACT016", "GRD004")
    if faulty and cycle.code == 0:
        yield f"exit 0 with verdict {code}"
    if "unknown" in {move.result for move in cycle.report.moves} and cycle.code == 0:
        yield "exit 0 with an unknown outcome"


def i31_resolved(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """An unknown outcome is resolved by the next cycle, or in ten minutes."""
    state = ground.universe.state()
    if state is None or cycle.code != 0 or process.mode == "Audit" or cycle.report is None:
        return
    if isinstance(cycle.report, Outcome) and cycle.report.verdict.code == "GRD005":
        return
    for move in state.history.moves:
        age = (ground.universe.timeline.now() - move.at).total_seconds()
        if move.state == "intended" and age > 600 + ground.slack():
            yield f"{move.pod} is unknown for {age:.0f} s"


def i34_bounded_state(ground: Ground, process: Process, cycle: Cycle) -> Found:
    """The state and what is in flight stay under caps."""
    state = ground.universe.state()
    if state is not None and sum(move.in_flight for move in state.history.moves) > 10:
        yield "more than ten moves are in flight"


ON_REQUEST: tuple[Callable[[Ground, Process, Request], Found], ...] = (
    i04_evict_only,
    i09_fences,
    i19_stop,
    i20_back_pressure,
    i24_dry_run,
)
ON_END: tuple[Callable[[Ground, Process, Cycle], Found], ...] = (
    i03_attempts,
    i12_told,
    i16_no_undoing,
    i19_lost,
    i19_at_once,
    i21_charged,
    i23_strict,
    i26_audit,
    i26_replacements,
    i29_explained,
    i30_bounded,
    i31_resolved,
    i34_bounded_state,
)
ELSEWHERE = {
    "I22": "i07 and i08 hold by the true time while the clocks of hosts and servers step",
    "I25": "tests/simulation/test_simulation.py: a seed replays a run; Audit and Enforce agree",
    "I27": "tests/simulation/universe.py, leaked: no request has the token in its body",
    "I28": "tests/reporting: hostile strings in every report",
    "I32": "tests/simulation/test_quiescence.py",
    "I33": "tests/simulation/scenario.py, recovered: after the faults a good cycle in two periods",
    "I35": "tests/simulation/test_quiescence.py: a hot node is relieved where nothing forbids it",
}
"""Promises that no single request or cycle can show."""
