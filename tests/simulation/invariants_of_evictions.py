"""What must hold of every eviction that the API server accepts; see `invariants.py`."""

from collections import defaultdict
from collections.abc import Callable, Iterator

from rescheduler.policies.utilization.policy import Utilization
from tests.simulation.ground import RE_READ, Evicted, Ground
from tests.simulation.metrics import SCRAPE, WINDOW
from tests.simulation.objects import is_ready, uid_of

Found = Iterator[str]


def i01_uid_exact(ground: Ground, evicted: Evicted) -> Found:
    """Each accepted eviction carries a UID precondition equal to a planned UID."""
    if evicted.stop:
        return  # the request names the Workload: `i04_evict_only`
    named = (evicted.body.get("deleteOptions") or {}).get("preconditions", {}).get("uid")
    if named != evicted.uid:
        yield f"the precondition names {named}"


def i02_intent_first(ground: Ground, evicted: Evicted) -> Found:
    """It is preceded in durable state by an intent with that UID and the current fence."""
    fence = int(evicted.notes["rescheduler.io/fence"])
    if evicted.move is None or not evicted.move.charged or evicted.move.fence != fence:
        yield f"no intent of fence {fence}"


def i03_once(ground: Ground, evicted: Evicted) -> Found:
    """At most one accepted eviction per UID."""
    if any(eviction.uid == evicted.uid for eviction in ground.evicted):
        yield "was evicted before"


def i05_budget(ground: Ground, evicted: Evicted) -> Found:
    """Healthy stays at or above desired for the pod's budget, and it allowed one when last read.

    Only disruptions by us count: where others took a pod meanwhile, nothing is said. Nobody but us
    asks it for a gang that Kueue stops: it allowed all its pods when it was last read.
    """
    cluster, known = ground.universe.cluster, ground.known[evicted.process.name]
    labels = evicted.pod["metadata"]["labels"]
    for budget in cluster.of("poddisruptionbudgets"):
        if not budget["spec"]["selector"]["matchLabels"].items() <= labels.items():
            continue
        name = budget["metadata"]["name"]
        allowed, going = known.allowed.get(name, 1000), max(len(evicted.peers), 1)
        if allowed < going:
            yield f"budget {name} allowed {allowed} when it was last read"
        if evicted.stop:
            continue
        expected, healthy = cluster.health(budget)
        desired = expected - budget["spec"].get("maxUnavailable", 1)
        ours = [
            eviction
            for eviction in ground.evicted
            if eviction.controller == evicted.controller and eviction.replaced is None
        ]
        if healthy - 1 < desired and healthy + len(ours) >= expected:
            yield f"budget {name} has {healthy} healthy, wants {desired}, and we took {len(ours)}"


def i06_in_flight(ground: Ground, evicted: Evicted) -> Found:
    """Per workload, at most so many are evicted without a replacement that has been Ready long."""
    least = ground.limits.minReadyTime.total_seconds() - ground.slack()
    open_ones = [
        eviction
        for eviction in ground.evicted
        if eviction.workload == evicted.workload
        and (eviction.replaced is None or evicted.at - eviction.replaced < least)
    ]
    if len(open_ones) >= ground.limits.inFlightPerWorkload:
        yield f"{len(open_ones)} of its workload are awaited: {', '.join(map(str, open_ones))}"


def i07_budgets(ground: Ground, evicted: Evicted) -> Found:
    """Accepted evictions stay within every budget, across restarts and instances."""
    limits, slack = ground.limits, ground.slack()
    hour = [e for e in ground.evicted if evicted.at - e.at < 3600 - slack - 15]
    day = [e for e in ground.evicted if evicted.at - e.at < 86_400 - slack - 15]
    period = limits.cyclePeriod.total_seconds() - slack - 15
    cycle = [e for e in ground.evicted if e.cycle is evicted.cycle or evicted.at - e.at < period]
    namespace = evicted.pod["metadata"]["namespace"]
    spent = {
        "movesPerDay": day,
        "movesPerHour": hour,
        "movesPerCycle": cycle,
        "movesPerNode": [eviction for eviction in cycle if eviction.node == evicted.node],
        "movesPerNamespace": [
            eviction for eviction in cycle if eviction.pod["metadata"]["namespace"] == namespace
        ],
        "movesPerWorkload": [
            eviction for eviction in cycle if eviction.workload == evicted.workload
        ],
    }
    # All pods of a gang are one to the limit of their workload.
    beside = dict.fromkeys(spent, max(len(evicted.peers) - 1, 0)) | {"movesPerWorkload": 0}
    here = sum(peer["spec"]["nodeName"] == evicted.node for peer in evicted.peers)
    beside["movesPerNode"] = max(here - 1, 0)
    for name, before in spent.items():
        if len(before) + beside[name] >= getattr(limits, name):
            yield f"{name} is {getattr(limits, name)}, and {len(before)} were before it"


