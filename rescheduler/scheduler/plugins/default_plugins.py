"""The plugins of kube-scheduler's default profiles, and what is derived from their classes.

A new plugin is added to PLUGINS; all that is known of it stands on its class.
"""

from collections.abc import Sequence

from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.plugin import Gate, Plugin
from rescheduler.scheduler.plugins.dynamic_resources import DynamicResources
from rescheduler.scheduler.plugins.image_locality import ImageLocality
from rescheduler.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from rescheduler.scheduler.plugins.node_affinity import NodeAffinity
from rescheduler.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from rescheduler.scheduler.plugins.node_name import NodeName
from rescheduler.scheduler.plugins.node_ports import NodePorts
from rescheduler.scheduler.plugins.node_resources.balanced_allocation import BalancedAllocation
from rescheduler.scheduler.plugins.node_resources.node_resources_fit import NodeResourcesFit
from rescheduler.scheduler.plugins.node_unschedulable import NodeUnschedulable
from rescheduler.scheduler.plugins.taint_toleration import TaintToleration
from rescheduler.scheduler.plugins.topology_spread import TopologySpread
from rescheduler.scheduler.plugins.volumes.node_volume_limits import NodeVolumeLimits
from rescheduler.scheduler.plugins.volumes.volume_binding import VolumeBinding
from rescheduler.scheduler.plugins.volumes.volume_restrictions import VolumeRestrictions
from rescheduler.scheduler.plugins.volumes.volume_zone import VolumeZone
from rescheduler.scheduler.profile import Profile

PLUGINS: tuple[type[Plugin], ...] = (
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    TopologySpread,
    InterPodAffinity,
    DynamicResources,
    NodeDeclaredFeatures,
    BalancedAllocation,
    ImageLocality,
)
"""Those that filter or score, in the order in which they filter.

Source: pkg/scheduler/apis/config/v1/default_plugins.go, getDefaultPlugins and applyFeatureGates.
"""

FILTERS = frozenset(each.name for each in PLUGINS if each.filters())
"""Those that filter."""
WEIGHTS = {each.name: each.weight for each in PLUGINS if each.weight}
"""Those that score, with what their scores count."""
UNRESOLVABLE = frozenset(each.name for each in PLUGINS if each.unresolvable)
"""Those of which preemption cannot undo a rejection."""
STATIC = frozenset(each.name for each in PLUGINS if each.static)
"""Those of which no move of a pod can undo a rejection."""
GATES: tuple[Gate, ...] = tuple(
    gate for each in PLUGINS for gate in (*((each.gate,) if each.gate else ()), *each.gates)
)
"""The feature gates that the model knows.

Gates that matter only to pods that are refused anyway (groups that are kept in one topology domain)
or only to when a pod is tried (queueing, gangs, preemption) are left out. So is
OpportunisticBatching: where a profile has no default spread constraints, a pod that equals the one
placed within the last half second may be put on the next best node of that one.
"""


class DefaultPlugins:
    """The plugins of every profile in a cluster; what they share is made once."""

    def __init__(self, handle: Handle, usual: Profile) -> None:
        """usual: the profile of most pods. Its plugins are made at once.

        So all that they share is there before the first pod moves in the working copy: what counts
        pods begins with where the snapshot has them, and sees each of them come and go.
        """
        self._handle = handle
        self._made = [(usual, self._new(usual))]

    def of(self, profile: Profile) -> Sequence[Plugin]:
        """The plugins of a profile, in the order in which the scheduler filters."""
        for known, plugins in self._made:
            if known == profile:
                return plugins
        plugins = self._new(profile)
        self._made.append((profile, plugins))
        return plugins

    def _new(self, profile: Profile) -> Sequence[Plugin]:
        return tuple(each.new(self._handle, profile) for each in PLUGINS)
