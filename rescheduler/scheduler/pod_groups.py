"""Whether kube-scheduler places a new pod of a PodGroup of Kubernetes as it places any other pod.

It does so as long as the group has `minCount` pods that are bound: the cycle of the group runs the
ordinary filters and scores for the new pod alone, and counts it with those.
Source: pkg/scheduler/schedule_one_podgroup.go (podGroupSchedulingDefaultAlgorithm, and since 1.37
validatePodGroup) and plugins/gangscheduling (PreEnqueue, Permit, PlacementFeasible).
"""

from collections.abc import Iterator

from rescheduler.kube.gang_marks import NATIVE, GangObject, has_scheduling_group
from rescheduler.kube.objects import PodSpec
from rescheduler.model.cluster.gangs import Gang
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.scheduler.profile import Profile

_UNCHECKED = "v1alpha2"
"""The API version of PodGroups, in Kubernetes 1.36, whose scheduler does not hold pods of a group
against each other."""
_PREEMPTS = "PreemptLowerPriority"


class PodGroupRules:
    """Answers for the pods of one snapshot; what pods of one group share is worked out once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._objects: dict[str, GangObject] = {
            f"{gang_object.metadata.namespace}/{gang_object.metadata.name}": gang_object
            for gang_object in snapshot.gang_objects
            if gang_object.group == NATIVE
        }
        self._conflicts: dict[Gang, str] = {}

    def problem(self, pod: int, profile: Profile) -> Problem | None:
        """FEA005, FEA018: why the new pod of this one's PodGroup is placed otherwise, or None."""
        pod_object = self._snapshot.pods[pod]
        if not has_scheduling_group(pod_object.spec):
            return None
        if not pod_object.node:
            text = f"{pod_object.key} waits in a scheduling group: when it is tried is not known"
            return Problem("FEA005", text)
        gang = self._snapshot.gangs.gang_of(pod)
        if pod_object.spec.workloadRef or not profile.pod_groups or gang is None:
            text = (
                f"{pod_object.key} has a scheduling group, which is modelled from "
                "kube-scheduler 1.36"
            )
            return Problem("FEA005", text)
        group = self._objects.get(gang.name)
        if group is None:
            return None  # that nobody knows how many pods it needs is said where moves are checked
        served = group.apiVersion.rpartition("/")[2]
        if served != profile.pod_groups:
            text = (
                f"{pod_object.key} has a scheduling group: kube-scheduler {profile.version} reads "
            )
            text += f"PodGroups as {profile.pod_groups}, and the API server has them as {served}"
            return Problem("FEA005", text)
        if group.spec.resourceClaims and pod_object.spec.resourceClaims:
            text = f"{pod_object.key} may share device claims with the pods of PodGroup {gang.name}"
            return Problem("FEA005", text)
        if gang not in self._conflicts:
            self._conflicts[gang] = next(self._differences(gang, group, served), "")
        if conflict := self._conflicts[gang]:
            return Problem("FEA018", f"kube-scheduler refuses new pods of {gang.name}: {conflict}")
        return None

    def _differences(self, gang: Gang, group: GangObject, served: str) -> Iterator[str]:
        """What the pods of a group, and the group, do not have in common and must."""
        members = self._snapshot.gangs.facts(gang).members.tolist()
        specs = [self._snapshot.pods[number].spec for number in members]
        yield from _several("schedulerName", {spec.schedulerName for spec in specs})
        if served == _UNCHECKED:
            return
        yield from _several("priority", {group.spec.priority or 0, *map(_priority, specs)})
        policies = {spec.preemptionPolicy or _PREEMPTS for spec in specs}
        if group.spec.preemptionPolicy:  # whether its feature gate is on shows nowhere else
            policies.add(group.spec.preemptionPolicy)
        yield from _several("preemptionPolicy", policies)


def _priority(spec: PodSpec) -> int:
    return spec.priority or 0


def _several(name: str, values: set[str] | set[int]) -> Iterator[str]:
    if len(values) > 1:
        shown = " and ".join(map(str, sorted(values)))
        yield f"its pods and the PodGroup differ in {name}, {shown}"
