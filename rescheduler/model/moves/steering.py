"""Steering: the means of it, and which nodes a replacement is steered to by which, how strictly."""

from datetime import datetime
from typing import TYPE_CHECKING, Literal

import msgspec


class MeansTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What planning and policies need to know of one means of steering.

    about: for the documentation of `steering.by`, after the name. taints: whether nodes bear a
    taint, so that replacements go elsewhere; with all others the chosen nodes are named. requires:
    whether it can keep replacements from all other nodes. gangs: whether several replacements can
    be steered at the same time. extends: whether it works only for pods of a scheduler that is
    configured to ask an extender. since: the minor version of Kubernetes 1 from which on it is
    served, 0 where every version whose scheduler is modelled serves it. before: what kube-apiserver
    lacks before that, and what to use instead.
    """

    name: str
    about: str
    taints: bool = False
    requires: bool = True
    gangs: bool = True
    extends: bool = False
    since: int = 0
    before: str = ""


_ROWS = (
    MeansTraits(
        name="AdmissionPolicy",
        about="a MutatingAdmissionPolicy adds node affinity to them (Kubernetes 1.36 and later, or "
        "where v1beta1 is served).",
        # As v1beta1, and where it is enabled.
        # Source: pkg/features/kube_features.go, MutatingAdmissionPolicy.
        since=34,
        before="has no MutatingAdmissionPolicy; use Webhook",
    ),
    MeansTraits(
        name="Webhook",
        about="`rescheduler webhook` adds it (1.30 and later). Each needs its component of "
        "deploy/.",
    ),
    MeansTraits(
        name="Extender",
        about="a scheduler of your own asks `rescheduler extender`, as that shows; Require only "
        "where the scheduler looks at all nodes.",
        extends=True,
    ),
    MeansTraits(
        name="SoftTaint",
        about="the node that a replacement leaves, and others where it had better not go, bear a "
        "taint PreferNoSchedule until it is placed; one after the other, and never for a gang.",
        taints=True,
        requires=False,
        gangs=False,
    ),
)
"""A row for each means; the names stand here, and in the file of each in `rescheduler.steering`."""

TRAITS = {row.name: row for row in _ROWS}
"""The traits of each means, by its name."""
TAINTING = " and ".join(row.name for row in _ROWS if row.taints)
"""The names of those that taint nodes, for documentation."""

if TYPE_CHECKING:
    MeansName = str
else:
    MeansName = Literal["None", *TRAITS]
"""The name of a means; None: replacements go where the scheduler puts them."""

Strength = Literal["Prefer", "Require"]
"""Prefer: one more wish among the scheduler's scores. Require: nowhere but there."""


MOST_NODES = 100
"""Acceptable nodes of one replacement; each of them is written into its affinity."""


class Steered(msgspec.Struct, frozen=True, kw_only=True):
    """How the replacement of one move is steered, as the plan says it.

    nodes: the acceptable nodes by name, best first; never one alone with Require. shunned: the
    nodes that bear a taint until the replacement is placed, where the means taints nodes.
    """

    by: MeansName
    strength: Strength
    nodes: list[str]
    shunned: list[str] = []


class Entry(msgspec.Struct, frozen=True, kw_only=True):
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


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """What an extender shows of itself: which table it goes by, and whether a scheduler asks it.

    version: the resourceVersion of the table that it has. renewed: when it said so, by the API
    server's clock. asked: when a scheduler asked it last, None: never.
    """

    version: str
    renewed: datetime
    asked: datetime | None = None
