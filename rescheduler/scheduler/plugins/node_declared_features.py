"""Plugin NodeDeclaredFeatures: a pod that needs a young feature goes where the kubelet has it."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

import numpy as np

from rescheduler.kube.objects import Node, PodSpec
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.plugin import FeatureGate, Filter, Plugin, Replacement
from rescheduler.scheduler.profile import Profile


def needed_features(spec: PodSpec) -> Iterator[str]:
    """The features without which a node cannot run the pod.

    Source: component-helpers/nodedeclaredfeatures/features.
    """
    containers = (*spec.containers, *(spec.initContainers or ()))
    if any(
        rule.action == "RestartAllContainers"
        for container in containers
        for rule in container.restartPolicyRules or ()
    ):
        yield "RestartAllContainersOnContainerExits"
    if spec.hostNetwork and spec.hostUsers is False:
        yield "UserNamespacesHostNetworkSupport"


class NodeDeclaredFeatures(Plugin):
    """The kubelet declares in its node's status what it can do."""

    name: ClassVar[str] = "NodeDeclaredFeatures"
    gate: ClassVar[FeatureGate | None] = FeatureGate(
        "NodeDeclaredFeatures", 36, "declared_features"
    )
    rejection: ClassVar[str] = "node(s) didn't match Pod's required features"
    unresolvable: ClassVar[bool] = True
    static: ClassVar[bool] = True

    def __init__(self, nodes: Sequence[Node], profile: Profile) -> None:
        self._nodes = nodes
        self._on = profile.declared_features

    @classmethod
    def new(cls, handle: Handle, profile: Profile) -> Self:
        """On or off as in the profile."""
        return cls(handle.snapshot.nodes, profile)

    def filter(self, pod: Replacement) -> Filter | None:
        """The nodes that declare every feature that the pod needs."""
        needed = set(needed_features(pod.spec))
        if not self._on or not needed:
            return None
        passing = np.array(
            [needed <= set(node.status.declaredFeatures or ()) for node in self._nodes],
            dtype=np.bool_,
        )
        return lambda: passing
