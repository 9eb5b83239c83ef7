"""The faults: each a row of the fault matrix, by the name of what happens and how it is done.

A fault is done once, at a request or a step of a process. Some happen on the wire (the function
answers their name, which `wire.py` knows), others change the world or the process right there.
"""

import random
from collections.abc import Callable
from datetime import timedelta

from tests.fakes.manners import stamp
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
from tests.simulation.process import Process

Fault = Callable[[Process, str, random.Random], str | None]
"""What goes wrong for a process in a phase; answers what the wire is to do, or None."""


def _wire(*names: str) -> Fault:
    def strike(_process: Process, _phase: str, chance: random.Random) -> str | None:
        return chance.choice(names)

    return strike


def _gone(process: Process, phase: str, chance: random.Random) -> str | None:
    """What is asked for does not exist: the policies, the state, the pod."""
    cluster = process.universe.cluster
    if phase == "cfg":
        return "404"
    if phase == "state":
        gone = cluster.objects.pop(STATE, None)
        process.universe.back_up(gone)
    for pod in _targets(process) if phase in ("evict", "watch") else ():
        cluster.delete(pod)
        cluster._vanish(uid_of(pod))
    return None


def _conflict(process: Process, phase: str, chance: random.Random) -> str | None:
    """Somebody else has written the object since it was read, or the name is taken."""
    if phase in ("lock", "wal"):
        key = STATE if phase == "wal" else ("leases", "rescheduler", "rescheduler")
        stored = process.universe.cluster.objects.get(key)
        if stored is not None:
            process.universe.cluster.bump(stored)
        return None
    return "409"


def _two_budgets(process: Process, phase: str, chance: random.Random) -> str | None:
    for pod in _targets(process):
        app = pod["metadata"]["labels"]["app"]
        for name in (f"{app}-x", f"{app}-y"):
            process.universe.cluster.add_pdb(app, name=name)
    return None


def _nonsense(process: Process, phase: str, chance: random.Random) -> str | None:
    """Exporters report what cannot be: of all nodes, or of the one that is hottest."""
    _lie(process, chance, ("nan", "infinite", "negative", "hundredfold"))
    return None


def _old(process: Process, phase: str, chance: random.Random) -> str | None:
    _lie(process, chance, ("old",))
    return None


def _twice(process: Process, phase: str, chance: random.Random) -> str | None:
    if phase == "snap":
        return "twice"
    _lie(process, chance, ("twice",))
    return None


def _lie(process: Process, chance: random.Random, how: tuple[str, ...]) -> None:
    metrics = process.universe.metrics
    names = sorted(metrics.exporters, key=metrics.true_load)
    for name in names if chance.random() < 0.5 else names[-2:]:
        metrics.set_exporter(name, chance.choice(how))


def _clock(process: Process, phase: str, chance: random.Random) -> str | None:
    """The clock of this host, of the servers, of one of them or of Prometheus steps by an hour."""
    step = chance.choice([3600.0, -3600.0])
    universe = process.universe
    match chance.choice(["host", "host", "server", "servers", "prometheus"]):
        case "host":
            process.offset += step
        case "prometheus":
            universe.metrics.offset += step
        case "server":
            universe.servers = [universe.servers[0] + step, universe.servers[0]]
        case _:
            universe.servers = [server + step for server in universe.servers]
    universe.reached["clock step"] += 1
    return None


def _drain(process: Process, phase: str, chance: random.Random) -> str | None:
    """The process is asked to stop, and then a node is drained."""
    cluster = process.universe.cluster
    process.ask_to_stop("SIGTERM was received")
    node = chance.choice(cluster.of("nodes"))
    name = node["metadata"]["name"]
    soft = [taint for taint in taints_of(node) if not is_hard(taint)]
    node["spec"] = {**node["spec"], "unschedulable": True, "taints": [*soft, _CORDON]}
    process.universe.forbid(f"node/{name}")
    cluster.bump(node)
    for pod in list(cluster.of("pods")):
        if pod["spec"].get("nodeName") == name:
            cluster.delete(pod)
    return None


_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def _full(process: Process, phase: str, chance: random.Random) -> str | None:
    return "full"


def _second(process: Process, phase: str, chance: random.Random) -> str | None:
    """A second instance starts, and runs while this one waits; perhaps it dies on the way."""
    universe = process.universe
    other = Process(universe, f"{process.name}-second-{len(universe.cycles)}")
    if chance.random() < 0.3:
        at = chance.randint(1, 40)
        other.weather = _dies(at)
    universe.reached["second instance"] += 1
    process.apart(other.run)
    return None


def _dies(at: int) -> Callable[[Process, str, str], str | None]:
    left = [at]

    def weather(_process: Process, _phase: str, _path: str) -> str | None:
        left[0] -= 1
        return "killed after" if left[0] == 0 else None

    return weather


def _stolen(process: Process, phase: str, chance: random.Random) -> str | None:
    """The process stands still until its lock has expired, and another one takes it."""
    universe = process.universe
    other = Process(universe, f"{process.name}-thief-{len(universe.cycles)}")
    held, state = process.holds_the_lock(), universe.state()
    process.stall(chance.choice([62.0, 90.0, 300.0]), other.run)
    now = universe.state()
    if held and state is not None and now is not None and now.fence > state.fence:
        process.robbed = process.opened and phase != "exit"
        universe.reached["takeover"] += 1
    return None


