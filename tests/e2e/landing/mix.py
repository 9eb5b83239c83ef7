"""Random clusters in which all features that decide a landing meet, from a seed."""

from random import Random
from typing import Any

from tests.e2e.builders.surroundings import priority_class, service
from tests.e2e.landing.mix_devices import Devices
from tests.e2e.landing.mix_nodes import nodes
from tests.e2e.landing.mix_pods import PodMix
from tests.e2e.landing.mix_storage import Storage

Manifest = dict[str, Any]
NAMESPACES = {"default": {}, "blue": {"team": "blue"}, "green": {"team": "green"}}
HEAVY = "heavy"
PRIORITIES = (
    priority_class("low", 10),
    priority_class("high", 1000),
    priority_class("polite", 1000, "Never"),
)


class Mix:
    """Nodes, surroundings, workloads and single pods of one random cluster.

    random: what is drawn next. size: how many nodes. Names carry the seed, so that no cluster meets
    another's leftovers.
    """

    def __init__(self, seed: int, sizes: tuple[int, int] = (5, 90)) -> None:
        """Draw the cluster's outline. sizes: least and most nodes."""
        self.random = Random(seed)
        self.size = self.random.randint(*sizes)
        zones = self.random.choice([[], ["a", "b"], ["a", "b", "c"]])
        count = min(self.size // 3 + 5, 18)
        self._apps = [f"s{seed}x{number}" for number in range(count)]
        self._nodes = nodes(self.random, f"s{seed}n", self.size, zones)
        names = [node["metadata"]["name"] for node in self._nodes]
        self._storage = Storage(self.random, f"s{seed}", names, zones)
        self._devices = Devices(self.random, f"s{seed}", names, list(NAMESPACES))
        self._pods = PodMix(self.random, self._apps, names, self._storage, self._devices)

    def nodes(self) -> list[Manifest]:
        """Nodes of several sizes, most in a zone and a rack, some tainted or with images."""
        return self._nodes

    def surroundings(self) -> list[Manifest]:
        """What pods refer to: priorities, a runtime with overhead, Services, volumes."""
        runtime = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": HEAVY},
            "handler": HEAVY,
            "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
        }
        made: list[Manifest] = [*PRIORITIES, runtime, *self._storage.surroundings()]
        made += self._devices.surroundings()
        for app in self._apps:
            if self.random.random() < 0.4:
                namespace = self.random.choice(list(NAMESPACES))
                made.append(service(app, namespace=namespace, headless=True))
        if self.random.random() < 0.3:
            wide = service(f"{self._apps[0]}-tier", headless=True)
            wide["spec"]["selector"] = {"tier": "front"}
            made.append(wide)
        return made

    def workloads(self) -> list[Manifest]:
        """Deployments, StatefulSets, Jobs and ReplicationControllers, after their claims."""
        return [made for app in self._apps for made in self._pods.workload(app)]

    def pod(self, number: int) -> list[Manifest]:
        """One more pod without an owner, after its claims."""
        return self._pods.single(number)
