"""A cluster autoscaler as its documentation describes it: it buys nodes, and drains idle ones.

Defaults of cluster-autoscaler: a scan every 10 s; a node whose pods request less than half of it,
and all fit elsewhere, goes after 10 minutes, and none within 10 minutes of a new one.
"""

from dataclasses import dataclass, field

from tests.fakes.manners import stamp
from tests.simulation.metrics import Exporter
from tests.simulation.objects import Object, cpu_of, is_ready, leaving
from tests.simulation.scenario import Run

SCAN, UNNEEDED, QUIET = 10.0, 600.0, 600.0
UTILIZATION = 0.5
TAINT = {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}


@dataclass
class Autoscaler:
    """It scans for as long as the run lasts. added, removed: names and when; fewest: nodes to keep.

    boots: seconds until a node that was bought is Ready.
    """

    run: Run
    fewest: int
    boots: float = 90.0
    added: dict[str, float] = field(default_factory=dict)
    removed: dict[str, float] = field(default_factory=dict)
    _idle: dict[str, float] = field(default_factory=dict)
    _ordered: bool = False

    def __post_init__(self) -> None:
        self._again()

    def _again(self) -> None:
        self.run.cluster.timeline.after(SCAN, self._scan)

    def _scan(self) -> None:
        pods = [pod for pod in self.run.cluster.of("pods") if not leaving(pod)]
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        if any(not self.run.cluster.feasible(pod) for pod in waiting) and not self._ordered:
            self._ordered = True
            self.run.cluster.timeline.after(self.boots, self._add)
        if not waiting and not self._ordered:
            self._shrink()
        self._again()

    def _add(self) -> None:
        run, now = self.run, self.run.cluster.timeline.seconds
        name = f"ca{len(self.added)}"
        node = run.cluster.add_node(name, zone="ab"[len(self.added) % 2])
        node["metadata"]["creationTimestamp"] = stamp(run.cluster.now())
        run.metrics.exporters[name] = Exporter()
        self.added[name], self._ordered = now, False

    def _shrink(self) -> None:
        now = self.run.cluster.timeline.seconds
        idle = [node for node in self._staying() if self._unneeded(node)]
        self._idle = {name: self._idle.get(name, now) for name in map(_name, idle)}
        if (
            len(self._staying()) <= self.fewest
            or now - max(self.added.values(), default=-QUIET) < QUIET
        ):
            return
        ripe = [node for node in idle if now - self._idle[_name(node)] >= UNNEEDED]
        if ripe:
            self._drain(ripe[0])

    def _drain(self, node: Object) -> None:
        cluster, name = self.run.cluster, _name(node)
        node["spec"] = {"taints": [TAINT]}
        cluster.bump(node)
        self.removed[name] = cluster.timeline.seconds
        for pod in self._pods(node):
            cluster.delete(pod)
        cluster.timeline.after(60, lambda: self._remove(name))

    def _remove(self, name: str) -> None:
        del self.run.cluster.objects["nodes", "", name]
        del self.run.metrics.exporters[name]
        self.run.metrics.nodes.pop(name, None)

    def _staying(self) -> list[Object]:
        nodes = [node for node in self.run.cluster.of("nodes") if is_ready(node)]
        return [node for node in nodes if not node["spec"].get("taints")]

    def _pods(self, node: Object) -> list[Object]:
        return [p for p in self.run.cluster.of("pods") if p["spec"].get("nodeName") == _name(node)]

    def _unneeded(self, node: Object) -> bool:
        """Whether its pods request little, and fit elsewhere, first the largest."""
        cluster = self.run.cluster
        if cluster.requested(_name(node)) >= UTILIZATION * _cpu(node):
            return False
        others = [other_node for other_node in self._staying() if other_node is not node]
        room = {
            _name(other_node): _cpu(other_node) - cluster.requested(_name(other_node))
            for other_node in others
        }
        for pod in sorted(self._pods(node), key=cpu_of, reverse=True):
            best = max(room, key=lambda name: room[name], default="")
            if not best or room[best] < cpu_of(pod):
                return False
            room[best] -= cpu_of(pod)
        return True


def _name(node: Object) -> str:
    return str(node["metadata"]["name"])


def _cpu(node: Object) -> float:
    return float(node["status"]["allocatable"]["cpu"])
