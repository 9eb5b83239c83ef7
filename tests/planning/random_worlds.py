"""Small random worlds with everything in them that may hold a move."""

from functools import cache

from hypothesis import strategies as st

from rescheduler.kube.controllers import Controller, PodDisruptionBudget
from rescheduler.kube.objects import Pod
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.cluster import budget, deployment, node, pod, snapshot
from tests.planning.scenarios import GPU, gpu_below
from tests.planning.world import World

FREE = {
    "movesPerCycle": 1000,
    "movesPerNode": 1000,
    "movesPerNamespace": 1000,
    "movesPerWorkload": 1000,
    "movesPerHour": 1000,
    "coolDown": "0s",
    "maxHotShare": 1.0,
    "maxNotReadyShare": 1.0,
}
"""Limits that limit nothing."""

PACED = st.fixed_dictionaries(
    {
        "movesPerCycle": st.sampled_from([8, 6, "50%", 4, 2, 1]),
        "movesPerNode": st.sampled_from([4, 3, "67%", 2, 1]),
        "movesPerNamespace": st.sampled_from([8, 6, "34%", 3]),
        "movesPerWorkload": st.sampled_from([4, 3, "51%", 2, 1]),
        "movesPerHour": st.sampled_from([9, 7, 3, 1]),
        "batchSize": st.integers(1, 3),
        "maxReturn": st.sampled_from([0.0, 0.3, 0.5]),
        "gainShare": st.sampled_from([0.0, 0.5, 1.0]),
    }
)


def policies(kinds: str) -> list[Policy]:
    """`u` keeps GPU load below a half, `s` spreads over zones."""
    made: list[Policy] = []
    if "u" in kinds:
        made.append(gpu_below())
    if "s" in kinds:
        made.append(Spread.model_validate({"name": "zones", "match": {"all": True}}))
    return made


STEERING = st.sampled_from(
    [
        {"by": "None"},
        {"by": "AdmissionPolicy", "strength": "Prefer"},
        {"by": "Webhook", "strength": "Require"},
        {"by": "SoftTaint"},
    ]
)


# A strategy costs more to make than to draw from, so each is made once.
_USE = st.sampled_from([0.0, 0.3, 0.9])
_CPU = st.sampled_from(["100m", "500m"])
_OPTED_OUT = st.sampled_from([False, False, True])


@cache
def _favorites(nodes: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, nodes - 1), min_size=1, max_size=3)


@cache
def _among(favorites: tuple[int, ...], least: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.sampled_from(favorites), min_size=least, max_size=6)


@st.composite
def worlds(
    draw: st.DrawFn, kinds: tuple[str, ...] = ("u", "s", "us"), *, free: bool = False
) -> World:
    """A world of 3 to 6 nodes and up to 24 pods.

    free: nothing is limited, there are no budgets, and all pods use the same.
    """
    count = draw(st.integers(3, 6))
    nodes = [node(f"n{i}", zone="abc"[i % 3], allocatable={GPU: "8"}) for i in range(count)]
    pods: list[Pod] = []
    controllers: list[Controller] = []
    budgets: list[PodDisruptionBudget] = []
    use: dict[str, float] = {}
    for app in ["web", "api", "job", "ml"][: draw(st.integers(1, 4))]:
        favorites = draw(_favorites(count))
        on = draw(_among(tuple(favorites), 4 if app == "web" else 2))
        top, owner = deployment(app, replicas=len(on))
        controllers += [top, owner]
        use[app] = 0.9 if free or app == "web" else draw(_USE)
        requests = {GPU: "1", "cpu": draw(_CPU)}
        annotations = {"rescheduler.io/opt-out": "true"} if draw(_OPTED_OUT) else {}
        for number, at in enumerate(on):
            pods.append(
                pod(
                    f"{app}-{number}",
                    f"n{at}",
                    owner=owner,
                    labels={"app": app},
                    requests=requests,
                    annotations=annotations if number == 0 else {},
                )
            )
        if not free and draw(st.booleans()):
            allowed = draw(st.integers(0, 2))
            budgets.append(budget(app, app, allowed=allowed, healthy=len(on)))
    limits = (FREE if free else FREE | draw(PACED)) | {"steering": draw(STEERING)}
    made = snapshot(nodes, pods, controllers=controllers, budgets=budgets)
    chosen = policies(draw(st.sampled_from(kinds)))
    return World(made, chosen, Limits.model_validate(limits), use, seed=draw(st.integers(0, 3)))
