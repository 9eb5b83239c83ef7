"""The planner's two great scenarios, in memory and at their real size."""

from collections.abc import Sequence

from rescheduler.kube.controllers import Controller, PodDisruptionBudget
from rescheduler.kube.objects import Pod
from rescheduler.policies.limits import Limits
from rescheduler.policies.utilization.policy import Utilization
from tests.cluster import budget, deployment, node, pod, snapshot
from tests.planning.world import World

GPU = "nvidia.com/gpu"
ROOM = {"cpu": "64", "memory": "512Gi", GPU: "8"}

SWIFT = Limits.model_validate(
    {
        "movesPerCycle": 8,
        "movesPerNode": 8,
        "movesPerNamespace": 1000,
        "movesPerWorkload": 1,
        "movesPerHour": 1000,
        "batchSize": 4,
        "coolDown": "0s",
        "maxHotShare": 0.5,
    }
)


def gpu_below(high: str = "50%", **spec: object) -> Utilization:
    """A Utilization policy for GPUs of every node."""
    return Utilization.model_validate(
        {
            "name": "hot-gpu",
            "nodes": {"all": True},
            "match": {"all": True},
            "targets": {"gpu": {"high": high}},
            "wholeDevices": "Count",
            **spec,
        }
    )


class _Builder:
    def __init__(self) -> None:
        self.pods: list[Pod] = []
        self.controllers: list[Controller] = []
        self.budgets: list[PodDisruptionBudget] = []
        self.use: dict[str, float] = {}

    def add(self, app: str, on: Sequence[str], use: float, **requests: str) -> None:
        """One pod of a Deployment on each of these nodes, under a budget of one disruption."""
        top, made = deployment(app, replicas=len(on))
        self.controllers += [top, made]
        self.budgets.append(budget(app, app, healthy=len(on)))
        self.use[app] = use
        template = pod(app, on[0], owner=made, labels={"app": app}, requests={GPU: "1", **requests})
        for number, name in enumerate(on):
            pod_object = pod(f"{app}-{number}", name, owner=made, labels={"app": app})
            pod_object.spec = template.spec
            self.pods.append(pod_object)

    def world(self, names: Sequence[str], limits: Limits, seed: int) -> World:
        """The world of these nodes, in three zones."""
        made = snapshot(
            [node(n, zone="abc"[i % 3], allocatable=ROOM) for i, n in enumerate(names)],
            self.pods,
            controllers=self.controllers,
            budgets=self.budgets,
        )
        return World(made, [gpu_below()], limits, self.use, seed=seed)


def hot_gpus(seed: int = 0, limits: Limits = SWIFT) -> World:
    """5 of 60 nodes with 8 GPUs each at 95 %, the others at about 10 %: 20 pods have to go."""
    names = [f"n{number}" for number in range(1, 61)]
    builder = _Builder()
    for number in range(8):
        builder.add(f"train-{number}", names[:5], 0.95, cpu="4", memory="16Gi")
    for number in range(5):
        own = names[5:][number::5]
        memory = f"{4 + 3 * number}Gi"
        builder.add(f"serve-{number}", own, 0.8, cpu=str(1 + number), memory=memory)
    return builder.world(names, limits, seed)


def coming_back(seed: int = 0, limits: Limits = SWIFT) -> World:
    """5 of 40 nodes at 83 % whose requests are the smallest: every evicted pod comes back there."""
    names = [f"n{number}" for number in range(1, 41)]
    builder = _Builder()
    for number in range(7):
        builder.add(f"lean-{number}", names[:5], 0.95, cpu="100m", memory="256Mi")
    builder.add("fat", names[5:], 0.3, cpu="40", memory="300Gi")
    return builder.world(names, limits, seed)
