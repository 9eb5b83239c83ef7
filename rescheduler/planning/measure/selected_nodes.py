"""The nodes among which a policy's load is compared: those that it selects, and no others."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from rescheduler.model.readings import BoolArray
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.shared.matching import node_match, select_nodes

EVERY_NODE = ""


@dataclass(frozen=True, slots=True)
class SelectedNodes:
    """What a policy selects of the snapshot's nodes.

    key: the same for policies that select alike; `EVERY_NODE` for all. chosen: (nodes,).
    """

    key: str
    chosen: BoolArray

    @classmethod
    def of(cls, policy: Policy, snapshot: Snapshot) -> "SelectedNodes":
        """The nodes of this policy; every node, where it has no field for them."""
        match = node_match(policy) or NodeMatch(all=True)
        return cls(_key(match), select_nodes(match, snapshot))


def selections_of(policies: Iterable[Policy], snapshot: Snapshot) -> list[SelectedNodes]:
    """What these policies select, each selection once, besides that of every node."""
    found = {each.key: each for policy in policies for each in [SelectedNodes.of(policy, snapshot)]}
    return [each for key, each in found.items() if key != EVERY_NODE]


def _key(match: NodeMatch) -> str:
    if match.all and match.exclude is None:
        return EVERY_NODE
    written = match.model_dump_json(exclude_defaults=True)
    return hashlib.blake2b(written.encode(), digest_size=6).hexdigest()
