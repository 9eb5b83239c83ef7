"""What ties a pod to its node: local storage, volumes, device claims."""

from collections import defaultdict
from collections.abc import Container
from functools import cached_property

import numpy as np

from rescheduler.kube import annotations
from rescheduler.kube.nodes.node_labels import NodeLabels
from rescheduler.kube.objects import Pod, Volume
from rescheduler.kube.pods.node_selection import NodeSelection
from rescheduler.kube.storage import PersistentVolume
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.policies.limits import Limits

_MANY_NODES = frozenset({"ReadWriteMany", "ReadOnlyMany"})
"""Access modes of a volume that several nodes may have at a time.

Source: IsMultiAttachAllowed in pkg/volume/util/util.go.
"""


class Attachments:
    """The volumes of one snapshot, by the pods that use them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @cached_property
    def _selection(self) -> NodeSelection:
        return NodeSelection(NodeLabels(self._snapshot.nodes))

    def refuse_local(self, pod: Pod, limits: Limits) -> Problem | None:
        """ELG010: whether a move would lose data that lives on the node or ends with the pod.

        Cluster-autoscaler's annotations exempt a pod (`safe-to-evict: "true"`) or named volumes.
        What admission adds, such as the emptyDirs of a proxy, the replacement gets again.
        """
        volumes = pod.spec.volumes
        if not volumes or limits.localStorage == "Allow":
            return None
        notes = pod.metadata.annotations or {}
        if notes.get(annotations.SAFE_TO_EVICT, "").strip().lower() == "true":
            return None
        safe = {name.strip() for name in notes.get(annotations.SAFE_VOLUMES, "").split(",")}
        for volume in self._own_volumes(pod):
            lost = self._lost_volume(pod.metadata.namespace, volume)
            if lost and volume.name not in safe:
                return Problem(code="ELG010", message=f"its volume {volume.name} is {lost}")
        return None

    def _own_volumes(self, pod: Pod) -> list[Volume]:
        """Those that admission did not add: claims, and what the template of its owner has.

        Without a template all count. One that was edited since is a matter of ELG041.
        """
        volumes, owner = pod.spec.volumes or [], pod.controller
        declared = self._declared.get(owner.uid) if owner is not None else None
        if declared is None:
            return volumes
        return [
            volume
            for volume in volumes
            if volume.name in declared or (volume.emptyDir is None and volume.hostPath is None)
        ]

    @cached_property
    def _declared(self) -> dict[str, frozenset[str]]:
        """UID of each owner with a template to the names of the template's volumes."""
        return {
            controller.metadata.uid: frozenset(
                one.name for one in controller.spec.template.spec.volumes or ()
            )
            for controller in self._snapshot.controllers
            if controller.spec.template is not None
        }

    def refuse_shared(self, pod: Pod, going: Container[str] = ()) -> Problem | None:
        """ELG017: whether another pod keeps a volume of this one on its node.

        The replacement would wait for ever on another node (Multi-Attach error), and a Pending user
        may take the volume to yet another one.

        going: UIDs of the pods that are evicted with it.
        """
        namespace = pod.metadata.namespace
        for volume in pod.spec.volumes or ():
            if volume.persistentVolumeClaim is None:
                continue
            name = volume.persistentVolumeClaim.claimName
            if not self._one_node(namespace, name):
                continue
            users = self._users[namespace, name]
            others = [u for u in users if u != pod.metadata.uid and u not in going]
            if others:
                other = self._snapshot.pods[self._snapshot.pod_index[others[0]]]
                more = f" and {count_text(len(others) - 1, 'more pod')}" if len(others) > 1 else ""
                return Problem(
                    code="ELG017",
                    message=f"its volume claim {name} may be on one node at a time, and is used "
                    f"by {other.key}{more}, too",
                )
        return None

    def _one_node(self, namespace: str, name: str) -> bool:
        """Whether only pods of one node may use the claim's volume at a time."""
        claim = self._snapshot.claim_index.get((namespace, name))
        if claim is None:
            return False
        volume = self._snapshot.volume_index.get(claim.spec.volumeName)
        modes = (volume.spec.accessModes if volume else None) or claim.spec.accessModes
        return _MANY_NODES.isdisjoint(modes or ())

    @cached_property
    def _users(self) -> dict[tuple[str, str], list[str]]:
        """Namespace and name of each claim to the UIDs of the pods that use it."""
        users = defaultdict[tuple[str, str], list[str]](list)
        claims = [
            [
                v.persistentVolumeClaim.claimName
                for v in spec.volumes or ()
                if v.persistentVolumeClaim
            ]
            for spec in self._snapshot.specs
        ]
        using = np.array([bool(names) for names in claims], dtype=np.bool_)
        of_pod = self._snapshot.pod_spec
        for number in np.flatnonzero(using[of_pod]).tolist() if using.any() else ():
            metadata = self._snapshot.pods[number].metadata
            for name in claims[of_pod[number]]:
                users[metadata.namespace, name].append(metadata.uid)
        return users

    def refuse_pinned(self, pod: Pod) -> Problem | None:
        """ELG017: whether a claim leaves no other node, or cannot be followed."""
        for claim in pod.spec.resourceClaims or ():
            if claim.resourceClaimName:
                return Problem(
                    code="ELG017",
                    message=f"its resource claim {claim.resourceClaimName} stays allocated here",
                )
        for volume in pod.spec.volumes or ():
            if volume.persistentVolumeClaim is not None:
                name = volume.persistentVolumeClaim.claimName
                if problem := self._claim_pin(pod.metadata.namespace, name):
                    return Problem(code="ELG017", message=f"its volume claim {name} {problem}")
        return None

    def _lost_volume(self, namespace: str, volume: Volume) -> str:
        """What kind of volume it is, if a replacement on another node would not find its data."""
        if volume.hostPath is not None:
            return "a hostPath"
        if volume.emptyDir is not None and volume.emptyDir.medium != "Memory":
            return "an emptyDir"
        if volume.ephemeral is not None:
            return "ephemeral: its claim is deleted with the pod"
        if volume.persistentVolumeClaim is not None:
            volumes = self._snapshot.volume_index
            name = volume.persistentVolumeClaim.claimName
            claim = self._snapshot.claim_index.get((namespace, name))
            bound = None if claim is None else volumes.get(claim.spec.volumeName)
            if bound is not None and bound.spec.hostPath is not None:
                return f"a hostPath, by PersistentVolume {bound.metadata.name}"
            if bound is not None and bound.spec.local and self._reachable_from(bound) > 1:
                return f"a local volume, by PersistentVolume {bound.metadata.name}"
        return ""

    def _claim_pin(self, namespace: str, name: str) -> str:
        claim = self._snapshot.claim_index.get((namespace, name))
        if claim is None:
            return "is not known"
        if "ReadWriteOncePod" in (claim.spec.accessModes or ()):
            return "is ReadWriteOncePod, so the replacement waits for the old pod"
        volume = self._snapshot.volume_index.get(claim.spec.volumeName)
        if volume is None:
            return f"is bound to volume {claim.spec.volumeName or '(none)'}, which is not known"
        reachable = self._reachable_from(volume)
        if reachable <= 1:
            return f"is bound to volume {volume.metadata.name}, which {reachable} node can reach"
        return ""

    def _reachable_from(self, volume: PersistentVolume) -> int:
        """How many nodes the volume's node affinity admits."""
        affinity = volume.spec.nodeAffinity
        reachable = self._selection.selected_nodes(affinity.required if affinity else None)
        return len(self._snapshot.nodes) if reachable is None else int(reachable.sum())
