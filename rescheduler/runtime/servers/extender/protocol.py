"""What kube-scheduler sends an extender, and what it expects back.

Source: k8s.io/kube-scheduler/extender/v1/types.go. The Go types have no JSON tags,
so the fields have their Go names.
"""

from typing import Any

import msgspec

from rescheduler.kube.nesting import decode_json
from rescheduler.kube.objects import ObjectMeta

MAX_PRIORITY = 10
"""The highest score that an extender may give."""


class PodToPlace(msgspec.Struct, frozen=True):
    """The pod that is being placed."""

    metadata: ObjectMeta


class NodeList(msgspec.Struct, frozen=True):
    """Whole nodes, sent where `nodeCacheCapable` is false; each is passed back as it came."""

    items: list[msgspec.Raw] = []


class ExtenderArgs(msgspec.Struct, frozen=True):
    """The pod, and the nodes that passed the scheduler's own filters: whole, or by name."""

    Pod: PodToPlace
    Nodes: NodeList | None = None
    NodeNames: list[str] | None = None


class ExtenderFilterResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The nodes that are left, in the form in which they came, and why others are not.

    Preempting pods there would not help, so kube-scheduler need not try.
    """

    Nodes: dict[str, Any] | None = None
    NodeNames: list[str] | None = None
    FailedAndUnresolvableNodes: dict[str, str] = {}


class HostPriority(msgspec.Struct, frozen=True):
    """The score of one node, 0 to `MAX_PRIORITY`."""

    Host: str
    Score: int


class _Named(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


def names(args: ExtenderArgs) -> list[str]:
    """The names of the nodes in the request."""
    if args.NodeNames is not None:
        return args.NodeNames
    items = args.Nodes.items if args.Nodes is not None else []
    return [decode_json(item, _Named).metadata.name for item in items]


def filter_result(
    args: ExtenderArgs, all_names: list[str], failed: dict[str, str]
) -> ExtenderFilterResult:
    """The answer to a filter call: all nodes but the failed ones."""
    if args.NodeNames is not None:
        node_names = (
            [name for name in args.NodeNames if name not in failed] if failed else all_names
        )
        return ExtenderFilterResult(NodeNames=node_names, FailedAndUnresolvableNodes=failed)
    items = args.Nodes.items if args.Nodes is not None else []
    passed = [item for item, name in zip(items, all_names, strict=True) if name not in failed]
    return ExtenderFilterResult(Nodes={"items": passed}, FailedAndUnresolvableNodes=failed)
