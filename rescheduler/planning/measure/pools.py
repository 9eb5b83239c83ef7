"""The nodes among which a policy's load is compared: those that it selects, and no others."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from rescheduler.model.readings import BoolArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.shared.matching import select_nodes

EVERY_NODE = ""


@dataclass(frozen=True, slots=True)
class NodePool:
    """What a policy selects of the snapshot's nodes.

    key: the same for policies that select alike; `EVERY_NODE` for all. selected: (nodes,).
    """

    key: str
    selected: BoolArray

    @classmethod
    def of(cls, policy: Policy, snapshot: Snapshot) -> "NodePool":
        """The nodes of this policy; every node, where it has no field for them."""
        found = getattr(policy, "nodes", None)
        match = found if isinstance(found, NodeMatch) else NodeMatch(all=True)
        return cls(_key(match), select_nodes(match, snapshot))


def pools_of(policies: Iterable[Policy], snapshot: Snapshot) -> list[NodePool]:
    """Every pool of these policies once, in their order, besides that of every node."""
    found = {pool.key: pool for each in policies for pool in [NodePool.of(each, snapshot)]}
    return [pool for key, pool in found.items() if key != EVERY_NODE]


def _key(match: NodeMatch) -> str:
    if match.all and match.exclude is None:
        return EVERY_NODE
    written = match.model_dump_json(exclude_defaults=True)
    return hashlib.blake2b(written.encode(), digest_size=6).hexdigest()
