"""Which pools of nodes no policy selects, so that nobody looks at them."""

from collections.abc import Iterable, Iterator

import numpy as np

from rescheduler.kube.objects import Node
from rescheduler.model.checkup import Diagnosis
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.wording import count_text, list_names
from rescheduler.policies.base import Policy
from rescheduler.policies.match import Match
from rescheduler.policies.shared.matching import node_match, select_nodes, select_pods

POOLS = "Node pools"
POOL_LABELS = (
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "nvidia.com/gpu.product",
    "node.kubernetes.io/instance-type",
)
"""Labels that may tell a node's pool; of several the first counts."""
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def check_pools(snapshot: Snapshot, policies: Iterable[Policy]) -> Iterator[Diagnosis]:
    """The pools of which no policy selects a node; control planes are no pools."""
    selected = np.zeros(len(snapshot.nodes), dtype=np.bool_)
    for policy in policies:
        selected |= selected_nodes(policy, snapshot)
    pools: dict[str, list[int]] = {}
    for number, node in enumerate(snapshot.nodes):
        if _CONTROL_PLANE not in (node.metadata.labels or {}):
            pools.setdefault(pool_of(node), []).append(number)
    forgotten = {name: nodes for name, nodes in pools.items() if not selected[nodes].any()}
    for name, nodes in sorted(forgotten.items()):
        shown = list_names(
            [snapshot.nodes[number].metadata.name for number in nodes], "node", most=3
        )
        yield Diagnosis(
            area=POOLS,
            severity="note",
            message=f"No policy selects a node of {name}: {shown}.",
            advice="If its load or placement matters, select it by `nodes` or `match`.",
        )
    if not forgotten:
        text = (
            f"Policies select nodes of {count_text(len(pools), 'pool')}, which are all there are."
        )
        yield Diagnosis(area=POOLS, severity="ok", message=text)


def selected_nodes(policy: Policy, snapshot: Snapshot) -> BoolArray:
    """(nodes,) whether the policy selects each: by its `nodes`, and by the pods that it matches.

    A policy that evaluates nodes selects them by `nodes` alone; one that matches every pod selects
    nodes without any, too.
    """
    nodes, match = node_match(policy), getattr(policy, "match", None)
    chosen = np.ones(len(snapshot.nodes), dtype=np.bool_)
    if nodes is not None:
        chosen = select_nodes(nodes, snapshot)
    if policy.subject == "nodes" or not isinstance(match, Match):
        return chosen
    if match.all is not None and match.exclude is None:
        return chosen
    with_pods = np.zeros(len(snapshot.nodes), dtype=np.bool_)
    with_pods[snapshot.pod_node[select_pods(match, snapshot) & (snapshot.pod_node >= 0)]] = True
    answer: BoolArray = chosen & with_pods
    return answer


def pool_of(node: Node) -> str:
    """The pool of a node, as people call it."""
    labels = node.metadata.labels or {}
    for label in POOL_LABELS:
        if labels.get(label):
            return f"{label}={labels[label]}"
    return "the nodes without a label of a pool"