def i08_cool_down(ground: Ground, evicted: Evicted) -> Found:
    """The gap between two evictions of one workload is at least its current cool-down."""
    last = max((e.at for e in ground.evicted if e.workload == evicted.workload), default=None)
    if last is None:
        return
    state = ground.universe.state()
    moves = state.history.moves if state is not None else []
    ours = [m for m in moves if m.charged and m.workload == evicted.workload and m.boomerang]
    back = len({m.stopsUid or m.podUid for m in ours})
    quiet = min(ground.limits.coolDown * 2**back, ground.limits.coolDownCap).total_seconds()
    # The cool-down counts from the intent, which is a little older than the eviction.
    if evicted.at - last < quiet - ground.slack() - 20:
        yield f"its workload was moved {evicted.at - last:.0f} s before, of {quiet:.0f} s"


def i09_single_writer(ground: Ground, evicted: Evicted) -> Found:
    """Fences never decrease; no request comes after a higher fence was written."""
    fence = int(evicted.notes["rescheduler.io/fence"])
    if fence != max(ground.fences):
        yield f"has fence {fence}, and {max(ground.fences)} was written"


def _by_load(evicted: Evicted) -> bool:
    """Whether only a policy that reads metrics wants it."""
    return evicted.notes["rescheduler.io/policies"] == "hot"


def i10_fresh_inputs(ground: Ground, evicted: Evicted) -> Found:
    """The source and every claimed destination had all required metrics, fit to be used."""
    if not _by_load(evicted) or evicted.move is None:
        return
    odd = ground.known[evicted.process.name].odd
    for name in sorted({evicted.node, *evicted.move.landing} & odd):
        yield f"the metrics of node {name} were unfit"


def i11_absent_is_not_zero(ground: Ground, evicted: Evicted) -> Found:
    """A required query that is empty, failed, partial or with warnings: no eviction by it."""
    if _by_load(evicted) and ground.known[evicted.process.name].partial:
        yield "an answer with its metrics was empty, or in part"


def i12_breakers(ground: Ground, evicted: Evicted) -> Found:
    """Hot share, NotReady share or our own Pending replacements beyond their limits: none."""
    limits, known = ground.limits, ground.known[evicted.process.name]
    bad, total = known.not_ready
    if bad > max(3, limits.maxNotReadyShare * total):
        yield f"{bad} of {total} nodes were not Ready"
    seen = known.read.get("pods", evicted.at)
    for eviction in overdue(ground, seen):
        yield f"{eviction} has had no Ready replacement for {seen - eviction.at:.0f} s"
    if _by_load(evicted):
        loads = ground.universe.metrics.nodes
        high = hot_target(ground) + 0.03
        capacity = ground.universe.metrics.capacity
        stale = _measured_still(ground, seen)
        hot = [
            name
            for name, load in loads.items()
            if min(load.mean(evicted.at, WINDOW) / capacity(name), 1.0)
            - stale[name] / capacity(name)
            > high
            and name not in known.odd
            and is_ready(ground.universe.cluster.objects["nodes", "", name])
        ]
        if len(hot) > max(1, limits.maxHotShare * len(loads)):
            yield f"{len(hot)} of {len(loads)} nodes are hot"


