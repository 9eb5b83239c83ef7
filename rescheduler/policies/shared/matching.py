"""Which pods and nodes a policy looks at."""

import numpy as np

from rescheduler.kube import selectors
from rescheduler.kube.objects import Labels, LabelSelector, LabelSelectorRequirement
from rescheduler.model.readings import BoolArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.base import Match, NodeMatch, Selector


def select_pods(match: Match, snapshot: Snapshot) -> BoolArray:
    """(pods,) whether the policy looks at each pod."""
    if match.all:
        return np.ones(len(snapshot.pods), dtype=np.bool_)
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
            wanted = _namespace_matches(match, namespace, snapshot.namespace_labels.get(namespace))
            of_namespace[namespace] = wanted
        if wanted and labels is not None:
            identity = id(metadata.labels)
            if identity not in of_labels:
                of_labels[identity] = selectors.matches(labels, metadata.labels)
            wanted = of_labels[identity]
        chosen[place] = wanted
    answer: BoolArray = chosen[of_pod]
    return answer


def select_nodes(match: NodeMatch, snapshot: Snapshot) -> BoolArray:
    """(nodes,) whether the policy looks at each node."""
    labels = _label_selector(match.labels)
    return np.fromiter(
        (
            labels is None or selectors.matches(labels, each.metadata.labels)
            for each in snapshot.nodes
        ),
        dtype=np.bool_,
        count=len(snapshot.nodes),
    )


def _namespace_matches(match: Match, name: str, labels: Labels | None) -> bool:
    if match.namespaces is not None and name not in match.namespaces:
        return False
    wanted = _label_selector(match.namespaceSelector)
    return wanted is None or selectors.matches(wanted, labels)


def _label_selector(selector: Selector | None) -> LabelSelector | None:
    if selector is None:
        return None
    return LabelSelector(
        matchLabels=selector.matchLabels,
        matchExpressions=[
            LabelSelectorRequirement(key=each.key, operator=each.operator, values=each.values)
            for each in selector.matchExpressions
        ],
    )
