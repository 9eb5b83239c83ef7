"""Clusters with hot nodes, for the tests of the loop and for the recording that the demo plays."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import BaseLoad, Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment

Manifest = dict[str, Any]


@dataclass
class LoadScenario:
    """A cluster with hot nodes. use: what one pod of each workload (by label `app`) really uses."""

    hot: list[str]
    capacity: float
    use: dict[str, float] = field(default_factory=dict)
    base: float = 0.0

    def load(self, cluster: Cluster) -> dict[str, float]:
        """Load of every node that has any, as a share of its capacity, as declared."""
        total: defaultdict[str, float] = defaultdict(float)
        for pod in cluster.pods():
            app = pod["metadata"]["labels"].get("app", "")
            name = pod["spec"].get("nodeName")
            if name and "deletionTimestamp" not in pod["metadata"]:
                total[name] += self.use.get(app, 0.0)
        return {name: self.base + used / self.capacity for name, used in total.items()}


def hot_gpus(cluster: Cluster, count: int = 60, hot: int = 5) -> LoadScenario:
    """`hot` of `count` nodes with 8 GPUs each at 95 %, the others at about 10 %.

    Each hot node has one pod of each of 8 workloads, under a budget of one disruption each; so 4 a
    node have to go. Requests differ from node to node, as they do in life.
    """
    cluster.create(*nodes(count, cpu=64, memory="512Gi", gpus=8, zones=["a", "b", "c"]))
    names = [f"n{number}" for number in range(1, count + 1)]
    scenario = LoadScenario(hot=names[:hot], capacity=8)
    rows: list[tuple[Manifest, Sequence[str] | Mapping[str, int]]] = []
    for number in range(8):
        app = f"train-{number}"
        load = Load(gpu=0.95, cpu=2.0, memory=8 << 30)
        rows.append((deployment(app, hot, cpu=4, memory="16Gi", gpus=1, load=load), names[:hot]))
        scenario.use[app] = 0.95
    calm = names[hot:]
    for number in range(5):
        app = f"serve-{number}"
        own = calm[number::5]
        load = Load(gpu=0.8, cpu=1.0, memory=4 << 30)
        cpu, memory = 1 + number, f"{4 + 3 * number}Gi"
        rows.append((deployment(app, len(own), cpu=cpu, memory=memory, gpus=1, load=load), own))
        scenario.use[app] = 0.8
    cluster.create(*(budget(app, max_unavailable=1) for app in scenario.use))
    cluster.arrange(rows, deadline=120)
    return scenario


def hot_nodes(
    cluster: Cluster, busy: Load, use: float, capacity: float, count: int = 20
) -> LoadScenario:
    """3 of `count` nodes at about 78 % of something, while requests are 25 to 35 % everywhere.

    busy: the load of each of the 10 pods on a hot node. use: the same in units of `capacity`.
    """
    cluster.create(*nodes(count, cpu=64, memory="256Gi", zones=["a", "b"], load=BaseLoad(cpu=1.0)))
    names = [f"n{number}" for number in range(1, count + 1)]
    hot, calm = names[:3], names[3:]
    scenario = LoadScenario(hot=hot, capacity=capacity)
    rows: list[tuple[Manifest, Sequence[str] | Mapping[str, int]]] = []
    for number in range(10):
        app = f"busy-{number}"
        rows.append((deployment(app, 3, cpu=1, memory="4Gi", load=busy), hot))
        scenario.use[app] = use
    rows.append((deployment("idle", 3, cpu=12, memory="48Gi", load=Load(cpu=0.2)), hot))
    rows.append((deployment("calm", len(calm), cpu=16, memory="64Gi", load=Load(cpu=2.0)), calm))
    cluster.create(*(budget(app, max_unavailable=1) for app in [*scenario.use, "idle", "calm"]))
    cluster.arrange(rows, deadline=120)
    return scenario


def unwanted_calm(cluster: Cluster) -> LoadScenario:
    """5 of 40 nodes at 83 % GPU whose requests are the smallest in the cluster.

    kube-scheduler likes exactly these nodes best, so that every evicted pod would come back to one
    of them.
    """
    cluster.create(*nodes(40, cpu=64, memory="512Gi", gpus=8, zones=["a", "b", "c"]))
    names = [f"n{number}" for number in range(1, 41)]
    hot, calm = names[:5], names[5:]
    scenario = LoadScenario(hot=hot, capacity=8)
    rows: list[tuple[Manifest, Sequence[str] | Mapping[str, int]]] = []
    for number in range(7):
        app = f"lean-{number}"
        load = Load(gpu=0.95, cpu=1.0)
        rows.append((deployment(app, 5, cpu="100m", memory="256Mi", gpus=1, load=load), hot))
        scenario.use[app] = 0.95
    rows.append((deployment("fat", 35, cpu=40, memory="300Gi", gpus=1, load=Load(gpu=0.3)), calm))
    scenario.use["fat"] = 0.3
    cluster.create(*(budget(app, max_unavailable=1) for app in scenario.use))
    cluster.arrange(rows, deadline=120)
    return scenario


def zone_outage(cluster: Cluster, workloads: int = 6) -> None:
    """Every workload of 6 pods sits in zones a and b; zone c has just come back, empty."""
    for zone in "ab":
        cluster.create(*nodes(6, prefix=zone, zones=[zone], cpu=16, memory="64Gi"))
    rows: list[tuple[Manifest, Sequence[str] | Mapping[str, int]]] = []
    for number in range(workloads):
        places = [f"{zone}{1 + (number + step) % 6}" for step in range(3) for zone in "ab"]
        rows.append((deployment(f"web-{number}", 6, cpu="500m", memory="1Gi"), places))
    cluster.create(*(budget(f"web-{n}", max_unavailable=1) for n in range(workloads)))
    cluster.arrange(rows, deadline=120)
    cluster.create(*nodes(6, prefix="c", zones=["c"], cpu=16, memory="64Gi"))
    cluster.settled()