def overdue(ground: Ground, seen: float) -> list[Evicted]:
    """What was evicted too long before then and has no Ready replacement, though one is wanted."""
    late = ground.limits.readyTimeout.total_seconds() + 15
    state, pod = ground.universe.state(), ground.universe.cluster.by_uid
    now = ground.universe.timeline.now()
    # Whose replacement has come and stood is not what its workload lacks, also beside an old pod
    # that does not go, or when others end it later; and one whose eviction was found out later is
    # waited for from then on. What is awaited counts from when the evicted pod is gone.
    stand = {
        move.podUid
        for move in (state.history.moves if state else ())
        if (
            move.readySince is not None
            and (pod(move.replacement) or move.replacement in ground.stood)
        )
        or (now - (move.gone or move.at)).total_seconds() <= late
    }
    return [
        eviction
        for eviction in ground.evicted
        if ground.ready(eviction.controller) < ground.wanted(eviction.controller)
        and eviction.uid not in stand
        and eviction.replaced is None
        and eviction.left is not None
        and seen - eviction.left > late + _grace(eviction)
    ]


def _grace(evicted: Evicted) -> float:
    """Seconds that its pod may take to go, where its controller waits for that."""
    (owner,) = evicted.pod["metadata"]["ownerReferences"]
    return 30.0 if owner["kind"] in ("StatefulSet", "Job") else 0.0


def _measured_still(ground: Ground, seen: float) -> dict[str, float]:
    """CPUs by node that its mean still has of pods that were evicted, when the pods were read.

    The program knows what each of them used and takes just that off; no more makes a node cool.
    """
    stale: defaultdict[str, float] = defaultdict(float)
    for eviction in ground.evicted:
        ends = ground.universe.cluster.by_uid(eviction.uid) is not None
        unseen = 1 - (seen - eviction.at - SCRAPE) / WINDOW
        stale[eviction.node] += eviction.used * (1.0 if ends else min(max(unseen, 0.0), 1.0))
    return stale


def hot_target(ground: Ground) -> float:
    """Above which load a node is hot."""
    for policy in ground.universe.policies(None).policies:
        if isinstance(policy, Utilization) and policy.targets.cpu is not None:
            return float(policy.targets.cpu.high or 1.0)
    return 1.0


def i13_protected(ground: Ground, evicted: Evicted) -> Found:
    """No pod in the protected closure: system, opt-out, DaemonSet, bare, single replica, gang."""
    app = evicted.pod["metadata"]["labels"]["app"]
    if app in ground.protected:
        yield f"app {app} is protected"
    lasting = ground.lasting(f"namespace/{evicted.pod['metadata']['namespace']}")
    # What is done while a process is stopped, after its last gate, no gate of its can see.
    if lasting is not None and lasting > RE_READ and not evicted.late:
        yield f"its namespace opted out {lasting:.0f} s before"


def i14_settled(ground: Ground, evicted: Evicted) -> Found:
    """The pod is Running and Ready long enough; owner, autoscaler and node are at rest."""
    limits, slack = ground.limits, ground.slack()
    if not is_ready(evicted.pod):
        yield "it is not Ready"
    elif ground.ready_for(evicted.pod) < limits.minReadyTime.total_seconds() - slack:
        yield f"it has been Ready for {ground.ready_for(evicted.pod):.0f} s"
    if ground.age(evicted.pod) < limits.minPodAge.total_seconds() - slack:
        yield f"it is {ground.age(evicted.pod):.0f} s old"
    for what in (f"node/{evicted.node}", f"owner/{evicted.workload}", f"scaler/{evicted.workload}"):
        lasting = ground.lasting(what)
        if lasting is not None and lasting > RE_READ:
            yield f"{what} has not been at rest for {lasting:.0f} s"
    siblings = ground.ready(evicted.controller)
    missing = ground.wanted(evicted.controller) - siblings
    lacking = ground.lasting(f"lack/{evicted.controller}")
    if missing > 0 and lacking is not None and lacking > RE_READ:
        yield f"its workload has lacked {missing} for {lacking:.0f} s"


def i15_fits(ground: Ground, evicted: Evicted) -> Found:
    """It has a destination other than its source with room left."""
    known = ground.known[evicted.process.name]
    if ground.changed_at > known.read.get("nodes", 0.0) - 1:
        return  # since the process looked, the room may have gone
    fitting = set(ground.universe.cluster.feasible(evicted.pod)) - {evicted.node}
    fitting |= {peer["spec"]["nodeName"] for peer in evicted.peers} - {evicted.node}
    if not fitting:
        yield "no other node has room for it"


