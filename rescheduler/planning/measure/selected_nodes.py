"""The nodes among which a policy's load is compared: those that it selects, and no others."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.shared.matching import node_match, select_nodes

EVERY_NODE = ""
_MODULUS = 2**48


@dataclass(frozen=True, slots=True)
class SelectedNodes:
    """What a policy selects of the snapshot's nodes.

    key: the same for policies that select alike; `EVERY_NODE` for all. chosen: (nodes,). changed:
    plan and batch to whether other nodes were selected then, as far as that was checked.
    """

    key: str
    chosen: BoolArray
    changed: dict[tuple[str, int], bool] = field(default_factory=dict)

    def digest(self, snapshot: Snapshot, among: BoolArray) -> int:
        """A number for those of the selected nodes that are among these (nodes,)."""
        nodes = np.flatnonzero(self.chosen & among).tolist()
        return sum(_number(snapshot.nodes[node].metadata.name) for node in nodes) % _MODULUS

    @classmethod
    def of_policy(cls, policy: Policy, snapshot: Snapshot) -> "SelectedNodes":
        """The nodes of this policy; every node, where it has no field for them."""
        match = node_match(policy) or NodeMatch(all=True)
        return cls(_key(match), select_nodes(match, snapshot))


def selections_of(policies: Iterable[Policy], snapshot: Snapshot) -> list[SelectedNodes]:
    """What these policies select, each selection once, besides that of every node."""
    selections = {
        node.key: node
        for policy in policies
        for node in [SelectedNodes.of_policy(policy, snapshot)]
    }
    return [node for key, node in selections.items() if key != EVERY_NODE]


@lru_cache(maxsize=16384)
def _number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest(), "big")


def _key(match: NodeMatch) -> str:
    if match.all and match.exclude is None:
        return EVERY_NODE
    written = match.model_dump_json(exclude_defaults=True)
    return hashlib.blake2b(written.encode(), digest_size=6).hexdigest()
