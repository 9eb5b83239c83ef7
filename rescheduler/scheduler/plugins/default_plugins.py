"""All plugins of kube-scheduler's default profile, bound to a snapshot."""

from collections.abc import Sequence

import numpy as np

from rescheduler.kube.node_labels import NodeLabels
from rescheduler.kube.pod_groups import PodGroups
from rescheduler.model.snapshot import Snapshot
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import Plugin
from rescheduler.scheduler.plugins.default_selector import DefaultSelectors
from rescheduler.scheduler.plugins.device_stock import DeviceStock
from rescheduler.scheduler.plugins.dynamic_resources import DeviceClaims, DynamicResources
from rescheduler.scheduler.plugins.image_locality import ImageLocality
from rescheduler.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from rescheduler.scheduler.plugins.inter_pod_terms import Namespaces, TermIndex
from rescheduler.scheduler.plugins.node_affinity import NodeAffinity
from rescheduler.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from rescheduler.scheduler.plugins.node_ports import NodePorts
from rescheduler.scheduler.plugins.node_resources.balanced_allocation import BalancedAllocation
from rescheduler.scheduler.plugins.node_resources.node_resources_fit import NodeResourcesFit
from rescheduler.scheduler.plugins.node_unschedulable import NodeUnschedulable
from rescheduler.scheduler.plugins.taint_toleration import TaintToleration
from rescheduler.scheduler.plugins.topology_spread import SpreadContext, TopologySpread
from rescheduler.scheduler.plugins.volumes.claim_offers import ClaimOffers
from rescheduler.scheduler.plugins.volumes.claims import Claims
from rescheduler.scheduler.plugins.volumes.node_volume_limits import (
    AttachedVolumes,
    NodeVolumeLimits,
)
from rescheduler.scheduler.plugins.volumes.volume_binding import VolumeBinding
from rescheduler.scheduler.plugins.volumes.volume_restrictions import VolumeRestrictions
from rescheduler.scheduler.plugins.volumes.volume_zone import VolumeZone
from rescheduler.scheduler.profile import Profile


class DefaultPlugins:
    """What the plugins of all profiles share is made once."""

    def __init__(self, snapshot: Snapshot, occupancy: Occupancy, claims: Claims) -> None:
        nodes, pods = snapshot.nodes, snapshot.pods
        everyone = np.arange(len(pods), dtype=np.int32)
        self._nodes = nodes
        self._occupancy = occupancy
        self._claims = claims
        self._labels = NodeLabels(nodes)
        self._groups = PodGroups(pods, everyone)
        self._namespaces = Namespaces(snapshot.namespace_labels)
        self._terms = TermIndex(pods, everyone, snapshot.namespace_labels)
        self._selectors = DefaultSelectors(snapshot.services, snapshot.controllers)
        self._taints = TaintToleration(nodes)
        self._ports = NodePorts(pods, occupancy)
        self._restrictions = VolumeRestrictions(pods, occupancy, claims)
        self._attached = AttachedVolumes(snapshot, occupancy, claims)
        self.devices = DeviceClaims(snapshot, DeviceStock(snapshot, occupancy))
        self._offers = ClaimOffers(snapshot, self._labels, claims)

    def of(self, profile: Profile) -> tuple[NodeAffinity, Sequence[Plugin]]:
        """The plugins of a profile, in the order in which the scheduler filters."""
        affinity = NodeAffinity(self._labels, profile.added_affinity)
        spread = SpreadContext(
            labels=self._labels,
            groups=self._groups,
            occupancy=self._occupancy,
            affinity=affinity,
            taints=self._taints,
            selectors=self._selectors,
            profile=profile,
        )
        return affinity, (
            NodeUnschedulable(self._nodes),
            self._taints,
            affinity,
            self._ports,
            NodeResourcesFit(self._occupancy, profile),
            self._restrictions,
            NodeVolumeLimits(self._attached, profile),
            VolumeBinding(self._offers, self._claims, profile),
            VolumeZone(self._labels, self._claims),
            TopologySpread(spread),
            InterPodAffinity(
                self._labels, self._groups, self._occupancy, self._terms, self._namespaces, profile
            ),
            DynamicResources(self.devices, len(self._nodes)),
            NodeDeclaredFeatures(self._nodes, profile),
            BalancedAllocation(self._occupancy, profile),
            ImageLocality(self._nodes, profile),
        )