def _switch(process: Process, phase: str, chance: random.Random) -> str | None:
    """People pause all acting, or edit the policies."""
    universe = process.universe
    stored = universe.cluster.objects.get(STATE)
    if stored is not None and chance.random() < 0.7:
        stored["data"] = {**stored.get("data", {}), "paused": "true"}
        universe.cluster.bump(stored)
        universe.paused()
        universe.reached["kill switch"] += 1
    else:
        universe.text = universe.text.replace("cpu: {high: 60%}", "cpu: {high: 95%}")
        universe.reached["policy edited"] += 1
    return None


def _replaced(process: Process, phase: str, chance: random.Random) -> str | None:
    """Somebody else replaces the pod at once; the new one may have its name."""
    cluster = process.universe.cluster
    for pod in _targets(process):
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        owner = pod["metadata"]["ownerReferences"]
        del cluster.objects["pods", pod["metadata"]["namespace"], name]
        for callback in cluster.removed:
            callback(pod)
        body = {
            "metadata": {
                "labels": pod["metadata"]["labels"],
                "annotations": pod["metadata"]["annotations"],
                "creationTimestamp": stamp(cluster.now()),
                "ownerReferences": owner,
            },
            "spec": {**pod["spec"], "nodeName": node},
        }
        new = cluster.put("pods", pod["metadata"]["namespace"], name, body)
        cluster.start(new, stamp(cluster.now()))
        cluster.touched()
    return None


def _surroundings(process: Process, phase: str, chance: random.Random) -> str | None:
    """A budget, an autoscaler or a rollout of the pod's workload changes."""
    universe, cluster = process.universe, process.universe.cluster
    for pod in _targets(process)[:1]:
        app = pod["metadata"]["labels"]["app"]
        match chance.choice(["budget", "scaler", "rollout", "opt-out"]):
            case "budget":
                for budget in cluster.of("poddisruptionbudgets"):
                    if budget["spec"]["selector"]["matchLabels"]["app"] == app:
                        budget["spec"]["maxUnavailable"] = 0
                        budget["metadata"]["generation"] += 1
                        cluster.bump(budget)
                cluster.touched()
            case "scaler":
                _scale(process, app)
            case "rollout":
                for kind in ("deployments", "statefulsets"):
                    owner = cluster.objects.get((kind, "default", app))
                    if owner is not None:
                        owner["rolling"] = True
                        owner["metadata"]["generation"] += 1
                        cluster.bump(owner)
                        universe.forbid(f"owner/{uid_of(owner)}")
            case "opt-out":
                namespace = cluster.objects["namespaces", "", "default"]
                namespace["metadata"]["annotations"] = {"rescheduler.io/opt-out": "true"}
                cluster.bump(namespace)
                universe.forbid("namespace/default")
    return None


def _scale(process: Process, app: str) -> None:
    universe, cluster = process.universe, process.universe.cluster
    for kind, plural in (("Deployment", "deployments"), ("StatefulSet", "statefulsets")):
        owner = cluster.objects.get((plural, "default", app))
        if owner is not None:
            replicas = owner["spec"]["replicas"]
            body = {
                "metadata": {},
                "spec": {"scaleTargetRef": {"kind": kind, "name": app}, "maxReplicas": 9},
                "status": {
                    "currentReplicas": replicas,
                    "desiredReplicas": replicas + 1,
                    "lastScaleTime": stamp(cluster.now() - timedelta(seconds=1)),
                },
            }
            cluster.put("horizontalpodautoscalers", "default", app, body)
            universe.forbid(f"scaler/{uid_of(owner)}")


def _flip(process: Process, phase: str, chance: random.Random) -> str | None:
    """30 % of the nodes are not Ready any more."""
    cluster = process.universe.cluster
    nodes = cluster.of("nodes")
    for node in chance.sample(nodes, -(-len(nodes) * 3 // 10)):
        cluster.set_ready(node, ready=False)
        process.universe.forbid(f"node/{node['metadata']['name']}")
    return None


def _targets(process: Process) -> list[Object]:
    """The pod whose eviction is under way; before there is one, the movable pods of the hottest."""
    cluster, metrics = process.universe.cluster, process.universe.metrics
    if process.evicting:
        parts = process.evicting.split("/")
        pod = cluster.objects.get(("pods", parts[4], parts[6]))
        there = pod is not None and not leaving(pod) and pod["spec"].get("nodeName")
        return [pod] if pod is not None and there else []
    hottest = max(metrics.exporters, key=metrics.true_load)
    return [
        pod
        for pod in cluster.of("pods")
        if pod["spec"].get("nodeName") == hottest
        and owner_uid(pod)
        and is_ready(pod)
        and not leaving(pod)
    ]


FAULTS: dict[str, Fault] = {
    "connection refused": _wire("refused"),
    "hang": _wire("hang"),
    "slow drip": _wire("drip"),
    "truncated": _wire("truncated"),
    "reply lost": _wire("reply lost"),
    "repeated by a proxy": _wire("repeated"),
    "401 or 403": _wire("401", "403"),
    "404": _gone,
    "409": _conflict,
    "410": _wire("410"),
    "429": _wire("429"),
    "429 by a budget": _wire("budget"),
    "500 two budgets": _two_budgets,
    "503 or 504": _wire("503", "504"),
    "stale read": _wire("stale"),
    "empty": _wire("empty"),
    "partial": _wire("partial"),
    "nonsense": _nonsense,
    "old samples": _old,
    "twice": _twice,
    "clock step": _clock,
    "SIGKILL": _wire("killed", "killed after"),
    "SIGTERM and drain": _drain,
    "memory cap": _wire("killed", "out of memory"),
    "disk full": _full,
    "second instance": _second,
    "lease stolen": _stolen,
    "edit or kill switch": _switch,
    "pod replaced": _replaced,
    "budget, scaler or rollout": _surroundings,
    "30% NotReady": _flip,
}
"""The rows of the fault matrix, in its order."""
