"""A rule that can never act is told, with the reason, for every kind of policy."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.documents.envelope import Document
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.registry import KINDS
from rescheduler.policies.shared.inert_rules import inert
from tests.cluster import deployment, node, pod, snapshot

ALL = {"all": True}
CPU = {"cpu": "500m"}


def cluster() -> Snapshot:
    nodes = [
        node(
            name,
            labels={"topology.kubernetes.io/zone": name, "pool": "gpu"},
            allocatable={"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"},
        )
        for name in ("a", "b")
    ]
    pods = [
        pod("web", namespace="shop", on="a", requests=CPU, labels={"app": "web"}),
        pod(
            "db",
            namespace="shop",
            on="a",
            requests={**CPU, "nvidia.com/gpu": "1"},
            labels={"app": "db"},
        ),
    ]
    return snapshot(nodes, pods)


def made(kind: str, **spec: Any) -> Policy:
    policy: type[Document] = KINDS[kind]
    answer = policy.model_validate({"kind": kind, "name": "p", **spec})
    assert isinstance(answer, Policy)
    return answer


def allocation(resource: str, **more: Any) -> Policy:
    target = {"resource": resource, "target": "1%"}
    return made("Allocation", **{"match": ALL, "nodes": ALL, "resources": [target], **more})


def conformity(**rules: Any) -> Policy:
    return made("Conformity", **{"match": ALL, **rules})


def load(**more: Any) -> Policy:
    targets = {"cpu": {"high": "50%"}}
    return made("Utilization", **{"match": ALL, "nodes": ALL, "targets": targets, **more})


def old(*states: str) -> Policy:
    return conformity(lifetime={"above": "1s", "states": list(states)})


HALF = {"cpu": {"high": "50%"}}
SPREAD = {"match": ALL, "topologyKey": "topology.kubernetes.io/zone"}
FRAG = {"match": ALL, "nodes": ALL}
SIGNS = {"nodes": ALL, "match": ALL}
PAIR = {"pods": {"labels": {"matchLabels": {"app": "web"}}}, "near": {"namespaces": ["shup"]}}
LABELS = {"labels": {"matchLabels": {"app": "webb"}}}

INERT = [
    # resources that nobody has or asks for
    (allocation("nvidia.com/gpus"), "no node offers nvidia.com/gpus", "`nvidia.com/gpu` is meant"),
    (allocation("memry"), "no node offers memry", "`memory`"),
    (allocation("memory"), "no pod requests memory", ""),
    (
        made(
            "Allocation",
            match=ALL,
            nodes=ALL,
            balances=[{"resource": "nvidia.com/gpu", "needs": "cpuu", "ratio": 1}],
        ),
        "balances.0.needs: no node offers cpuu",
        "`cpu`",
    ),
    (made("Fragmentation", **FRAG, gpu="amd.com/gpu"), "gpu: no node offers amd.com/gpu", ""),
    (
        made("Fragmentation", **FRAG, sharedGpus={"resource": "x/share"}),
        "sharedGpus.resource: no node offers x/share",
        "",
    ),
    # states in which no pod that is evaluated is
    (old("Pending"), "lifetime.states.0: pods that no node has are never evaluated", "ELG004"),
    (old("Failed"), "lifetime.states.0: pods that have ended are never evaluated", "`failed`"),
    (old("OOMKilled"), "lifetime.states.0: pods that have ended", "`failed`"),
    (old("running"), "lifetime.states.0: no pod is ever in state running", "`Running`"),
    (old("crashloopbackoff"), "no pod is ever in state", "`CrashLoopBackOff`"),
    (old("Unschedulable"), "lifetime.states.0: pods that no node has", ""),
    (
        conformity(restarts={"atLeast": 2, "states": ["Running", "Succeeded"]}),
        "restarts.states.1: pods that have ended are never evaluated",
        "",
    ),
    (
        conformity(nodeTaints={"only": ["a", "b/c"], "ignore": ["a", "b/"]}),
        "nodeTaints.only: every taint that it names is ignored",
        "",
    ),
    # thresholds that are never reached
    (
        load(targets={"cpu": {"high": "100%"}}),
        "targets.cpu.high: no load is above 100%",
        "",
    ),
    (
        load(groups=[{"nodes": {"matchLabels": {"pool": "gpu"}}, "targets": {"gpu": {"high": 1}}}]),
        "groups.0.targets.gpu.high: no load is above 100%",
        "",
    ),
    (
        load(targets={"cpu": {"high": "80%", "pressure": "100%"}}),
        "targets.cpu.pressure: tasks never wait for more than 100% of the time",
        "",
    ),
    (
        load(targets={"cpu": {"high": "50%", "pressure": "20%"}}, strategy="Pack"),
        "targets.cpu.pressure: it counts only above `floor` of 50%",
        "`high` of 50%",
    ),
    (
        load(groups=[{"nodes": {"matchLabels": {"pool": "cpu"}}, "targets": HALF}]),
        "groups.0.nodes: no node has pool with the value cpu",
        "",
    ),
    (
        load(groups=[{"nodes": {"matchLabels": {"pool": "gpu"}}, "targets": HALF}] * 2),
        "groups.1.nodes: every node it selects has an earlier group",
        "",
    ),
    (
        made("Health", **SIGNS, signs={"drops": "100%"}),
        "signs.drops: no share of packets is above 100%",
        "",
    ),
    (made("Numa", match=ALL, nodes=ALL, crowded="100%"), "crowded: no zone is above 100%", ""),
    (made("IdleGPUs", match=ALL, below=0), "below: no use is below 0%", ""),
    (
        made("Spread", **SPREAD, maxPriority=-5),
        "maxPriority: every pod that it selects has a priority above -5",
        "0",
    ),
    # selectors of what is not there, or of another subject
    (
        made("Spread", **{**SPREAD, "match": {"requests": ["nvidia.com/gpus"]}}),
        "match.requests: no pod requests nvidia.com/gpus",
        "`nvidia.com/gpu`",
    ),
    (
        made("Spread", **{**SPREAD, "match": {**ALL, "exclude": {"namespaces": ["shopp"]}}}),
        "match.exclude: there is no namespace shopp",
        "`shop` is meant; so it leaves nothing out",
    ),
    (
        made("Spread", **{**SPREAD, "match": {"namespaces": ["shopp"]}}),
        "match: there is no namespace shopp",
        "`shop`",
    ),
    (
        made("Spread", **{**SPREAD, "match": {"labels": {"matchLabels": {"pool": "gpu"}}}}),
        "match: no pod has the label pool; nodes have it",
        "`nodes`",
    ),
    (
        made("Spread", **{**SPREAD, "match": LABELS}),
        "match: no pod has app with the value webb",
        "`web`",
    ),
    (
        made("Spread", **{**SPREAD, "match": {"labels": {"matchLabels": {"ap": "web"}}}}),
        "match: no pod has the label ap",
        "`app`",
    ),
    (
        load(nodes={"labels": {"matchLabels": {"app": "web"}}}),
        "nodes: no node has the label app; pods have it",
        "`match`",
    ),
    (
        load(nodes={"labels": {"matchLabels": {"pool": "cpu"}}}),
        "nodes: no node has pool with the value cpu",
        "",
    ),
    (made("Spread", **{**SPREAD, "topologyKey": "topology.kubernetes.io/zon"}),
     "topologyKey: no node has the label topology.kubernetes.io/zon", "`topology.kubernetes.io/z"),
    (
        made("Spread", match=ALL, constraints=[{"topologyKey": "rack"}]),
        "constraints.0.topologyKey: no node has the label rack",
        "",
    ),
    (
        made(
            "Locality",
            match=ALL,
            levels=[{"name": "rack", "labels": ["rack", "cabinet"]}],
            podAffinity=True,
        ),
        "levels.0.labels: no node has one of the labels rack, cabinet",
        "",
    ),
    (
        made("Locality", match=ALL, pairs=[PAIR]),
        "pairs.0.near: there is no namespace shup",
        "`shop`",
    ),
    (
        made("Spread", match=ALL, constraints="FromPods"),
        "constraints: no pod that it selects has topologySpreadConstraints",
        "",
    ),
    (
        made("Locality", match=ALL, podAffinity=True),
        "podAffinity: no pod that it selects has podAffinity",
        "",
    ),
    (
        conformity(podAntiAffinity=True, podAffinity=True),
        "podAntiAffinity: no pod that it selects has required podAntiAffinity or podAffinity",
        "",
    ),
    (old("CrashLoopBackoff"), "lifetime.states.0: no pod is ever in state", "`CrashLoopBackOff`"),
    (old("ImagePullBackOf"), "lifetime.states.0: no pod is ever in state", "`ImagePullBackOff`"),
    (
        conformity(failed={"above": "1h", "reasons": ["Evicted", "Evictd"]}),
        "failed.reasons.1: no pod ever fails with reason Evictd",
        "`Evicted`",
    ),
    (
        made("IdleGPUs", match={"labels": {"matchLabels": {"app": "web"}}}),
        "match: no pod that it selects has a GPU to itself",
        "",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "reason", "advice"), INERT)
def test_what_can_never_act_is_told(policy: Policy, reason: str, advice: str) -> None:
    found = list(inert(policy, cluster()))
    [told] = [message for message in found if reason in message]
    assert advice in told


@pytest.mark.parametrize(
    "policy",
    [
        allocation("pods"),
        allocation("nvidia.com/gpu"),
        allocation("cpu"),
        old("Running"),
        old("CrashLoopBackOff", "ImagePullBackOff"),
        load(),
        load(targets={"cpu": {"high": "99%"}}),
        load(targets={"cpu": {"high": "100%"}}, strategy="Balance"),
        made("Spread", **SPREAD),
        made("Spread", **SPREAD, maxPriority=0),
        made("Spread", match={"namespaces": ["shop"], "labels": {"matchLabels": {"app": "web"}}}),
        made("Fragmentation", **FRAG),
        made("Numa", match=ALL, nodes=ALL),
        made("Locality", match=ALL, podAffinity=True, pairs=[{**PAIR, "near": ALL}]),
        conformity(failed={"above": "1h", "reasons": ["OutOfnvidia.com/gpu", "PaymentRequired"]}),
        conformity(podAffinity=True, restarts={"atLeast": 5}),
        conformity(nodeTaints={"only": ["a"], "ignore": ["b"]}, podAntiAffinity=True),
    ],
)  # fmt: skip
def test_what_can_act_is_not_told(policy: Policy) -> None:
    assert list(inert(policy, cluster())) == []


def replicas(number: int, **spec: Any) -> Snapshot:
    """So many pods of one Deployment."""
    top, owner = deployment("web")
    pods = [
        pod(f"web-{at}", "a", owner=owner, labels={"app": "web"}, **spec) for at in range(number)
    ]
    return replace(cluster(), pods=pods, controllers=[top, owner])


PER_POOL = {"topologyKey": "pool", "maxPerDomain": 2}
BOUNDS = [
    ({"maxSkew": 3}, 3, "maxSkew: it is 3, and the largest workload that it selects has 3 pods"),
    ({"maxSkew": 3}, 4, ""),
    ({"constraints": [PER_POOL]}, 2, "constraints.0.maxPerDomain: it is 2"),
    ({"constraints": [PER_POOL]}, 3, ""),
    ({"groupBy": "Match", "maxSkew": 3}, 3, ""),
    ({"constraints": [{"topologyKey": "pool", "maxSkew": 9, "follow": ALL}]}, 3, ""),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "number", "reason"), BOUNDS)
def test_a_bound_that_no_workload_reaches_is_told(
    spec: dict[str, Any], number: int, reason: str
) -> None:
    policy = made("Spread", match=ALL, **spec)
    found = list(inert(policy, replicas(number)))
    assert [message.startswith(reason) for message in found] == [True] * bool(reason)


def test_constraints_and_affinity_that_pods_have_can_act() -> None:
    term = {"topologyKey": "pool", "labelSelector": {"matchLabels": {"app": "web"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spread = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    before = replicas(2, affinity=near, topologySpreadConstraints=[spread])
    for policy in (
        made("Spread", match=ALL, constraints="FromPods"),
        made("Locality", match=ALL, podAffinity=True),
        conformity(podAffinity=True),
    ):
        assert list(inert(policy, before)) == []
    [apart] = inert(conformity(podAntiAffinity=True), before)
    assert apart == "podAntiAffinity: no pod that it selects has required podAntiAffinity"


def test_pods_are_counted_as_kube_scheduler_counts_them() -> None:
    before = cluster()
    term = allocation("pods").compile(before)
    assert term.scope() == 2  # type: ignore[union-attr]
    # 1 % of 110 is 1.1 pods, and node a has 2.
    assert term.cost() == pytest.approx(0.9)  # type: ignore[union-attr]


def test_a_cluster_without_pods_is_not_blamed_on_the_policy() -> None:
    empty = replace(cluster(), pods=[])
    assert [message for message in inert(allocation("cpu"), empty) if "requests" in message] == []
