"""Drawn clusters whose nodes are too hot, loose or tight, with what each pod uses."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.readings import FloatArray, Reading, ReadingRequest, Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from tests.cluster import deployment, node, pod, snapshot

CORES = 32.0
HIGH = LOW = 0.72
REQUEST = 0.5
"""Cores that each pod asks for: far less than it may use, so that load alone is short."""
_USES = (1.1, 1.7, 2.6, 3.9, 5.5)
_REPLICAS = (3, 4, 6, 9)
_HOT = 6
"""One of so many nodes is hot."""
_LOADS = {"loose": (0.25, 0.55), "tight": (0.60, 0.76)}
"""What the other nodes use."""


@dataclass(frozen=True, slots=True)
class DrawnLoad:
    """snapshot: without readings. used: (pods,) cores."""

    snapshot: Snapshot
    used: FloatArray

    def read(self, policies: Iterable[Policy]) -> Snapshot:
        """The snapshot with what the policies ask for."""
        wanted = dict.fromkeys(request for policy in policies for request in policy.requests())
        return replace(self.snapshot, readings=Readings(tuple(map(self._reading, wanted))))

    def _reading(self, request: ReadingRequest) -> Reading:
        of_node = request.subject == "node"
        values = self.used
        if of_node:
            values = self.loads() / CORES
        return Reading(
            request=request,
            unit="ratio" if of_node else "cores",
            values=values,
            ages=np.full(len(values), 10.0),
            expected=np.ones(len(values), dtype=np.bool_),
            capacity=np.full(len(values), CORES) if of_node else None,
        )

    def loads(self) -> FloatArray:
        """(nodes,) cores in use."""
        count = len(self.snapshot.nodes)
        return np.bincount(self.snapshot.pod_node, self.used, minlength=count).astype(np.float64)


def drawn(nodes: int, load: str, seed: int) -> DrawnLoad:
    """Deployments whose pods are on random nodes, until each node has the load drawn for it."""
    draw = random.Random(f"{load}/{seed}")
    least, most = _LOADS[load]
    missing = [
        CORES * (draw.uniform(0.8, 0.97) if number % _HOT == 0 else draw.uniform(least, most))
        for number in range(nodes)
    ]
    pods: list[Pod] = []
    controllers: list[Controller] = []
    used: list[float] = []
    while open_to := [place for place in range(nodes) if missing[place] >= _USES[0]]:
        name, use = f"app-{len(controllers) // 2}", draw.choice(_USES)
        open_to = [place for place in open_to if missing[place] >= use]
        if not open_to:
            continue
        # Zones are uneven where the nodes of an application are drawn from few of them.
        zones = draw.sample(range(3), draw.choice((1, 2, 3)))
        near = [place for place in open_to if place % 3 in zones] or open_to
        places = draw.sample(near, min(len(near), draw.choice(_REPLICAS)))
        top, owner = deployment(name, replicas=len(places))
        controllers += [top, owner]
        for number, place in enumerate(places):
            missing[place] -= use
            used.append(use)
            pods.append(
                pod(
                    f"{name}-{number}",
                    f"n{place}",
                    owner=owner,
                    labels={"app": name},
                    requests={"cpu": f"{int(REQUEST * 1000)}m"},
                )
            )
    machines = [
        node(f"n{number}", zone="abc"[number % 3], allocatable={"cpu": f"{CORES:g}", "pods": "110"})
        for number in range(nodes)
    ]
    return DrawnLoad(snapshot(machines, pods, controllers=controllers), np.array(used))


def policies(kinds: Sequence[str]) -> list[Policy]:
    """`Utilization` of the cores, and `Spread` over zones."""
    every: dict[str, Policy] = {
        "Utilization": Utilization.model_validate(
            {
                "name": "hot",
                "nodes": {"all": True},
                "match": {"all": True},
                "targets": {"cpu": {"high": HIGH, "low": LOW}},
            }
        ),
        "Spread": Spread.model_validate({"name": "zones", "match": {"all": True}}),
    }
    return [every[kind] for kind in kinds]
