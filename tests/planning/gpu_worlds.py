"""Small random worlds of GPUs, where moves gain together what none of them gains alone."""

from functools import cache

from hypothesis import strategies as st

from rescheduler.kube.controllers import Controller, PodDisruptionBudget
from rescheduler.kube.objects import Pod
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.limits import Limits
from tests.cluster import budget, deployment, node, pod, snapshot
from tests.planning.random_worlds import FREE, PACED
from tests.planning.scenarios import GPU
from tests.planning.world import World


def whole_gpus(*others: str) -> Fragmentation:
    """Free GPUs, and other resources, count as far as the pods that there are could use them."""
    return Fragmentation.model_validate(
        {
            "name": "gpus",
            "match": {"all": True},
            "nodes": {"all": True},
            "resources": ["gpu", *others],
            "popularity": "Needing",
        }
    )


# A strategy costs more to make than to draw from, so each is made once.
_GPUS = st.sampled_from([1, 1, 2, 2, 3, 4, 8])
_CPU = st.sampled_from(["100m", "500m", "2"])


@cache
def _places(nodes: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, nodes - 1), min_size=2, max_size=5)


@st.composite
def gpu_worlds(draw: st.DrawFn, *, free: bool = False) -> World:
    """3 to 8 nodes of 8 GPUs, filled with pods of 1 to 8 GPUs wherever there is room.

    free: nothing is limited, and there are no budgets.
    """
    count = draw(st.integers(3, 8))
    nodes = [node(f"n{i}", zone="abc"[i % 3], allocatable={GPU: "8"}) for i in range(count)]
    room = [8] * count
    pods: list[Pod] = []
    controllers: list[Controller] = []
    budgets: list[PodDisruptionBudget] = []
    for number in range(draw(st.integers(3, 8))):
        app, gpus = f"app-{number}", draw(_GPUS)
        cpu = draw(_CPU)
        places = draw(_places(count))
        on = []
        for place in places:
            if room[place] >= gpus:
                room[place] -= gpus
                on.append(f"n{place}")
        if not on:
            continue
        top, owner = deployment(app, replicas=len(on))
        controllers += [top, owner]
        for replica, name in enumerate(on):
            asked = {GPU: str(gpus), "cpu": cpu}
            labels = {"app": app}
            pods.append(pod(f"{app}-{replica}", name, owner=owner, labels=labels, requests=asked))
        if not free and draw(st.booleans()):
            allowed = draw(st.integers(0, 2))
            budgets.append(budget(app, app, allowed=allowed, healthy=len(on)))
    strength = draw(st.sampled_from(["Prefer", "Require"]))
    limits = (FREE if free else FREE | draw(PACED)) | {
        "steering": {
            "by": draw(st.sampled_from(["AdmissionPolicy", "Webhook"])),
            "strength": strength,
        },
        "minReplicas": 1,
    }
    made = snapshot(nodes, pods, controllers=controllers, budgets=budgets)
    others = draw(st.sampled_from([(), ("cpu",)]))
    seed = draw(st.integers(0, 3))
    return World(made, [whole_gpus(*others)], Limits.model_validate(limits), {}, seed=seed)
