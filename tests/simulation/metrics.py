"""A Prometheus over the true load: trailing means over a window, and exporters that fail or lie.

The load of every pod is known at all times; what is answered is what `rate(...[window])` over
samples every `SCRAPE` seconds would be, without its small extrapolations. The program's own queries
are recognized by the series that they name.
"""

import random
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from tests.simulation.controllers import Controlled
from tests.simulation.objects import Object, uid_of
from tests.simulation.virtual_time import START, Timeline

SCRAPE = 15.0
WINDOW = 300.0
"""Seconds over which the policies ask for means."""
LOOKBACK = 300.0
"""Seconds for which an instant query finds a sample."""
MAX_AGE = 180.0
"""The default `maxAge` of a policy."""
_KEEP = 900.0

Load = Callable[[float], float]
"""CPUs that a pod uses, by the time in seconds."""


class Usage:
    """A quantity over time, constant between two samples."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.total: list[float] = []
        """The integral up to each time."""
        self.value = 0.0

    def sample(self, at: float, value: float) -> None:
        """From then on it has this value."""
        before = self.total[-1] + self.value * (at - self.times[-1]) if self.times else 0.0
        self.value = value
        self.times.append(at)
        self.total.append(before)
        if len(self.times) > 400 and self.times[200] < at - _KEEP:
            del self.times[:200], self.total[:200]

    def integral(self, at: float) -> float:
        """The integral from the first sample up to a time."""
        index = bisect_right(self.times, at) - 1
        if index < 0:
            return 0.0
        last = index == len(self.times) - 1
        if last:
            return self.total[-1] + self.value * (at - self.times[-1])
        share = (at - self.times[index]) / (self.times[index + 1] - self.times[index])
        return self.total[index] + share * (self.total[index + 1] - self.total[index])

    def mean(self, at: float, window: float) -> float:
        """The mean over the window that ends then; before the first sample it was 0."""
        return (self.integral(at) - self.integral(at - window)) / window


class Exporter:
    """One node's exporter. state: `well`, or what is wrong with what it reports.

    since: when that began.
    """

    def __init__(self) -> None:
        self.state = "well"
        self.since = 0.0


LIES = ("dead", "frozen", "nan", "infinite", "hundredfold", "negative", "old", "twice", "missing")
"""What an exporter may do. A tenfold value that is still in range cannot be told from the truth."""


class SimMetrics:
    """The metric source. offset: by how much its clock is wrong."""

    def __init__(self, timeline: Timeline, cluster: Controlled, chance: random.Random) -> None:
        self.timeline = timeline
        self.cluster = cluster
        self.chance = chance
        self.offset = 0.0
        self.loads: dict[str, Load] = {}
        """By app, what each of its pods uses."""
        self.exporters: dict[str, Exporter] = {}
        self.nodes: dict[str, Usage] = {}
        self.pods: dict[str, Usage] = {}
        self.forged: dict[str, float] = {}
        """By node, what a target that a tenant has scraped says of it: its load, 0 to 1."""
        self.odd: set[str] = set()
        """The nodes whose values were unfit all the while that they were last asked for."""
        self._doubtful: set[str] = set()
        self._scraped = -1.0
        cluster.removed.append(lambda pod: self.pods.pop(uid_of(pod), None))

    def begin(self) -> None:
        """As if everything had run as it does for a long time."""
        at = self.timeline.seconds
        for node in self.cluster.of("nodes"):
            self.exporters[node["metadata"]["name"]] = Exporter()
        self._scrape(at - _KEEP)
        self.scrape()
        self.cluster.changed.append(self.scrape)

    def scrape(self) -> None:
        """Sample every node and pod, now and at every scrape."""
        self._scrape(self.timeline.seconds)

    def _scrape(self, at: float) -> None:
        self._scraped = at
        load = dict.fromkeys(self.exporters, 0.0)
        for pod in self.cluster.of("pods"):
            node = pod["spec"].get("nodeName")
            if not node or pod["status"]["phase"] != "Running":
                continue
            used = self.use(pod)
            usage = self.pods.setdefault(uid_of(pod), Usage())
            usage.sample(at, used)
            load[node] = load.get(node, 0.0) + used
        for name, value in load.items():
            self.nodes.setdefault(name, Usage()).sample(at, value)

    def use(self, pod: Object) -> float:
        """CPUs that a pod uses now."""
        load = self.loads.get(pod["metadata"]["labels"]["app"])
        return 0.05 if load is None else load(self.timeline.seconds)

    def used(self, uid: str) -> float:
        """The mean of what a pod used over the window of the policies, CPUs."""
        usage = self.pods.get(uid)
        return 0.0 if usage is None else usage.mean(self.timeline.seconds, WINDOW)

    def true_load(self, node: str) -> float:
        """The node's load now, 0 to 1 (and above, where it is overloaded)."""
        pods = [p for p in self.cluster.of("pods") if p["spec"].get("nodeName") == node]
        return sum(map(self.use, pods)) / self.capacity(node)

    def capacity(self, node: str) -> float:
        """The node's CPUs."""
        return float(self.cluster.objects["nodes", "", node]["status"]["capacity"]["cpu"])

    def set_exporter(self, node: str, state: str) -> None:
        """From now on the node's exporter is like that."""
        exporter = self.exporters[node]
        exporter.state, exporter.since = state, self.timeline.seconds

    def query(self, promql: str, time: float | None) -> list[Object]:
        """The rows of an instant vector."""
        at = self.timeline.seconds if time is None else time - START.timestamp() - self.offset
        stamp = START.timestamp() + at + self.offset
        if promql.endswith("vector(1)"):  # alone, or with the question of which clusters there are
            return [row({}, stamp, 1.0)]
        if self.timeline.seconds - self._scraped > 1.0:
            self.scrape()
        window = _window(promql)
        if "node_cpu_seconds_total" in promql:
            self._doubtful = {name for name in self.exporters if self._unfit(name, at)}
            true = self._nodes(stamp, lambda node: self._load(node, at, window))
            return true + self._forged(promql, stamp, lambda node: self.forged[node])
        if promql.startswith("timestamp(node_time_seconds"):
            self.odd = self._doubtful & {n for n in self.exporters if self._unfit(n, at)}
            true = self._nodes(stamp, lambda node: self._newest(node, at, window))
            return true + self._forged(promql, stamp, lambda _: stamp - stamp % SCRAPE)
        if promql.startswith("sum by (cluster,job,instance,") and "rate(container_cpu" in promql:
            return self._pods(stamp, at, window)
        if "timestamp(container_cpu_usage_seconds_total" in promql:
            return self._nodes(stamp, lambda node: self._newest(node, at, window))
        return []

    def _nodes(self, stamp: float, value: Callable[[str], list[float | str]]) -> list[Object]:
        return [
            row({"job": "node", "instance": f"{name}:9100", "node": name, **extra}, stamp, sample)
            for name in self.exporters
            for sample, extra in zip(value(name), ({}, {"replica": "b"}), strict=False)
            if ("nodes", "", name) in self.cluster.objects
        ]

    def _forged(self, promql: str, stamp: float, value: Callable[[str], float]) -> list[Object]:
        """What targets of a tenant export of nodes; a query for one job does not hear them."""
        return [
            row({"job": "evil", "instance": "10.9.9.9:9100", "node": name}, stamp, value(name))
            for name in self.forged
            if 'job="' not in promql and ("nodes", "", name) in self.cluster.objects
        ]

    def _unfit(self, name: str, at: float) -> bool:
        """Whether nothing that the exporter says may be used."""
        exporter = self.exporters[name]
        if exporter.state in ("dead", "frozen"):
            return at - exporter.since > MAX_AGE + SCRAPE
        return exporter.state != "well"

    def _gone(self, name: str, at: float) -> bool:
        exporter = self.exporters[name]
        silent = at - exporter.since > LOOKBACK
        return exporter.state == "missing" or (exporter.state in ("dead", "frozen") and silent)

    def _load(self, name: str, at: float, window: float) -> list[float | str]:
        """The node's mean load as the exporter has it."""
        exporter = self.exporters[name]
        if self._gone(name, at):
            return []
        until = min(at, exporter.since) if exporter.state in ("dead", "frozen") else at
        true = min(self.nodes[name].mean(until, window) / self.capacity(name), 1.0)
        match exporter.state:
            case "nan":
                return ["NaN"]
            case "infinite":
                return ["+Inf"]
            case "hundredfold":
                return [100 * (true + 0.02)]
            case "negative":
                return [-true - 0.2]
            case "twice":
                return [true, max(0.0, true - 0.3) if true > 0.5 else true + 0.3]
        return [true]

    def _newest(self, name: str, at: float, _window: float) -> list[float | str]:
        """When the node's newest sample was taken, by Prometheus' clock."""
        exporter = self.exporters[name]
        if self._gone(name, at):
            return []
        if exporter.state in ("dead", "frozen"):
            at = min(at, exporter.since)
        if exporter.state == "old":
            at -= 3600
        newest = START.timestamp() + self.offset + at - at % SCRAPE
        return [newest] * (2 if exporter.state == "twice" else 1)

    def _pods(self, stamp: float, at: float, window: float) -> list[Object]:
        rows = []
        for pod in self.cluster.of("pods"):
            usage = self.pods.get(uid_of(pod))
            node = pod["spec"].get("nodeName")
            if usage is None or node not in self.exporters or self._gone(node, at):
                continue
            metadata = pod["metadata"]
            labels = {
                "job": "cadvisor",
                "instance": f"{node}:9100",
                "node": node,
                "namespace": metadata["namespace"],
                "pod": metadata["name"],
            }
            rows.append(row(labels, stamp, usage.mean(at, window)))
        return rows


def row(labels: dict[str, str], stamp: float, value: Any) -> Object:
    """A row of an instant vector."""
    return {"metric": labels, "value": [stamp, value if isinstance(value, str) else repr(value)]}


def _window(promql: str) -> float:
    inner = promql.partition("[")[2].partition("s]")[0]
    return float(inner) if inner else LOOKBACK
