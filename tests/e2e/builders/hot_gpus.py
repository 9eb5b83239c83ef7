"""Scenario: a few nodes whose GPUs are hot, among many that have room."""

from tests.e2e.builders.cluster import Cluster, Places
from tests.e2e.builders.load import BaseLoad, Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.controlplane.api import Manifest

GPUS = 8


def hot_gpus(
    cluster: Cluster,
    count: int = 60,
    *,
    hot: int = 5,
    busy: float = 0.95,
    calm: float = 0.2,
    namespace: str = "training",
) -> list[str]:
    """`count` nodes with 8 GPUs each; on `hot` of them 8 pods of 8 workloads, each GPU `busy`.

    The others have 4 of their GPUs in use at `calm` (so a mean of half of that), one workload
    a node. Every workload has a PDB with maxUnavailable 1, and each GPU pod asks for one GPU.
    Returns the names of the hot nodes; all pods are Ready.
    """
    cluster.namespace(namespace)
    made = cluster.create(*nodes(count, "gpu", zones=["a", "b", "c"], gpus=GPUS, load=_SYSTEM))
    names = [item["metadata"]["name"] for item in made]
    hot_names, calm_names = names[:hot], names[hot:]
    placed: list[tuple[Manifest, Places]] = []
    for index in range(GPUS):
        # Workload i has one pod on every hot node: eight workloads, each spread over all of them.
        load = Load(cpu=1, memory=4 << 30, gpu=busy, transmit=1e6, receive=1e6)
        placed.append((_workload(f"hot{index}", hot, namespace, load), hot_names))
    for index, name in enumerate(calm_names):
        load = Load(cpu=1, memory=4 << 30, gpu=calm, transmit=1e6, receive=1e6)
        placed.append((_workload(f"calm{index}", 4, namespace, load), [name] * 4))
    apps = [workload["metadata"]["name"] for workload, _ in placed]
    cluster.create(*(budget(app, namespace=namespace, max_unavailable=1) for app in apps))
    cluster.arrange(placed, deadline=120)
    return hot_names


_SYSTEM = BaseLoad(cpu=0.5, memory=2 << 30, transmit=1e6, receive=1e6)


def _workload(name: str, replicas: int, namespace: str, load: Load) -> Manifest:
    return deployment(name, replicas, namespace=namespace, load=load, gpus=1, cpu="2", memory="8Gi")
