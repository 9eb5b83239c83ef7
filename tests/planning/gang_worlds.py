"""Clusters with gangs, drawn from a seed: their members on nodes of a few racks."""

import random
from dataclasses import replace
from typing import Any

import msgspec

from rescheduler.kube.controllers import Controller
from rescheduler.kube.gang_marks import GangObject
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.spread.policy import Spread
from tests.cluster import NOW, budget, deployment, node, pod, snapshot

GROUP = "scheduling.x-k8s.io/pod-group"
JOBSET = "jobset.sigs.k8s.io/jobset-name"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
FREE: dict[str, Any] = {
    "movesPerCycle": 100,
    "movesPerNode": 100,
    "movesPerNamespace": 100,
    "movesPerWorkload": 1,
    "movesPerHour": 100,
    "gainShare": 0,
}
"""Limits that limit nothing but single moves of a workload."""


def over_racks(**fields: Any) -> Spread:
    """Each gang evenly over the racks."""
    return Spread.model_validate(
        {
            "name": "racks",
            "match": {"all": True},
            "groupBy": "Gang",
            "topologyKey": "rack",
            **fields,
        }
    )


def in_one_rack() -> Locality:
    """Each gang within one rack."""
    group = {"pods": {"all": True}, "by": "Gang", "together": "rack"}
    levels = [{"name": "rack", "labels": ["rack"]}]
    return Locality.model_validate(
        {"name": "close", "match": {"all": True}, "groups": [group], "levels": levels}
    )


def where_liked() -> Conformity:
    """Each pod on nodes that it prefers."""
    return Conformity.model_validate(
        {"name": "liked", "match": {"all": True}, "nodeAffinity": {"preferred": True}}
    )


def pod_group(name: str, least: int | None) -> GangObject:
    """The PodGroup of coscheduling; None leaves its minimum out."""
    return msgspec.convert(
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {} if least is None else {"minMember": least},
        },
        GangObject,
    )


def native(
    before: Snapshot, least: int, version: str = "v1.36.3", served: str = "v1alpha2", **spec: Any
) -> Snapshot:
    """The cluster in which PodGroups of Kubernetes stand for those of coscheduling.

    version: of the cluster. served: of the API of its PodGroups. spec: more fields of them.
    """
    for pod_object in before.pods:
        name = (pod_object.metadata.labels or {}).pop(GROUP)
        pod_object.spec = msgspec.structs.replace(
            pod_object.spec, schedulingGroup={"podGroupName": name}
        )
    policy = {"gang": {"minCount": least}}
    groups = [
        {
            "apiVersion": f"scheduling.k8s.io/{served}",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"schedulingPolicy": policy, **spec},
        }
        for name in {gang_object.metadata.name for gang_object in before.gang_objects}
    ]
    return replace(
        before,
        cluster=replace(before.cluster, version=version),
        gang_objects=msgspec.convert(groups, list[GangObject]),
    )


def ring(
    where: list[str],
    *,
    least: int | None = None,
    name: str = "ring",
    cpu: str = "1",
    likes: str = "",
) -> tuple[list[Controller], list[Pod], list[GangObject]]:
    """A gang of one Deployment with a member on each of these nodes.

    least: its minMember. likes: the rack that its pods prefer, which had no room when they came.
    """
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": [likes]}]}
    preferred = [{"weight": 100, "preference": term}] if likes else []
    affinity = {"nodeAffinity": {PREFERRED: preferred}}
    top, owner = deployment(name, replicas=len(where))
    pods = [
        pod(f"{name}-{n}", on, owner=owner, labels={"app": name, GROUP: name},
            requests={"cpu": cpu}, affinity=affinity)
        for n, on in enumerate(where)
    ]  # fmt: skip
    return [top, owner], pods, [] if least is None else [pod_group(name, least)]


