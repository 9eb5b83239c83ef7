"""ROADEF/EURO 2012 (Google machine reassignment) as a snapshot and policies of ours.

A machine is a node with labels of its location and neighborhood, a process a pod, a service a
workload. Safety capacities are annotations of the nodes, resources have names of their own,
conflicts are required anti-affinity by hostname, dependencies required affinity by neighborhood.
What Kubernetes has no word for is left out: the least number of locations, and what is taken on
both machines during a move.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rescheduler.kube.controllers import Controller
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.allocation.policy import Allocation
from tests.bench.packed import text_of
from tests.cluster import deployment, like, node, pod, snapshot

Numbers = npt.NDArray[np.int64]
LOCATION, NEIGHBORHOOD = "roadef.org/location", "roadef.org/neighborhood"
_TARGETS = "rescheduler.io/request-targets"


@dataclass(frozen=True, slots=True)
class Instance:
    """The numbers of a model and its assignment; tables have a row for each machine or process.

    moving: (processes,) what moving each from home costs by itself, to any machine on average.
    """

    transient: Numbers
    weights: Numbers
    neighborhood: Numbers
    location: Numbers
    capacity: Numbers
    safety: Numbers
    least: Numbers
    needs: list[list[int]]
    service: Numbers
    demand: Numbers
    balances: Numbers
    home: Numbers
    moving: npt.NDArray[np.float64]


def read(model: Path, assignment: Path) -> Instance:
    """The files, packed or not."""
    every, at = numbers(model), 0

    def take(count: int) -> Numbers:
        nonlocal at
        at += count
        return every[at - count : at]

    kinds = int(take(1)[0])
    resources = take(2 * kinds).reshape(kinds, 2)
    size = int(take(1)[0])
    machines = take(size * (2 + 2 * kinds + size)).reshape(size, -1)
    least, needs = [], []
    for _ in range(int(take(1)[0])):
        spread, count = take(2).tolist()
        least.append(spread)
        needs.append(take(count).tolist())
    count = int(take(1)[0])
    processes = take(count * (kinds + 2)).reshape(count, -1)
    balances = take(4 * int(take(1)[0])).reshape(-1, 4)
    of_process, _, of_machine = take(3).tolist()
    home = numbers(assignment)
    between = machines[:, 2 + 2 * kinds :].mean(axis=1)
    return Instance(
        transient=resources[:, 0],
        weights=resources[:, 1],
        neighborhood=machines[:, 0],
        location=machines[:, 1],
        capacity=machines[:, 2 : 2 + kinds],
        safety=machines[:, 2 + kinds : 2 + 2 * kinds],
        least=np.array(least, dtype=np.int64),
        needs=needs,
        service=processes[:, 0],
        demand=processes[:, 1 : 1 + kinds],
        balances=balances,
        home=home,
        moving=of_process * processes[:, 1 + kinds] + of_machine * between[home],
    )


def numbers(path: Path) -> Numbers:
    """All of a file."""
    return np.fromstring(text_of(path), dtype=np.int64, sep=" ")


def resource(number: int) -> str:
    """The name of a resource."""
    return f"roadef.org/r{number}"


def policy(instance: Instance) -> tuple[Allocation, float]:
    """The objective but for the costs of moves, and how much of it 1.0 of the policy's cost is.

    What a move costs is a price (`moving`), but for the most moves of one service.

    An Allocation counts in average pods and the challenge in units, so weights make up for that.
    """
    units = _averages(instance)
    targets = instance.weights * units
    balanced = [
        (one, other, ratio, weight * units[other])
        for one, other, ratio, weight in instance.balances.tolist()
    ]
    scale = float(max([*targets, *(balance[3] for balance in balanced)]))
    made = Allocation.model_validate(
        {
            "name": "challenge",
            "match": {"all": True},
            "nodes": {"all": True},
            "resources": [
                {"resource": resource(number), "weight": weight / scale}
                for number, weight in enumerate(targets.tolist())
                if weight > 0
            ],
            "balances": [
                {
                    "resource": resource(one),
                    "needs": resource(other),
                    "ratio": ratio,
                    "weight": weight / scale,
                }
                for one, other, ratio, weight in balanced
                if weight > 0
            ],
        }
    )
    return made, scale


def _averages(instance: Instance) -> npt.NDArray[np.float64]:
    asking = np.maximum((instance.demand > 0).sum(axis=0), 1)
    made: npt.NDArray[np.float64] = np.maximum(instance.demand.sum(axis=0), 1) / asking
    return made


def cluster(instance: Instance) -> Snapshot:
    """The snapshot."""
    kinds = range(len(instance.weights))
    nodes = [
        node(
            f"m{number}",
            allocatable={
                "pods": "1000000",
                **{resource(kind): str(capacity[kind]) for kind in kinds},
            },
            labels={
                LOCATION: f"l{instance.location[number]}",
                NEIGHBORHOOD: f"n{instance.neighborhood[number]}",
            },
        )
        for number, capacity in enumerate(instance.capacity.tolist())
    ]
    for number, safety in enumerate(instance.safety.tolist()):
        text = json.dumps({resource(kind): str(safety[kind]) for kind in kinds})
        nodes[number].metadata.annotations = {_TARGETS: text}
    counts = np.bincount(instance.service, minlength=len(instance.least)).tolist()
    controllers: list[Controller] = []
    templates = []
    for service, count in enumerate(counts):
        top, owner = deployment(f"s{service}", replicas=max(1, count))
        controllers += [top, owner]
        templates.append(
            pod(
                "",
                "m0",
                owner=owner,
                requests={},
                labels={"app": f"s{service}"},
                affinity=_affinity(service, instance.needs[service]),
            )
        )
    pods = []
    homes, names = instance.home.tolist(), [resource(kind) for kind in kinds]
    for number, (service, demand) in enumerate(
        zip(instance.service.tolist(), instance.demand.tolist(), strict=True)
    ):
        asked = {name: str(amount) for name, amount in zip(names, demand, strict=True) if amount}
        pods.append(like(templates[service], f"p{number}", f"m{homes[number]}", asked))
    return snapshot(nodes, pods, controllers=controllers)


def _affinity(service: int, needs: list[int]) -> dict[str, object]:
    def term(other: int, key: str) -> dict[str, object]:
        return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": f"s{other}"}}}

    required = "requiredDuringSchedulingIgnoredDuringExecution"
    made: dict[str, object] = {
        "podAntiAffinity": {required: [term(service, "kubernetes.io/hostname")]}
    }
    if needs:
        made["podAffinity"] = {required: [term(other, NEIGHBORHOOD) for other in needs]}
    return made
