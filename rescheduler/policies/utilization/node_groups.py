"""Which group of nodes, with targets of its own, each node is of."""

from collections.abc import Iterator, Sequence

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.shared.absent_names import why_no_node
from rescheduler.policies.shared.matching import select_nodes
from rescheduler.policies.utilization.targets import NodeGroup


def group_of_nodes(groups: Sequence[NodeGroup], snapshot: Snapshot) -> list[int]:
    """The number of each node's targets: 0 the policy's own, then the groups'."""
    answer = [0] * len(snapshot.nodes)
    for number, group in reversed(list(enumerate(groups, start=1))):
        chosen = select_nodes(NodeMatch(labels=group.nodes), snapshot)
        for node in np.flatnonzero(chosen).tolist():
            answer[node] = number
    return answer


def without_nodes(
    groups: Sequence[NodeGroup], nodes: NodeMatch, snapshot: Snapshot
) -> Iterator[str]:
    """The groups without a node that has the targets, and why. nodes: those of the policy."""
    free = select_nodes(nodes, snapshot)
    for number, group in enumerate(groups):
        match, at = NodeMatch(labels=group.nodes), f"groups.{number}.nodes"
        chosen = select_nodes(match, snapshot)
        if snapshot.nodes and not chosen.any():
            yield why_no_node(at, match, snapshot)
        elif snapshot.nodes and not (chosen & free).any():
            yield f"{at}: every node it selects has an earlier group, or is not in `nodes`"
        free &= ~chosen
