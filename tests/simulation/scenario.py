"""One seeded run: a small cluster, a scheduler, loads, faults for a while, and the calm after."""

import importlib
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from rescheduler.model.moves.history import RAMP_CYCLES
from rescheduler.model.moves.plan import Mode
from rescheduler.policies.limits import Limits
from tests.fakes.manners import stamp
from tests.simulation.ground import Ground
from tests.simulation.hiding import reveal
from tests.simulation.kueue import Kueue
from tests.simulation.loads import constant, load
from tests.simulation.metrics import LIES
from tests.simulation.objects import (
    STATE,
    Object,
    is_hard,
    is_ready,
    leaving,
    owner_uid,
    taints_of,
    uid_of,
)
from tests.simulation.policies import POLICIES
from tests.simulation.process import Cycle, Process, stand_ins
from tests.simulation.tainting import tainted
from tests.simulation.universe import Universe, parsed
from tests.simulation.virtual_time import installed, running

PROTECTED = frozenset({"system", "alone", "opted", "gang", "bare", "agent", "prometheus"})
PERIOD = 300.0


@contextmanager
def simulated() -> Iterator[None]:
    """Put the program on virtual time and on the simulated network."""
    with ExitStack() as stack:
        stack.enter_context(installed())
        for module, attribute, stand_in in stand_ins():
            owner = importlib.import_module(module)
            stack.callback(setattr, owner, attribute, getattr(owner, attribute))
            setattr(owner, attribute, stand_in)
        yield


