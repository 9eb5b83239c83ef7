"""What a plugin of the scheduler is to this model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from rescheduler.kube.objects import Labels, OwnerReference, Pod, PodSpec
from rescheduler.kube.pods.steered_affinity import count_preferred
from rescheduler.model.cluster.readings import BoolArray, IntArray
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.normalizing import MAX_SCORE, Relative
from rescheduler.scheduler.profile import Profile
from rescheduler.scheduler.requests import Requests

__all__ = [
    "MAX_SCORE",
    "FeatureGate",
    "Filter",
    "Plugin",
    "Replacement",
    "Score",
    "ScoreArray",
    "Steer",
]

ScoreArray = npt.NDArray[np.int64]
Filter = Callable[[], BoolArray]
"""Answers for every node whether it passes, in the state at the time of the call."""
Score = Callable[[IntArray], ScoreArray | Relative]
"""Scores these nodes from 0 to 100, in the state at the time of the call."""


@dataclass(frozen=True, slots=True, eq=False)
class Steer:
    """What tells one replacement where to go, when the scheduler comes to place it.

    preferred: (nodes,) the nodes that its node affinity prefers with the greatest weight. only:
    (nodes,) those beside which none is considered; None: all are.
    tainted: (nodes,) instead of affinity, the nodes that bear `kube.tolerations.SOFT_TAINT` then.
    """

    preferred: BoolArray | None = None
    only: BoolArray | None = None
    tainted: BoolArray | None = None

    @classmethod
    def to_nodes(cls, nodes: Iterable[int], count: int, *, require: bool) -> "Steer":
        """To these of so many nodes, the best first, by what `kube.pods.steered` adds."""
        targets = list(nodes)
        chosen, preferred = np.zeros((2, count), dtype=np.bool_)
        chosen[targets] = True
        preferred[targets[: count_preferred(len(targets), require=require)]] = True
        return cls(preferred=preferred, only=chosen if require else None)


STAMPED = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
"""The labels that a pod gets from its node when it is bound, where the scheduler stamps them."""


@dataclass(frozen=True, slots=True, eq=False)
class Replacement:
    """The pod that the scheduler will see after an eviction. One per shape: pods share it.

    labels: without what binding stamped on the old pod.
    owner: the controller, whose selector takes part in default spreading.
    steer: what tells it where to go; None: nothing.
    """

    namespace: str
    labels: Labels
    spec: PodSpec
    owner: OwnerReference | None
    requests: Requests
    steer: Steer | None = None


@dataclass(frozen=True, slots=True)
class FeatureGate:
    """A feature gate of kube-scheduler that decides placements.

    since: the minor version of Kubernetes 1 from which on it is on by default; None: not yet.
    field: of the profile: whether it is on; "" where the model follows the gate only as
    it is by default. Source: pkg/features/kube_features.go.
    """

    name: str
    since: int | None
    field: str = ""

    def by_default(self, minor: int) -> bool:
        """Whether it is on in this minor version where nothing is said."""
        return self.since is not None and minor >= self.since


class Plugin:
    """One plugin of kube-scheduler; it prepares its part of a shape once, for many calls.

    All that the model knows of the plugin stands on its class. What is not said is what errs
    towards leaving pods where they are.
    """

    name: ClassVar[str]
    """As the scheduler's configuration has it."""
    weight: ClassVar[int] = 0
    """What its score counts in the default profile; 0: it does not score."""
    scores_since: ClassVar[int] = 0
    """The minor version of Kubernetes 1 in which it began to score."""
    gate: ClassVar[FeatureGate | None] = None
    """The feature gate that it comes with; None: it is in every default profile."""
    gates: ClassVar[tuple[FeatureGate, ...]] = ()
    """Further gates that change what it does."""
    rejection: ClassVar[str] = ""
    """The scheduler's words about a node that it rejects, where it has one reason (`reasons`)."""
    unresolvable: ClassVar[bool] = False
    """Whether preemption cannot help where it rejects: the code UnschedulableAndUnresolvable."""
    static: ClassVar[bool] = False
    """Whether it rejects the same nodes whatever pods are on them, so that no move can help."""
    needs_pre_filter: ClassVar[bool] = True
    """Whether its filter goes by what its own preFilter found."""
    needs_pre_score: ClassVar[bool] = True
    """Whether its score goes by what its own preScore found, and is another one without it."""

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """The plugin of a scheduler with this profile."""
        raise NotImplementedError

    @classmethod
    def filters(cls) -> bool:
        """Whether it may reject nodes."""
        return cls.filter is not Plugin.filter

    @classmethod
    def by_default(cls, minor: int) -> bool:
        """Whether it is in the default profile of this minor version of Kubernetes 1."""
        return cls.gate is None or cls.gate.by_default(minor)

    def follows(self, steer: Steer) -> bool:  # noqa: ARG002
        """Whether its answers for a pod are others where the pod is steered so."""
        return False

    def problem(self, pod: Pod) -> str | None:  # noqa: ARG002
        """Why the plugin's result for this pod's replacement cannot be predicted, or None."""
        return None

    def filter(self, pod: Replacement) -> Filter | None:  # noqa: ARG002
        """The filter for this shape, or None where the plugin rejects nothing."""
        return None

    def score(self, pod: Replacement) -> Score | None:  # noqa: ARG002
        """The score for this shape, or None where the plugin does not score it."""
        return None

    def reasons(self, pod: Replacement) -> dict[str, BoolArray]:  # noqa: ARG002
        """The scheduler's words about nodes that this plugin rejects, to (nodes,) where they hold.

        In the state at the time of the call; only for plugins that give more than one reason.
        """
        return {}
