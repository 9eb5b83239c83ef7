"""Which pods and nodes a policy selects, and how many."""

import numpy as np

from rescheduler.documents.label_selector import Selector
from rescheduler.kube import selectors
from rescheduler.kube.objects import Labels, LabelSelector, LabelSelectorRequirement
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.selection import Selection
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.match import Exclude, Match
from rescheduler.policies.shared import pod_facts


def select_pods(match: Match, snapshot: Snapshot) -> BoolArray:
    """(pods,) whether the policy selects each pod.

    The labels of a namespace that could not be read are unknown: its pods are not selected by them,
    and are excluded where namespaces are excluded by theirs.
    """
    if match.all:
        chosen = np.ones(len(snapshot.pods), dtype=np.bool_)
    else:
        chosen = _holds(match, snapshot, unknown=False)
    for _, exclude in match.excludes:
        chosen &= ~_holds(exclude, snapshot, unknown=True)
    return chosen


def select_nodes(match: NodeMatch, snapshot: Snapshot) -> BoolArray:
    """(nodes,) whether the policy selects each node."""
    chosen = np.ones(len(snapshot.nodes), dtype=np.bool_)
    if match.labels is not None:
        chosen = _nodes_with(match.labels, snapshot)
    if match.exclude is not None:
        chosen &= ~_nodes_with(match.exclude.labels, snapshot)
    return chosen


def node_match(policy: Policy) -> NodeMatch | None:
    """Its `nodes`; None where the kind has no such field."""
    nodes = getattr(policy, "nodes", None)
    return nodes if isinstance(nodes, NodeMatch) else None


def selection_of(policy: Policy, snapshot: Snapshot) -> Selection:
    """How many pods its `match` matches, all pods without one, and nodes its `nodes` selects."""
    match, nodes = getattr(policy, "match", None), node_match(policy)
    pods = select_pods(match, snapshot).sum() if isinstance(match, Match) else len(snapshot.pods)
    chosen = None if nodes is None else select_nodes(nodes, snapshot).sum()
    return Selection(int(pods), None if chosen is None else int(chosen))


def _holds(match: Match | Exclude, snapshot: Snapshot, *, unknown: bool) -> BoolArray:
    """(pods,) whether all that is given holds of each. unknown: the answer for such a namespace."""
    labels = _label_selector(match.labels)
    of_namespace: dict[str, bool] = {}
    of_labels: dict[int, bool] = {}  # pods of one template share one labels object
    representatives, of_pod = snapshot.pod_template
    chosen = np.zeros(len(representatives), dtype=np.bool_)
    for place, index in enumerate(representatives.tolist()):
        metadata = snapshot.pods[index].metadata
        namespace = metadata.namespace
        wanted = of_namespace.get(namespace)
        if wanted is None:
            namespace_labels = snapshot.namespace_labels.get(namespace)
            wanted = _namespace_matches(match, namespace, namespace_labels, unknown=unknown)
            of_namespace[namespace] = wanted
        if wanted and labels is not None:
            identity = id(metadata.labels)
            if identity not in of_labels:
                of_labels[identity] = selectors.matches(labels, metadata.labels)
            wanted = of_labels[identity]
        chosen[place] = wanted
    answer: BoolArray = chosen[of_pod]
    if match.ownerKinds is not None:
        answer &= pod_facts.run_by(match.ownerKinds, snapshot)
    if match.requests is not None:
        answer &= pod_facts.requests_any(match.requests, snapshot)
    if match.persistentVolumeClaims is not None:
        answer &= pod_facts.uses_claim(match.persistentVolumeClaims, snapshot, unknown=unknown)
    if match.podDisruptionBudget is not None:
        exists = match.podDisruptionBudget == "Exists"
        answer &= pod_facts.has_budget(snapshot, exists=exists, unknown=unknown)
    if match.resourceClaims is not None:
        has = pod_facts.has_resource_claims(snapshot)
        answer &= has if match.resourceClaims == "Exists" else ~has
    return answer


def _nodes_with(selector: Selector, snapshot: Snapshot) -> BoolArray:
    labels = _label_selector(selector)
    return np.fromiter(
        (selectors.matches(labels, node.metadata.labels) for node in snapshot.nodes),
        dtype=np.bool_,
        count=len(snapshot.nodes),
    )


def _namespace_matches(
    match: Match | Exclude, name: str, labels: Labels | None, *, unknown: bool
) -> bool:
    if match.namespaces is not None and name not in match.namespaces:
        return False
    wanted = _label_selector(match.namespaceSelector)
    if wanted is None:
        return True
    return unknown if labels is None else selectors.matches(wanted, labels)


def _label_selector(selector: Selector | None) -> LabelSelector | None:
    if selector is None:
        return None
    return LabelSelector(
        matchLabels=selector.matchLabels,
        matchExpressions=[
            LabelSelectorRequirement(
                key=expression.key, operator=expression.operator, values=expression.values
            )
            for expression in selector.matchExpressions
        ],
    )
