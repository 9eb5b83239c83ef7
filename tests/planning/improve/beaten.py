"""Clusters on which moves that gain together beat single ones."""

from rescheduler.policies.limits import Limits
from tests.cluster import deployment, node, pod, snapshot
from tests.planning.gpu_worlds import whole_gpus
from tests.planning.random_worlds import FREE
from tests.planning.scenarios import GPU
from tests.planning.world import World

STEERED = {"steering": {"by": "AdmissionPolicy"}}


def beaten(**more: object) -> World:
    """Two moves are allowed, and the two that gain most one by one are not the best two.

    n1 | 1 1 1
    n2 | 3 3
    n3 | 3 3
    n4 | 3

    The best single moves take ones off n1, where five GPUs are free, to fill n2 and n3. Better is
    one of them off n1, and a three to it.
    """
    rows = [[1, 1, 1], [3, 3], [3, 3], [3]]
    nodes = [node(f"n{number}", allocatable={GPU: "8"}) for number in range(1, 5)]
    pods, controllers = [], []
    for gpus in (1, 3):
        name = f"of-{gpus}"
        places = [f"n{row}" for row, asked in enumerate(rows, 1) for size in asked if size == gpus]
        top, owner = deployment(name, replicas=len(places))
        controllers += [top, owner]
        pods += [
            pod(f"{name}-{n}", at, owner=owner, labels={"app": name}, requests={GPU: str(gpus)})
            for n, at in enumerate(places)
        ]
    limits = Limits.model_validate(FREE | STEERED | {"movesPerCycle": 2, "gainShare": 0.0} | more)
    return World(snapshot(nodes, pods, controllers=controllers), [whole_gpus()], limits, {})
