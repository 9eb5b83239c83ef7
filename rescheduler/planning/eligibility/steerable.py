"""Whether the replacement of a pod may be steered: codes ELG001 and ELG031-ELG033.

A pod that is not steered may still be moved. For many pods of one snapshot make one `Steerable`.
"""

from collections import Counter
from functools import cached_property

import numpy as np

from rescheduler.kube.controllers import Controller
from rescheduler.kube.gang_marks import kueue_marked
from rescheduler.kube.objects import NodeSelector, Pod
from rescheduler.kube.pods.node_selection import node_affinity
from rescheduler.kube.pods.steered_affinity import HOSTNAME
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.planning.eligibility.pod_checks import refuse_kind


class Steerable:
    """Answers for any pod of one snapshot; what pods share is worked out once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[object, ...], Problem | None] = {}

    def problem(self, pod: int, *, whole: bool = False) -> Problem | None:
        """Why the replacement of this pod must not be steered, or None.

        whole: whether the pod's whole gang would move.
        """
        pod_object = self._snapshot.pods[pod]
        metadata = pod_object.metadata
        # The snapshot keeps all of these alive, so an id stands for one object.
        key = (
            id(pod_object.spec),
            id(metadata.labels),
            id(metadata.annotations),
            id(metadata.ownerReferences),
            metadata.namespace,
            whole,
        )
        if key not in self._known:
            self._known[key] = self._evaluate(pod, whole=whole)
        return self._known[key]

    @cached_property
    def nodes(self) -> BoolArray:
        """(nodes,) the nodes that can be named: their hostname label is there, and theirs alone."""
        labels = [(node.metadata.labels or {}).get(HOSTNAME, "") for node in self._snapshot.nodes]
        count = Counter(labels)
        return np.array([bool(label) and count[label] == 1 for label in labels], dtype=np.bool_)

    def _evaluate(self, pod: int, *, whole: bool) -> Problem | None:
        pod_object = self._snapshot.pods[pod]
        kind = refuse_kind(pod_object)
        if kind is not None:
            return kind
        pinned = self._node_pin(pod_object) or self._bound_claim(pod_object)
        if pinned:
            return Problem(code="ELG031", message=pinned)
        workload = int(self._snapshot.pod_workload[pod])
        chain = self._snapshot.gangs.owner_uids(pod_object)
        above = [self._controllers[uid] for uid in chain if uid in self._controllers]
        if workload < 0 or not above:
            return Problem(code="ELG031", message="its controller could not be read")
        if kueue_marked(pod_object, above):
            return Problem(code="ELG032", message="Kueue decides where its pods go")
        gang = self._snapshot.gangs.gang_of(pod)
        if gang is not None and not whole:
            said = f"it is moved without the others of its gang {gang.name}"
            return Problem(code="ELG033", message=said)
        return None

    def _node_pin(self, pod: Pod) -> str:
        """What names its node in the pod or in its controller's template, or ""."""
        owner = pod.controller
        controller = self._controllers.get(owner.uid) if owner is not None else None
        template = controller.spec.template if controller is not None else None
        if template is not None and template.spec.nodeName:
            return f"the template of its controller names node {template.spec.nodeName}"
        if HOSTNAME in (pod.spec.nodeSelector or {}):
            return f"its nodeSelector names a {HOSTNAME}"
        required = node_affinity(pod.spec).requiredDuringSchedulingIgnoredDuringExecution
        return "its node affinity names nodes" if names_nodes(required) else ""

    def _bound_claim(self, pod: Pod) -> str:
        """Which volume claim of it is bound to some nodes, or ""."""
        for pod_volume in pod.spec.volumes or ():
            if pod_volume.persistentVolumeClaim is None:
                continue
            name = pod_volume.persistentVolumeClaim.claimName
            claim = self._snapshot.claim_index.get((pod.metadata.namespace, name))
            volumes = self._snapshot.volume_index
            volume = None if claim is None else volumes.get(claim.spec.volumeName)
            if volume is None:
                return f"its volume claim {name} is not known, or not bound"
            affinity = volume.spec.nodeAffinity
            if affinity is not None and names_nodes(affinity.required):
                return (
                    f"its volume claim {name} is bound to volume {volume.metadata.name} of a node"
                )
        return ""

    @cached_property
    def _controllers(self) -> dict[str, Controller]:
        return {controller.metadata.uid: controller for controller in self._snapshot.controllers}


def names_nodes(selector: NodeSelector | None) -> bool:
    """Whether any term selects nodes by name or hostname; one that only excludes some does not."""
    terms = (selector.nodeSelectorTerms if selector is not None else None) or ()
    return any(
        requirement.operator == "In" and (field or requirement.key == HOSTNAME)
        for term in terms
        for field, requirements in ((True, term.matchFields), (False, term.matchExpressions))
        for requirement in requirements or ()
    )
