"""Steering of one replacement: nodes, means, strength; its entry; the extender's status."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from rescheduler.model.field_doc import doc

Strength = Literal["Prefer", "Require"]
"""Prefer: one more wish among the scheduler's scores. Require: nowhere but there."""

MOST_NODES = 100
"""Acceptable nodes of one replacement; each of them is written into its affinity."""


class Steered(msgspec.Struct, frozen=True, kw_only=True):
    """How the replacement of one move is steered, as the plan says it."""

    by: Annotated[
        str,
        doc("The means that tells the replacement where to go, as in `steering.by`."),
    ]
    strength: Annotated[
        Strength, doc("Prefer: more points for these nodes. Require: nowhere but there.")
    ]
    nodes: Annotated[
        list[str], doc("The acceptable nodes, best first; never one alone with Require.")
    ]
    shunned: Annotated[
        list[str],
        doc("Nodes that are tainted until the replacement is placed, if its means does so."),
    ] = []


class SteeringEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the table of replacements: where one replacement of a controller shall go.

    owner: UID of the controller that will make it; pods of one controller are fungible, so a
    controller's entries are a multiset. template: the `pod-template-hash` or
    `controller-revision-hash` of the pod that leaves, "" without one; a pod of another template is
    not steered. hostnames: the `kubernetes.io/hostname` labels of the acceptable nodes.
    deadline: nobody is steered by it any more from then on. plan, pod: whose move it is.
    """

    owner: str
    namespace: str
    template: str = ""
    hostnames: tuple[str, ...]
    strength: Strength
    deadline: datetime
    plan: str
    pod: str
    """UID of the pod that leaves."""
    name: str = ""
    """The name that the replacement will have, where it is known: of a StatefulSet."""


class ExtenderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What an extender shows of itself: which table it goes by, and whether a scheduler asks it.

    version: the resourceVersion of the table that it has. renewed: when it said so, by the API
    server's clock. lastRequest: when a scheduler called it last, None: never.
    """

    version: str
    renewed: datetime
    lastRequest: datetime | None = None