def racks(count: int, rack_size: int = 2, cpu: str = "8") -> list[Any]:
    """Nodes `r1-1`, `r1-2` and so on."""
    return [
        node(f"r{rack}-{n}", labels={"rack": f"r{rack}"}, allocatable={"cpu": cpu})
        for rack in range(1, count + 1)
        for n in range(1, rack_size + 1)
    ]


def cluster(
    nodes: list[Any], *gangs: tuple[list[Controller], list[Pod], list[GangObject]], **more: Any
) -> Snapshot:
    """The snapshot of these nodes and gangs."""
    return snapshot(
        nodes,
        [pod for _, pods, _ in gangs for pod in pods],
        controllers=[owner for owners, _, _ in gangs for owner in owners],
        gang_objects=[gang_object for _, _, objects in gangs for gang_object in objects],
        **more,
    )


def planned(made: Snapshot, *policies: Policy, history: History | None = None,
            **limits: Any) -> Plan:  # fmt: skip
    """The plan with these limits over `FREE`."""
    chosen = Limits.model_validate(FREE | limits)
    return plan(made, policy_set(list(policies), chosen), history or History(), mode="Enforce")


def drawn(seed: int) -> tuple[Snapshot, Limits, list[Policy], History]:
    """A cluster with up to four gangs and a plain Deployment, some members not Ready or going."""
    chance = random.Random(seed)
    nodes = racks(chance.randint(2, 3), chance.randint(1, 3), cpu=str(chance.choice([4, 6, 12])))
    names = [node.metadata.name for node in nodes]
    gangs = []
    for number in range(chance.randint(1, 4)):
        size = chance.randint(1, 5)
        least = chance.choice([None, 1, max(size - 2, 1), max(size - 1, 1), size, size + 1])
        where = [chance.choice(names[: chance.randint(1, len(names))]) for _ in range(size)]
        likes = chance.choice(["", "r1", "r2"])
        gangs.append(ring(where, least=least, name=f"g{number}", likes=likes))
    owners, pods, _ = ring([chance.choice(names) for _ in range(3)], name="web")
    for pod_object in pods:
        pod_object.metadata.labels = {"app": "web"}
    gangs.append((owners, pods, []))
    if chance.random() < 0.3:
        # A JobSet over some pods, whatever gangs they are of.
        whole = [pod for _, pods, _ in gangs for pod in pods]
        for pod in chance.sample(whole, chance.randint(1, min(4, len(whole)))):
            pod.metadata.labels = {**(pod.metadata.labels or {}), JOBSET: "set"}
    budgets = [
        budget(f"g{n}", f"g{n}", allowed=chance.randint(0, 5), healthy=5)
        for n in range(2)
        if chance.random() < 0.5
    ]
    made = cluster(nodes, *gangs, budgets=budgets)
    past = []
    for pod in made.pods:
        dice = chance.random()
        if dice < 0.01:
            ready = pod.condition("Ready")
            assert ready is not None
            ready.status = "False"
        elif dice < 0.02:
            pod.metadata.deletionTimestamp = NOW
        elif dice < 0.03:
            past.append(
                PastMove(plan="p", podUid=pod.metadata.uid, namespace="default", workload="other",
                         pod=pod.metadata.name, source=pod.node, at=NOW, state="intended")
            )  # fmt: skip
    limits = Limits.model_validate(
        {
            "gangs": chance.choice(["Spare", "Surplus", "Whole", "Whole"]),
            "movesPerCycle": chance.choice([3, 7, 100]),
            "movesPerNode": chance.choice([1, 3, 100]),
            "movesPerNamespace": chance.choice([6, 100]),
            "movesPerWorkload": chance.choice([1, 2, 100]),
            "movesPerHour": chance.choice([8, 100]),
            "batchSize": chance.randint(1, 3),
            "minReplicas": 1,
            "margin": 0,
            "gainShare": 0,
        }
    )
    policies = [*([over_racks()] if chance.random() < 0.5 else []), where_liked(), in_one_rack()]
    if chance.random() < 0.4:
        policies[-1] = policies[-1].model_copy(update={"mode": "Audit"})
    return made, limits, policies, History(past)