class Run:
    """A universe with its judge."""

    def __init__(self, seed: int, reached: Counter[str], *, text: str = POLICIES) -> None:
        self.universe = Universe(seed, text, reached=reached)
        self.chance = self.universe.chance
        self.cluster = self.universe.cluster
        self.metrics = self.universe.metrics
        self.limits: Limits = parsed(text).limits
        self.ground = Ground(self.universe, self.limits, PROTECTED)
        self.number = 0
        self.apps: list[str] = []
        self.saved: bytes | None = None
        self.let_policies_act()

    def let_policies_act(self) -> None:
        """As a person lets what the policies of the first run select act at once."""
        place = {"namespace": STATE[1], "name": STATE[2], "uid": "state", "resourceVersion": "1"}
        state = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place}
        self.cluster.objects[STATE] = {**state, "data": {"selections": "forget"}}

    def process(self, mode: Mode = "Enforce", *, offset: float = 0.0) -> Process:
        """A new process."""
        self.number += 1
        return Process(self.universe, f"p{self.number}", mode=mode, offset=offset)

    def warm(self) -> None:
        """As if earlier cycles had moved something: the careful beginning is over."""
        process = self.process()
        with running(process):
            state = process.open_state()
            state.lease.acquire()
            history = state.ledger.open()
            history.rampMade = RAMP_CYCLES
            state.ledger.write(history)
            state.lease.release()
        process.dead = True
        self.cluster.timeline.advance(PERIOD)

    def populate(self, *, nodes: int = 0, pods: int = 0) -> None:
        """A few nodes in two zones, and workloads of which many sit on the first node."""
        chance = self.chance
        count = nodes or chance.randint(4, 6)
        names = [f"n{number}" for number in range(count)]
        for number, name in enumerate(names):
            self.cluster.add_node(name, zone="ab"[number % 2])
        left = pods or chance.randint(5, 10)
        number = 0
        while left > 0:
            replicas = min(chance.choice([2, 2, 3]), max(left, 2))
            kind = chance.choice(["Deployment", "Deployment", "StatefulSet", "Job"])
            where = [names[0] if chance.random() < 0.5 else chance.choice(names)]
            where += [chance.choice(names) for _ in range(replicas - 1)]
            self.workload(kind, f"app{number}", where)
            number, left = number + 1, left - replicas
        if self.universe.kueue is None:
            self.tempt(names[0], sorted(PROTECTED))
        else:
            self.queue(self.universe.kueue, names)
            self.tempt(names[0], sorted(PROTECTED - {"gang"}))
        self.metrics.begin()

    def with_kueue(self, chance: random.Random) -> Kueue:
        """Let Kueue run some gangs; it draws by itself, so that all else is drawn as without it."""
        kueue = self.universe.kueue = Kueue(self.cluster, chance, self.universe.reached)
        kueue.mine = self.ground.stop
        return kueue

    def queue(self, kueue: Kueue, names: list[str]) -> None:
        """One gang or two that Kueue runs, with most of their pods on the first node."""
        chance = kueue.chance
        for number in range(chance.choice([1, 2, 2])):
            where = [names[0] if chance.random() < 0.7 else chance.choice(names) for _ in range(3)]
            queue = chance.choice(["team", f"team{number}"])
            app = f"train{number}"
            kueue.add(app, where[: chance.choice([2, 2, 3])], queue, cpu=chance.choice([0.25, 0.5]))
            if chance.random() < 0.3:
                self.cluster.add_pdb(app, unavailable=chance.choice([1, 3, 3]))
            self.metrics.loads[app] = load(chance)
            self.apps.append(app)

    def stir(self, kueue: Kueue) -> None:
        """Something happens that has to do with Kueue, or a gang of it becomes hot."""
        if kueue.chance.random() < 0.7:
            app = kueue.chance.choice(kueue.gangs)
            pods = [p for p in self.cluster.of("pods") if p["metadata"]["labels"]["app"] == app]
            on = Counter(pod["spec"].get("nodeName") for pod in pods)
            if on:
                self.heat_up(app, max(on.values()), kueue.chance)
        else:
            kueue.happen()

    def workload(self, kind: str, app: str, where: list[str]) -> None:
        """A workload, perhaps under a budget, with its load."""
        chance = self.chance
        self.cluster.add_workload(kind, app, where, cpu=chance.choice([0.25, 0.5]))
        if chance.random() < 0.4:
            self.cluster.add_pdb(app, unavailable=chance.choice([0, 1, 1, 1]))
        self.metrics.loads[app] = load(chance)
        self.apps.append(app)

    def tempt(self, node: str, kinds: list[str]) -> None:
        """On the hottest node also one pod that may never be moved, and that is busiest."""
        chance = self.chance
        what = chance.choice(kinds)
        others = [node_object["metadata"]["name"] for node_object in self.cluster.of("nodes")][:2]
        match what:
            case "system":
                self.cluster.add_workload(
                    "Deployment", what, [node, *others], namespace="kube-system"
                )
            case "alone":
                self.cluster.add_workload("Deployment", what, [node])
            case "opted":
                notes = {"rescheduler.io/opt-out": chance.choice(["true", "yes", "perhaps"])}
                self.cluster.add_workload("Deployment", what, [node, *others], notes=notes)
            case "gang":
                labels = {"pod-group.scheduling.sigs.k8s.io": "train"}
                self.cluster.add_workload("Job", what, [node, *others], labels=labels)
            case "bare":
                self.cluster.add_bare_pod(what, node)
            case "agent":
                self.cluster.add_workload("DaemonSet", what, [node, *others])
            case "prometheus":
                labels = {"app.kubernetes.io/name": "prometheus"}
                self.cluster.add_workload("StatefulSet", what, [node, *others], labels=labels)
        self.metrics.loads[what] = constant(0.6)

    def choose_scheduler(self) -> str:
        """By the rescheduler's own prediction, adversarial, slow, or leaving pods Pending."""
        chance, cluster = self.chance, self.cluster
        kind = chance.choice(["plain", "model", "model", "model", "adversarial", "slow", "pending"])
        match kind:
            case "model":
                cluster.pick = self.as_predicted
            case "adversarial":
                cluster.pick = self.worst
            case "slow":
                cluster.scheduling = chance.choice([20.0, 50.0, 120.0])
            case "pending":
                cluster.pick = lambda _, nodes: "" if chance.random() < 0.7 else nodes[0]
        self.universe.reached[f"scheduler: {kind}"] += 1
        return kind

    def as_predicted(self, pod: Object, nodes: list[str]) -> str:
        """Drawn from the landing that was predicted for the pod that it replaces."""
        state = self.universe.state()
        moves = [] if state is None else state.history.moves
        for move in reversed(moves):
            if move.controller == owner_uid(pod) and move.in_flight:
                shares = {name: share for name, share in move.landing.items() if name in nodes}
                if shares:
                    return self.chance.choices(list(shares), list(shares.values()))[0]
        return self.cluster.least_requested(pod, nodes)

    def worst(self, pod: Object, nodes: list[str]) -> str:
        """Where it came from, or else the node with the greatest load."""
        for eviction in reversed(self.ground.evicted):
            if eviction.controller == owner_uid(pod) and eviction.node in nodes:
                return eviction.node
        return max(nodes, key=lambda name: (self.metrics.true_load(name), name))

    def churn(self) -> None:
        """Something happens in the cluster that is nobody's fault."""
        happens = [self.heat] * 6
        happens += [self.vary, self.lose_a_pod, self.flip_one, self.darken, self.lie, self.lag]
        happens += [self.hinder, self.pause, self.restore]
        self.chance.choice(happens)()

    def vary(self) -> None:
        """The load of a workload changes."""
        app = self.chance.choice(sorted(self.metrics.loads))
        self.metrics.loads[app] = load(self.chance)

    def lose_a_pod(self) -> None:
        """Somebody deletes a pod."""
        pods = [pod for pod in self.cluster.of("pods") if owner_uid(pod) and not leaving(pod)]
        self.cluster.delete(self.chance.choice(pods))

    def flip_one(self) -> None:
        """A node becomes Ready, or is not any more."""
        self.flip(self.chance.choice(self.cluster.of("nodes")))

    def darken(self) -> None:
        """Four nodes at once."""
        for node in self.cluster.of("nodes")[:4]:
            self.flip(node)

    def lie(self) -> None:
        """An exporter fails, or works again."""
        name = self.chance.choice(sorted(self.metrics.exporters))
        self.metrics.set_exporter(name, self.chance.choice(["well", "well", *LIES]))

    def lag(self) -> None:
        """The disruption controller is slow."""
        self.cluster.disruption = self.chance.choice([0.2, 5.0, 40.0])

    def hinder(self) -> None:
        """A pod that never goes; or nothing is admitted."""
        self.cluster.held ^= {uid_of(self.chance.choice(self.cluster.of("pods")))}
        self.cluster.quota_refuses = self.chance.random() < 0.2

    def pause(self) -> None:
        """People pause all acting, by a word that they may have mistyped."""
        stored = self.cluster.objects.get(STATE)
        if stored is not None:
            paused = self.chance.choice(["true", "false", "ture"])
            stored["data"] = {**stored.get("data", {}), "paused": paused}
            self.cluster.bump(stored)
            self.ground.paused = None if paused == "false" else self.ground.seconds

    def restore(self) -> None:
        """Somebody puts the state of the first cycle back, as from a backup, or loses it."""
        universe, stored = self.universe, self.cluster.objects.get(STATE)
        if stored is None or universe.backup is not None or self.saved is None:
            return
        universe.back_up(stored)
        if self.chance.random() < 0.5:
            del self.cluster.objects[STATE]
            universe.reached["state lost"] += 1
        else:
            self.cluster.put(*STATE, msgspec.json.decode(self.saved))
            self.ground.restored()
            universe.reached["older state"] += 1
        data = self.cluster.objects.get(STATE, {}).get("data", {})
        if data.get("paused", "false") == "false":
            self.ground.paused = None  # anybody who put it back has ended the pause, knowing or not
        elif self.ground.paused is None:
            self.ground.paused = self.ground.seconds

    def mend(self) -> None:
        """People repair nodes, clocks and the state, and forget how landings compared."""
        self.universe.servers = [
            server for server in self.universe.servers if abs(server) < 60
        ] or [0.0]
        self.put_state_right()
        for node in self.cluster.of("nodes"):
            if not is_ready(node):
                self.flip(node)
        stored = self.cluster.objects.get(STATE)
        if stored is not None:
            landings = {"landings": "forget"} if self.chance.random() < 0.3 else {}
            stored["data"] = {**stored.get("data", {}), "paused": "false", **landings}
            self.cluster.bump(stored)
        self.ground.paused = None

    def forget_landings(self) -> None:
        """People say that landings may be trusted again: nothing else ends GRD009."""
        if STATE in self.cluster.objects:
            self.cluster.objects[STATE]["data"]["landings"] = "forget"

    def flip(self, node: Object) -> None:
        """The node becomes Ready, or is not any more."""
        ready = not is_ready(node)
        name = f"node/{node['metadata']['name']}"
        self.cluster.set_ready(node, ready)
        if ready:
            self.ground.since.pop(name, None)
        else:
            self.universe.forbid(name)

    def heat(self) -> None:
        """One node becomes hot, and it alone: by the workload that has most pods there."""
        pods = [p for p in self.cluster.of("pods") if p["metadata"]["labels"]["app"] in self.apps]
        on = Counter((p["spec"].get("nodeName"), p["metadata"]["labels"]["app"]) for p in pods)
        if not on:
            return
        (_, app), most = self.chance.choice(on.most_common(3))
        self.heat_up(app, most, self.chance)

    def heat_up(self, app: str, most: int, chance: random.Random) -> None:
        """The workload makes the node hot on which it has most pods, and so many."""
        for other_app in self.apps:
            self.metrics.loads[other_app] = constant(chance.choice([0.1, 0.2]))
        self.metrics.loads[app] = constant(2.7 / most if most > 1 else 1.5)

    def put_state_right(self) -> None:
        """Somebody restores the latest state, where it was lost or an older one stands there."""
        universe, backup = self.universe, self.universe.backup
        now, universe.backup = universe.state(), None
        if backup is None or (now and now.sequence >= universe.state_in(backup).sequence):
            return
        self.cluster.objects[STATE] = backup
        self.cluster.bump(backup)
        universe.reached["state put right"] += 1

    def _heal_nodes(self) -> None:
        for node in self.cluster.of("nodes"):
            soft = [taint for taint in taints_of(node) if not is_hard(taint)]
            node["spec"] = {"taints": soft} if soft else {}
            self.cluster.set_ready(node, ready=True)

    def heal(self) -> None:
        """All faults end; what people did is undone, and nothing is hot."""
        universe, cluster = self.universe, self.cluster
        self.metrics.loads = dict.fromkeys(self.metrics.loads, constant(0.1))
        universe.servers = [0.0]
        cluster.disruption, cluster.scheduling, cluster.quota_refuses = 0.2, 0.3, False
        cluster.starting, cluster.grace = 4.0, 3.0
        cluster.pick, cluster.sound = self.as_predicted, lambda _: True
        cluster.held.clear()
        for name in self.metrics.exporters:
            self.metrics.set_exporter(name, "well")
        self._heal_nodes()
        reveal(universe)
        for key in [key for key in cluster.objects if key[0] == "horizontalpodautoscalers"]:
            del cluster.objects[key]
        for key in [k for k in cluster.objects if k[2].endswith(("-x", "-y"))]:
            del cluster.objects[key]
        for kind in ("deployments", "statefulsets"):
            for workload in cluster.of(kind):
                workload.pop("rolling", None)
        cluster.objects["namespaces", "", "default"]["metadata"].pop("annotations", None)
        for pod in cluster.of("pods"):
            if pod["status"]["phase"] == "Running" and not is_ready(pod):
                cluster.start(pod, stamp(cluster.now()))
        self.mend()
        self.forget_landings()
        if universe.kueue is not None:
            universe.kueue.heal()
        cluster.touched()
        self.metrics.offset = 0.0
        self.ground.since.clear()
        self.ground.paused = None
        universe.text = self.universe.text.replace("95%", "60%")


def good(cycle: Cycle) -> bool:
    """Whether it went to its end; that a move was refused meanwhile is no failure."""
    verdict = getattr(cycle.report, "verdict", None)
    return cycle.code == 0 or (cycle.code == 3 and getattr(verdict, "code", "") == "ACT013")


def recovered(run: Run) -> None:
    """I33: the faults stop; the second cycle after that is good. People end only GRD009."""
    run.heal()
    run.cluster.timeline.advance(700.0)
    # A state of a clock that was ahead holds the cycles (GRD007) until the right clock is as far.
    state = run.universe.state()
    written = None if state is None else state.written
    if written is not None:
        ahead = (written - run.cluster.timeline.now()).total_seconds()
        run.cluster.timeline.advance(max(0.0, ahead))
    cycle = run.process().run()
    if not good(cycle):
        run.forget_landings()  # those of the faults may have been compared only now
        run.cluster.timeline.advance(PERIOD)
        cycle = run.process().run()
    if good(cycle):
        for node in tainted(run.universe):
            run.ground.break_("I33", f"a taint of ours is left on {node} after all faults")
        return
    said = cycle.error or getattr(cycle.report, "verdict", "")
    run.ground.break_("I33", f"exit {cycle.code} two periods after all faults: {said}")