def i16_gain(ground: Ground, evicted: Evicted) -> Found:
    """The potential falls by at least the margin; who makes room, by what then takes it."""
    if evicted.stop:
        return  # what counts is what all of them gain, which is in no request
    gain = float(evicted.notes["rescheduler.io/gain"])
    makes_room = "FEA012" in evicted.notes["rescheduler.io/reasons"].split(",")
    if not makes_room and gain < ground.limits.margin - 1e-6:
        yield f"its gain is {gain}"


def i17_gangs(ground: Ground, evicted: Evicted) -> Found:
    """A gang is wholly in or wholly out; one that Kueue runs goes by its Workload alone."""
    app = evicted.pod["metadata"]["labels"]["app"]
    kueue = ground.universe.kueue
    if app == "gang" or (kueue is not None and kueue.runs(app) and not evicted.stop):
        yield "it is one of a gang"
    if not evicted.stop or evicted.late:
        return  # of a request that comes late the intents may have been given back by another one
    state = ground.universe.state()
    intents = [] if state is None else [m for m in state.history.moves if m.charged]
    meant = {m.podUid for m in intents if m.stopsUid == evicted.stop}
    others = {uid_of(peer) for peer in evicted.peers} - meant
    if others:
        yield f"of its gang {sorted(meant)} were meant to go, and {sorted(others)} go too"


def i18_read_again(ground: Ground, evicted: Evicted) -> Found:
    """Each request follows a re-read of pod, node, budget and owner, at most 5 s old."""
    known = ground.known[evicted.process.name].read
    name = evicted.pod["metadata"]["name"]
    # The pods of a gang are listed with those of the first one's controller.
    of_pod = [f"pods/{name}", "pods"] if evicted.stop else [f"pods/{name}"]
    wanted = {"the pod": of_pod, "its node": ["nodes", evicted.node]}
    if ground.universe.cluster.of("poddisruptionbudgets"):
        wanted["its budget"] = ["poddisruptionbudgets"]
    for what, reads in wanted.items():
        last = max(known.get(read, -1e9) for read in reads)
        before = evicted.at - evicted.cycle.apart - last
        if before > RE_READ:
            yield f"{what} was read {min(before, 1e6):.0f} s before"


def i36_shown_first(ground: Ground, evicted: Evicted) -> Found:
    """A policy that has changed since the first run evicts nothing until it was shown for a while.

    Not one that a plan was reviewed with.
    """
    if evicted.process.reviewed is not None or evicted.move is None:
        return
    known = ground.known[evicted.process.name].policies
    for name in evicted.move.policies:
        shown = evicted.at - ground.shown[name, known[name]]
        if shown < ground.limits.auditFirst.total_seconds() - 2 * ground.slack():
            yield f"policy {name} was shown for {shown:.0f} s"


def i37_rests(ground: Ground, evicted: Evicted) -> Found:
    """Where an eviction got no clear answer, its workload rests from the next run on."""
    state, now = ground.universe.state(), ground.universe.timeline.now()
    least = ground.limits.coolDown.total_seconds() - ground.slack()
    for move in state.history.moves if state is not None else ():
        if move.brokeOff and move.workload == evicted.workload:
            rested = 0.0 if move.settled is None else (now - move.settled).total_seconds()
            if rested < least:
                yield f"its workload has rested for {rested:.0f} s, of {least:.0f} s"


ON_EVICTION: tuple[Callable[[Ground, Evicted], Found], ...] = (
    i01_uid_exact,
    i03_once,
    i13_protected,
    i17_gangs,
    i02_intent_first,
    i05_budget,
    i06_in_flight,
    i07_budgets,
    i08_cool_down,
    i09_single_writer,
    i10_fresh_inputs,
    i11_absent_is_not_zero,
    i12_breakers,
    i14_settled,
    i15_fits,
    i16_gain,
    i18_read_again,
    i36_shown_first,
    i37_rests,
)
EVEN_IF_LATE = 4
"""So many of them hold even for a request that was under way while its process stood still."""
