"""The plugins of kube-scheduler's default profiles, and what is derived from their classes.

A new plugin is added to PLUGINS; all that is known of it stands on its class.
"""

from collections.abc import Sequence

from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.plugin import FeatureGate, Plugin
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

FILTERS = frozenset(plugin.name for plugin in PLUGINS if plugin.filters())
"""Those that filter."""
WEIGHTS = {plugin.name: plugin.weight for plugin in PLUGINS if plugin.weight}
"""Those that score, with what their scores count."""
UNRESOLVABLE = frozenset(plugin.name for plugin in PLUGINS if plugin.unresolvable)
"""Those whose rejections preemption cannot undo."""
STATIC = frozenset(plugin.name for plugin in PLUGINS if plugin.static)
"""Those whose rejections no move of a pod can undo."""
GATES: tuple[FeatureGate, ...] = tuple(
    gate for plugin in PLUGINS for gate in (*((plugin.gate,) if plugin.gate else ()), *plugin.gates)
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

    def plugins_of(self, profile: Profile) -> Sequence[Plugin]:
        """The plugins of a profile, in the order in which the scheduler filters."""
        for cached_profile, plugins in self._made:
            if cached_profile == profile:
                return plugins
        plugins = self._new(profile)
        self._made.append((profile, plugins))
        return plugins

    def _new(self, profile: Profile) -> Sequence[Plugin]:
        return tuple(plugin.new(self._handle, profile) for plugin in PLUGINS)
